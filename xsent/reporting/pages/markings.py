"""Report of a study of synthetic language marking: figures by length of the marks, as tables, a picture and a page."""

import base64
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from rich.console import Console

from xsent.evaluation.statistics.bootstrap import CONFIDENCE, paired_bootstrap
from xsent.evaluation.statistics.items import mean_over
from xsent.files.atomic import write_text
from xsent.reporting.outcomes import read_outcomes
from xsent.reporting.pages.page import FIGURES, Section, log_page_errors, macro, write_page
from xsent.reporting.plots.canvas import COLOURS, MARKERS, new_figure
from xsent.reporting.tables.results import decimals
from xsent.reporting.tables.table import Table, csv_text, markdown_table, terminal_table, text_row

log = logging.getLogger(__name__)

Cells = Sequence[Mapping[str, Any]]
Groups = Mapping[str, Mapping[str, str]]  # metric by group of figures (a panel) and space or spaces (a line)

ORIGINAL = "original"  # vectors that no objective changes
STYLES = {"meaning": "-", "language": "--", ORIGINAL: ":"}


def report_markings(cells: Cells, study: Mapping[str, Any], *, folder: Path) -> None:
    """Write ``markings.csv``, ``table.md``, ``charts/markings.png`` and ``report.html``, and print the tables.

    Args:
        cells: encoder, objective, seed, ``language_marking``, and ``metrics`` and ``evaluation``, their folder, unless
            they failed.
        study: its ``title`` and ``markings``.
    """
    cells = [cell for cell in cells if "error" not in cell]
    if not cells:
        return
    groups: Groups = study["markings"]
    tables = [figures_table(cells, groups), differences_table(cells, groups)]
    parts = [f"# {study['title']}\n", *(f"## {table.label}\n\n{_markdown(table)}" for table in tables)]
    write_text(folder / "table.md", "\n".join(parts))
    rows = [
        [cell["language_marking"], cell["objective"], cell["seed"], group, space, cell["metrics"].get(metric)]
        for cell in cells
        for group, metrics in groups.items()
        for space, metric in metrics.items()
    ]
    header = ["language_marking", "objective", "seed", "figure", "space", "value"]
    write_text(folder / "markings.csv", csv_text([header, *rows]))
    for table in tables:
        Console().print(table.label, terminal_table(table.header, table.rows), sep="\n")
    picture = draw_markings(cells, groups, folder / "charts" / "markings.png")
    with log_page_errors(folder / "report.html"):
        image = base64.b64encode(picture.read_bytes()).decode("ascii")
        context = {"images": [("markings", image)], "omitted": []}
        sections = [
            Section("charts", "Figures by length of the marks", "images", context),
            *(Section(f"table{i}", table.label, "table", {"table": table}) for i, table in enumerate(tables)),
        ]
        summary = macro("markings_summary", len(cells))
        write_page(folder / "report.html", title=study["title"], kind=FIGURES, summary=summary, sections=sections)
    log.info("table: %s; picture: %s", folder / "table.md", picture)


def figures_table(cells: Cells, groups: Groups) -> Table:
    """Mean and standard deviation over seeds: a row per length of the marks and objective, and one of the original."""
    columns = [(group, space) for group, metrics in groups.items() for space in metrics if space != ORIGINAL]
    rows = []
    for alpha in _markings(cells):
        of_alpha = _chosen(cells, alpha)
        texts = [""] * len(columns)
        for number, (group, _) in enumerate(columns):
            is_first = [name for name, _ in columns].index(group) == number
            if is_first and ORIGINAL in groups[group]:
                texts[number] = _text(of_alpha[:1], groups[group][ORIGINAL])  # the same in all cells
        rows.append(text_row([f"{alpha:g}", ORIGINAL, "", *texts]))
        for objective in dict.fromkeys(cell["objective"] for cell in of_alpha):
            chosen = _chosen(cells, alpha, objective)
            texts = [_text(chosen, groups[group][space]) for group, space in columns]
            rows.append(text_row([f"{alpha:g}", objective, str(len(chosen)), *texts]))
    header = ["marks", "vectors", "seeds", *(f"{group}, {space}" for group, space in columns)]
    return Table("Mean and standard deviation over seeds", header, rows, len(rows), "markings.csv")


