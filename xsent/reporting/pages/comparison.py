"""Comparison of runs: HTML page, and table for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table as TerminalTable
from rich.text import Text

from xsent.reporting.pages.curves import curves_section
from xsent.reporting.pages.page import COMPARISON, Cell, Row, Section, Table, generator, macro, text_cell, write_page
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
from xsent.reporting.pages.run_report import headline, overview, row_text, value_cell, value_text

MAX_RUNS = 20
MAX_ROWS = 1_000
HEADER_BYTES = 4096  # beginning of a file, where a page names its kind


def write_comparison(folders: Sequence[Path], out: Path) -> Path:
    """Write one page of several runs; deltas are to the first. Returns ``out``.

    Args:
        folders: of runs of train.py or evaluate.py, finished or not.
        out: the page; an earlier comparison is replaced.

    Raises:
        ValueError: fewer than two runs, the same run twice, a folder without a run, or ``out`` is something else than
            an earlier comparison. Nothing is written.
    """
    return write_compared(read_runs(folders), out)


def write_compared(runs: Mapping[str, RunFiles], out: Path) -> Path:
    """``write_comparison`` of runs by name, as ``read_runs`` returns them."""
    check_output(out)
    metrics = compare_metrics(list(runs.values()))
    overviews = {name: overview(run) for name, run in runs.items()}
    sections = [
        Section("comparison", "Figures", "comparison", _figures(metrics, list(runs))),
        curves_section(runs),
        pictures_section(runs),
        Section("differences", "What differs", "differences", _differences(runs)),
        Section("runs", "The runs", "overviews", {"overviews": overviews}),
    ]
    return write_page(
        out,
        title=f"{len(runs)} runs compared",
        kind=COMPARISON,
        summary=macro("compared_runs", [(name, headline(run), run.finished) for name, run in runs.items()]),
        sections=[section for section in sections if section is not None],
    )


def read_runs(folders: Sequence[Path]) -> dict[str, RunFiles]:
    """Read runs, by the shortest names that tell them apart. Raises ``ValueError`` as ``write_comparison`` does."""
    check_distinct(folders)
    if len(folders) > MAX_RUNS:
        raise ValueError(f"expected at most {MAX_RUNS} runs to compare, found {len(folders)}")
    return dict(zip(short_names(folders), map(read_run, folders), strict=True))


def check_output(out: Path) -> None:
    """Raise ``ValueError`` if ``out`` exists and is not an earlier comparison."""
    if not out.exists():
        return
    if not out.is_file():
        raise ValueError(f"{out}: expected a page to write, found a folder or device")
    with out.open("rb") as file:
        if generator(COMPARISON).encode() not in file.read(HEADER_BYTES):
            raise ValueError(f"{out}: expected a page of `xsent compare` to replace, found another file; it stays")


def comparison_table(runs: Mapping[str, RunFiles]) -> TerminalTable:
    """Figures for a terminal: a row per metric, a column per run, and the delta to the first."""
    table = TerminalTable("metric")
    for number, name in enumerate(runs):
        table.add_column(Text(name), justify="right")
        if number:
            table.add_column("delta", justify="right")
    for compared in compare_metrics(list(runs.values())):
        if not compared.on_screen:
            continue
        texts = []
        for number, figure in enumerate(compared.runs):
            texts.append("" if figure.value is None else value_text(figure.value, compared.metric))
            if number:
                texts.append(delta_text(compared.metric, figure))
        style = "bold" if "/mean/" in compared.metric else None
        table.add_row(Text(_label(compared.metric)), *map(Text, texts), style=style)
    return table


def _label(metric: str) -> str:
    return metric.partition("/")[2].replace("/", " ")


def _figures(metrics: Sequence[ComparedMetric], names: Sequence[str]) -> dict[str, object]:
    header = ["", names[0], *(text for name in names[1:] for text in (name, "delta"))]
    on_screen = [compared for compared in metrics if compared.on_screen]
    return {
        "figures": _table("figures", header, on_screen, names),
        "every": _table("every figure", header, metrics, names) if len(on_screen) < len(metrics) else None,
        "has_marks": any(figure.mark for compared in metrics for figure in compared.runs),
    }


def _table(label: str, header: Sequence[str], metrics: Sequence[ComparedMetric], names: Sequence[str]) -> Table:
    rows = []
    for compared in metrics[:MAX_ROWS]:
        cells: list[str | Cell] = [_label(compared.metric)]
        for number, (name, figure) in enumerate(zip(names, compared.runs, strict=True)):
            value = figure.value
            cells.append("" if value is None else value_cell(value, compared.metric, **{"data-run": name}))
            if number:
                exact = {} if figure.delta is None else {"data-delta": repr(figure.delta)}
                cells.append(Cell(delta_text(compared.metric, figure), {"class": "delta", **exact}))
        rows.append(Row(cells, row_text(_label(compared.metric), bold="/mean/" in compared.metric)))
    return Table(label, header, rows, len(metrics), "each run's results.csv")


def _differences(runs: Mapping[str, RunFiles]) -> dict[str, object]:
    folders = list(runs.values())
    tables = []
    for label, differing in (
        ("Config", config_differences(folders)),
        ("Versions, machine and digests", condition_differences(folders)),
    ):
        rows = [Row([name, *map(text_cell, values)]) for name, *values in differing[:MAX_ROWS]]
        tables.append(Table(label, ["", *runs], rows, len(differing), "each run's config"))
    return {"tables": tables}
