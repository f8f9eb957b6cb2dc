"""Tables of a study: a row per objective; per metric the paper's figure, ours and the difference."""

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from rich.console import Console

from xsent.files.atomic import write_text
from xsent.reporting.tables.table import (
    Cell,
    Table,
    column_tables,
    compact_table,
    csv_text,
    figure_columns,
    markdown_table,
)

log = logging.getLogger(__name__)

SPACES = ("original", "meaning", "language")  # the order of the tables
AVERAGES = ("mean", "eng-xx", "xx-eng")  # items that average the other items of their evaluator
LEGEND = (
    "The paper's figure, ours and the difference; ± is the standard deviation over seeds. Where some of a table's"
    " items were not measured, the paper's average is that of the same items, and it says how many."
)


class Figure(NamedTuple):
    """Metric of an encoder and objective over all seeds; a row of ``table.csv``."""

    encoder: str
    objective: str
    space: str
    metric: str  # "<evaluator>/<item>/<metric>"
    seeds: int  # 0 when no cell measured it
    ours: float | None  # mean over the seeds
    deviation: float | None  # standard deviation over two seeds or more
    paper_encoder: str
    paper: float | None  # None: the paper has none
    difference: float | None
    averaged_items: str  # of an average over some of the table's items: "5 of 10"; else empty


def report_study(cells: Sequence[Mapping[str, Any]], study: Mapping[str, Any], *, folder: Path) -> None:
    """Write ``table.csv`` and ``table.md`` into the folder, and print the tables.

    Args:
        cells: encoder, objective, seed, and metrics or an error of each cell; ``missing`` test sets.
        study: its ``title`` and ``paper``.
    """
    results = figures(cells, study["paper"])
    if results:
        notes, tables = [*missing_notes(cells), *subset_notes(results)], study_tables(results)
        write_text(folder / "table.csv", csv_text([Figure._fields, *results]))
        write_text(folder / "table.md", study_markdown(tables, study["title"], notes))
        console = Console()
        console.print("\n" + "\n".join([study["title"], LEGEND, *notes]) + "\n")
        for table in tables:
            console.print("", table.label, compact_table(table), sep="\n")
        log.info("table: %s, %s", folder / "table.md", folder / "table.csv")
    failed = sum("error" in cell for cell in cells)
    log.info("%d of %d cells are done; each has its figures under its own folder", len(cells) - failed, len(cells))


def figures(cells: Sequence[Mapping[str, Any]], paper: Mapping[str, Any]) -> list[Figure]:
    """Figures of the paper's metrics for every encoder and objective of the cells.

    Args:
        cells: with ``metrics`` named ``<evaluator>/<space>/<item>/<metric>`` unless they failed.
        paper: ``metrics``, ``values`` by encoder, objective and space in their order, ``encoders`` by our name, and
            ``other_encoders``.
    """
    results = []
    for encoder, objective in dict.fromkeys((cell["encoder"], cell["objective"]) for cell in cells):
        measured = [
            cell["metrics"]
            for cell in cells
            if (cell["encoder"], cell["objective"]) == (encoder, objective) and "error" not in cell
        ]
        name = paper["encoders"].get(encoder, paper["other_encoders"])
        rows = paper["values"].get(name, {})
        for space in SPACES:
            ours = {metric: _measured(measured, space, metric) for metric in paper["metrics"]}
            # The original vectors are the same whatever the objective.
            row = rows.get("original" if space == "original" else objective, {}).get(space)
            printed = {} if row is None else dict(zip(paper["metrics"], row, strict=True))
            for metric, values in ours.items():
                mean_of_ours = mean(values) if values else None
                deviation = stdev(values) if len(values) > 1 else None
                beside, averaged = _beside(metric, ours, printed)
                difference = None if mean_of_ours is None or beside is None else mean_of_ours - beside
                of_ours = len(values), mean_of_ours, deviation
                results.append(Figure(encoder, objective, space, metric, *of_ours, name, beside, difference, averaged))
    return results


def _measured(cells: Sequence[Mapping[str, float]], space: str, metric: str) -> list[float]:
    evaluator, rest = metric.split("/", maxsplit=1)
    key = f"{evaluator}/{space}/{rest}"
    return [metrics[key] for metrics in cells if key in metrics and not math.isnan(metrics[key])]


