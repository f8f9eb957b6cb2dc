"""Comparison of runs: HTML page, and table for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from xsent.reporting.pages.curves import curves_section
from xsent.reporting.pages.page import COMPARISON, Section, macro, write_page
from xsent.reporting.pages.points import pictures_section
from xsent.reporting.pages.run_differences import (
    ComparedMetric,
    check_distinct,
    compare_metrics,
    condition_differences,
    config_differences,
    delta_text,
    short_names,
)
from xsent.reporting.pages.run_folder import RunFiles, read_run
from xsent.reporting.pages.run_report import headline, overview
from xsent.reporting.tables.results import value_cell
from xsent.reporting.tables.table import Cell, Row, Table, terminal_table, text_row

MAX_RUNS = 20
MAX_ROWS = 1_000
GENERATOR = f'<meta name="generator" content="{COMPARISON}">'
HEADER_BYTES = 4096  # beginning of a file, where a page names its kind


def write_comparison(folders: Sequence[Path], out: Path, *, console: Console | None = None) -> Path:
    """Write one page of several runs; deltas are to the first. Returns ``out``.

    Args:
        folders: of runs of train.py or evaluate.py, finished or not.
        out: the page; an earlier comparison is replaced.
        console: where to print the table of figures; None: nowhere.

    Raises:
        ValueError: fewer than two runs, the same run twice, a folder without a run, or ``out`` is something else than
            an earlier comparison. Nothing is written.
    """
    check_distinct(folders)
    if len(folders) > MAX_RUNS:
        raise ValueError(f"expected at most {MAX_RUNS} runs to compare, found {len(folders)}")
    runs = dict(zip(short_names(folders), map(read_run, folders), strict=True))
    _check_output(out)
    metrics = compare_metrics(list(runs.values()))
    on_screen = _figures("Figures", [compared for compared in metrics if compared.on_screen], list(runs))
    every = _figures("Every figure", metrics, list(runs))
    figures = {
        "figures": on_screen._replace(rows=on_screen.rows[:MAX_ROWS]),
        "every": every._replace(rows=every.rows[:MAX_ROWS]) if on_screen.total < every.total else None,
        "has_marks": any(figure.mark for compared in metrics for figure in compared.runs),
    }
    overviews = {name: overview(run) for name, run in runs.items()}
    sections = [
        Section("comparison", "Figures", "comparison", figures),
        curves_section(runs),
        pictures_section(runs),
        Section("differences", "What differs", "differences", {"tables": _differences(runs)}),
        Section("runs", "The runs", "overviews", {"overviews": overviews}),
    ]
    write_page(
        out,
        title=f"{len(runs)} runs compared",
        kind=COMPARISON,
        summary=macro("compared_runs", [(name, headline(run), run.finished) for name, run in runs.items()]),
        sections=sections,
    )
    if console is not None:
        console.print(terminal_table(on_screen.header, on_screen.rows))
    return out


def _check_output(out: Path) -> None:
    """Raise ``ValueError`` if ``out`` exists and is not an earlier comparison."""
    if not out.exists():
        return
    if not out.is_file():
        raise ValueError(f"{out}: expected a page to write, found a folder or device")
    with out.open("rb") as file:
        if GENERATOR.encode() not in file.read(HEADER_BYTES):
            raise ValueError(f"{out}: expected a page of `xsent compare` to replace, found another file; it stays")


def _figures(label: str, metrics: Sequence[ComparedMetric], names: Sequence[str]) -> Table:
    rows = []
    for compared in metrics:
        cells = [Cell(compared.metric.partition("/")[2].replace("/", " "))]
        for number, (name, figure) in enumerate(zip(names, compared.runs, strict=True)):
            value = figure.value
            cells.append(Cell("") if value is None else value_cell(compared.metric, value, **{"data-run": name}))
            if number:
                exact = {} if figure.delta is None else {"data-delta": repr(figure.delta)}
                cells.append(Cell(delta_text(compared.metric, figure), {"class": "delta", **exact}))
        rows.append(Row(cells, bold="/mean/" in compared.metric))
    header = ["", names[0], *(text for name in names[1:] for text in (name, "delta"))]
    return Table(label, header, rows, len(rows), "each run's results.csv")


def _differences(runs: Mapping[str, RunFiles]) -> list[Table]:
    differences = {
        "Config": config_differences(list(runs.values())),
        "Versions, machine and digests": condition_differences(list(runs.values())),
    }
    return [
        Table(label, ["", *runs], [text_row(texts) for texts in rows[:MAX_ROWS]], len(rows), "each run's config")
        for label, rows in differences.items()
    ]