def differences_table(cells: Cells, groups: Groups) -> Table:
    """Retrieval of each variant less that of its host, with the interval over sentences."""
    group, metrics = next(iter(groups.items()))
    spaces = [space for space in metrics if space != ORIGINAL]
    rows = []
    for alpha in _markings(cells):
        for objective in dict.fromkeys(cell["objective"] for cell in _chosen(cells, alpha)):
            host, chosen = objective.partition("_")[0], _chosen(cells, alpha, objective)
            hosts = {cell["seed"]: cell for cell in _chosen(cells, alpha, host)}
            pairs = [(hosts[cell["seed"]], cell) for cell in chosen if cell["seed"] in hosts]
            if objective != host and pairs:
                texts = [_difference(pairs, metrics[space]) for space in spaces]
                rows.append(text_row([f"{alpha:g}", f"{objective} - {host}", str(len(pairs)), *texts]))
    label = f"Difference from the host, with its {CONFIDENCE} % interval over sentences"
    header = ["marks", "vectors", "seeds", *(f"{group}, {space}" for space in spaces)]
    return Table(label, header, rows, len(rows), "table.md")


def _difference(pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], metric: str) -> str:
    """``+0.41 [+0.29, +0.54]``: mean over seeds; of each sentence the mean outcome over seeds is resampled."""
    before, after = (
        mean_over(read_outcomes(Path(cell["evaluation"]))[f"test/{metric}"] for cell in side)
        for side in zip(*pairs, strict=True)
    )
    interval = paired_bootstrap(before, after)
    value = mean(cell["metrics"][metric] - host["metrics"][metric] for host, cell in pairs)
    return f"{value:+.2f} [{interval.low:+.2f}, {interval.high:+.2f}]"


def draw_markings(cells: Cells, groups: Groups, path: Path) -> Path:
    """Draw a row of panels per host and a panel per group of figures; a line per variant and space."""
    hosts = list(dict.fromkeys(cell["objective"].partition("_")[0] for cell in cells))
    figure = new_figure(3.6 * len(groups), 3.1 * len(hosts) + 0.8)
    axes = figure.subplots(len(hosts), len(groups), squeeze=False, sharex=True)
    for host, line_of_axes in zip(hosts, axes, strict=True):
        variants = list(dict.fromkeys(cell["objective"] for cell in cells if cell["objective"].startswith(host)))
        for axis, (group, metrics) in zip(line_of_axes, groups.items(), strict=True):
            for number, (objective, (space, metric)) in enumerate(
                (objective, item) for objective in variants for item in metrics.items()
            ):
                if space == ORIGINAL and objective != variants[0]:
                    continue
                look = variants.index(objective)
                colour = COLOURS[4] if space == ORIGINAL else COLOURS[look]
                _draw_line(
                    axis,
                    [(alpha, _values(_chosen(cells, alpha, objective), metric)) for alpha in _markings(cells)],
                    label=ORIGINAL if space == ORIGINAL else f"{objective}, {space}",
                    color=colour,
                    marker=MARKERS[look + (3 if number % 2 else 0)],
                    linestyle=STYLES[space.split()[0]],
                )
            top = 1 if all(metric.endswith("/r2") for metric in metrics.values()) else 100  # percent
            axis.set(title=f"{host}: {group}", xlabel="length of the marks", ylim=(-0.04 * top, 1.04 * top))
            axis.spines[["top", "right"]].set_visible(False)
        handles, names = line_of_axes[0].get_legend_handles_labels()
        line_of_axes[-1].legend(handles, names, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return path


def _draw_line(axis: Any, points: Sequence[tuple[float, Sequence[float]]], **look: Any) -> None:
    known = [(alpha, values) for alpha, values in points if values]
    deviations = [stdev(values) if len(values) > 1 else 0.0 for _, values in known]
    axis.errorbar(
        [alpha for alpha, _ in known], [mean(values) for _, values in known], deviations, markersize=5, **look
    )


def _markings(cells: Cells) -> list[float]:
    return sorted({cell["language_marking"] for cell in cells})


def _chosen(cells: Cells, alpha: float, objective: str | None = None) -> Cells:
    return [cell for cell in cells if cell["language_marking"] == alpha and objective in (None, cell["objective"])]


def _values(cells: Cells, metric: str) -> list[float]:
    values = [cell["metrics"].get(metric, math.nan) for cell in cells]
    return [value for value in values if not math.isnan(value)]


def _text(cells: Cells, metric: str) -> str:
    values = _values(cells, metric)
    if not values:
        return "-"
    digits = decimals(metric)
    return f"{mean(values):.{digits}f}" + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")


def _markdown(table: Table) -> str:
    return markdown_table(table.header, [row.texts for row in table.rows])