def _beside(metric: str, ours: Mapping[str, Sequence[float]], printed: Mapping[str, float]) -> tuple[float | None, str]:
    """The paper's figure to compare with, and the number of items that it averages if not all."""
    evaluator, item, kind = metric.split("/")
    parts = {name: name.split("/") for name in ours}
    items = [name for name in ours if parts[name][::2] == [evaluator, kind] and parts[name][1] not in AVERAGES]
    measured_items = [name for name in items if ours[name]]
    if item in AVERAGES and ours[metric] and 0 < len(measured_items) < len(items):
        paper = mean(printed[name] for name in measured_items) if printed else None
        return paper, f"{len(measured_items)} of {len(items)}"
    return printed.get(metric), ""


def missing_notes(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Test sets without files, a line per evaluator."""
    missing = {name: absent for cell in cells for name, absent in cell.get("missing", {}).items()}
    return [
        f"{name}: no files of {', '.join(absent)}; our averages are over the others."
        for name, absent in missing.items()
    ]


def subset_notes(results: Sequence[Figure]) -> list[str]:
    """Averages over some of a table's items, a line per evaluator."""
    partial = {figure.metric.split("/")[0]: figure.averaged_items for figure in results if figure.averaged_items}
    return [
        f"{name}: {count} items were measured; averages are over these, ours and the paper's."
        for name, count in partial.items()
    ]


def study_markdown(tables: Sequence[Table], title: str, notes: Sequence[str] = ()) -> str:
    """The tables in Markdown."""
    parts = [f"# {title}\n", " ".join([LEGEND, *notes]) + "\n"]
    for table in tables:
        parts += [f"## {table.label}\n", markdown_table(table.header, [row.texts for row in table.rows])]
    return "\n".join(parts)


def study_tables(results: Sequence[Figure]) -> list[Table]:
    """Tables of each encoder and space with any figure: a row per objective, and per metric the paper's figure, ours
    and the difference, averages first. Metrics that none of the objectives has are left out, unless all are."""
    labels = _labels(list(dict.fromkeys(figure.metric for figure in results)))
    metrics = sorted(labels, key=lambda metric: metric.split("/")[1] not in AVERAGES)
    tables = []
    for encoder, space in dict.fromkeys((figure.encoder, figure.space) for figure in results):
        chosen = [figure for figure in results if (figure.encoder, figure.space) == (encoder, space)]
        if all(figure.paper is None and figure.ours is None for figure in chosen):
            continue
        objectives = list(dict.fromkeys(figure.objective for figure in chosen))
        if space == "original":  # the same for all of them
            objectives = objectives[:1]
        by_cell = {(figure.metric, figure.objective): figure for figure in chosen}
        groups = []
        measured = {figure.metric for figure in chosen if figure.ours is not None}
        for metric in (metric for metric in metrics if metric in measured or not measured):
            figures = [by_cell[metric, objective] for objective in objectives]
            texts = zip(*map(_texts, figures), strict=True)
            columns = zip(("paper", "ours", "diff."), (list(map(Cell, column)) for column in texts), strict=True)
            groups.append(figure_columns(labels[metric], dict(columns)))
        heading = f"{encoder}, {space} vectors, beside the paper's {chosen[0].paper_encoder}"
        names = ["original"] if space == "original" else objectives
        tables += column_tables(heading, names, groups, source="table.csv")
    return tables


def _labels(metrics: Sequence[str]) -> dict[str, str]:
    """Labels of metrics without the parts that all share: ``tatoeba/deu/accuracy`` becomes ``deu``."""
    parts = [metric.split("/") for metric in metrics]
    shared = [len(set(column)) == 1 for column in zip(*parts, strict=True)]
    if all(shared):
        shared = [False] * len(shared)
    return {
        metric: " ".join(word for word, common in zip(words, shared, strict=True) if not common)
        for metric, words in zip(metrics, parts, strict=True)
    }


def _texts(figure: Figure) -> tuple[str, str, str]:
    """The paper's figure, ours and the difference."""
    ours = "-" if figure.ours is None else f"{figure.ours:.2f}"
    if figure.deviation is not None:
        ours += f" ± {figure.deviation:.2f}"
    paper = "" if figure.paper is None else f"{figure.paper:.2f}"
    if figure.paper is not None and figure.averaged_items:
        paper += f" ({figure.averaged_items})"
    return paper, ours, "" if figure.difference is None else f"{figure.difference:+.2f}"
