"""The figures of a run: the table that the terminal showed, the paper's tables, and every figure in full."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from xsent.reporting.published import Published, published_tables
from xsent.reporting.report.markup import Entry, escape, fitting, folded, left_out, row, table
from xsent.reporting.report.reading import RunFiles
from xsent.reporting.report.shell import Section
from xsent.reporting.tables import Cell, cells, columns, decimals

FILTER = (
    '<form class="controls"><label>Rows with <input type="search" name="filter" autocomplete="off" spellcheck="false"'
    ' placeholder="deu accuracy"></label><span class="quiet" role="status"></span></form>'
)
NO_FIGURES = "<p>No evaluator was asked for, so there are no figures.</p>"


def results_section(run: RunFiles, *, room: int) -> Section | None:
    """All tables of figures; every cell of ours holds its metric's name and full value.

    Args:
        run: its figures.
        room: bytes that the tables may take.

    Returns:
        None where the run has not finished.
    """
    if not run.finished:
        return None
    if not run.metrics:
        return Section("results", "Results", NO_FIGURES, None, None)
    html = FILTER + _grid(run, room // 3) + _every(run, room // 3)
    tables = [_published(one, run.metrics) for one in published_tables(_published_config(run), run.metrics)]
    kept = fitting(tables, room // 3)
    html += "".join(kept) + left_out(len(kept), len(tables), "tables of the paper", "published.md")
    return Section("results", "Results", html, None, "results.js")


def _published_config(run: RunFiles) -> list[Mapping[str, Any]]:
    """The paper's tables of the config.

    Raises:
        ValueError: one is of another form than ``published_tables`` wants.
    """
    tables = run.config.get("published") or []
    for one in tables if isinstance(tables, list) else [tables]:
        if not isinstance(one, Mapping) or not {"title", "columns", "rows"} <= one.keys():
            raise ValueError(f"{run.folder}: published: expected tables of title, columns and rows, found {one!r:.200}")
    return list(tables)


def shown(value: float, metric: str) -> str:
    """A figure with the decimals of its kind; ``none`` where there is no number."""
    return f"{value:.{decimals(metric)}f}" if math.isfinite(value) else "none"


def measured(value: float, metric: str) -> Entry:
    """A cell of ours."""
    exact = json.dumps(value) if math.isfinite(value) else "null"
    return Entry(shown(value, metric), {"data-metric": metric, "data-value": exact})


def _grid(run: RunFiles, room: int) -> str:
    """Items down, spaces across, as ``results.md`` has them."""
    found = cells(run.metrics, run.expected)
    at = {(cell.row, cell.column): cell for cell in found}
    spaces, compared, header = columns(found)
    names = list(dict.fromkeys(cell.row for cell in found))

    def rows() -> Iterator[str]:
        for name in names:
            beside = [text for space in spaces for text in _cells(at.get((name, space)), space in compared)]
            yield row([name, *beside], style="mean" if " mean " in name else "", key=name.lower())

    kept = fitting(rows(), room)
    return table(header, kept, label="results", tall=True) + left_out(len(kept), len(names), "rows", "results.csv")


def _cells(cell: Cell | None, with_paper: bool) -> list[str | Entry]:
    if cell is None:
        return ["", "", ""] if with_paper else [""]
    ours = measured(cell.ours, cell.metric)
    return [ours, *_beside(cell.ours, cell.paper, cell.metric)] if with_paper else [ours]


def _beside(ours: float, paper: float | None, metric: str) -> list[str | Entry]:
    if paper is None:
        return ["", ""]
    difference = f"{ours - paper:+.{decimals(metric)}f}" if math.isfinite(ours) else ""
    return [Entry(f"{paper:.{decimals(metric)}f}", {"class": "paper"}), Entry(difference, {"class": "delta"})]


def _every(run: RunFiles, room: int) -> str:
    """Every metric in a row, those too that the grid leaves out."""
    rows = (
        row(
            [name, measured(value, name), *_beside(value, run.expected.get(name), name)],
            key=name.replace("/", " ").lower(),
        )
        for name, value in run.metrics.items()
    )
    kept = fitting(rows, room)
    inside = table(["metric", "ours", "paper", "difference"], kept, label="every figure", tall=True)
    inside += left_out(len(kept), len(run.metrics), "figures", "results.csv")
    return folded(f"Every figure ({len(run.metrics):,})", inside)


def _published(one: Published, metrics: Mapping[str, float]) -> str:
    rows = [row(line) for line in one.rows]
    for (label, *texts), (_, *names) in zip(one.ours, one.metrics, strict=True):
        cells = [measured(metrics[name], name) if name else text for text, name in zip(texts, names, strict=True)]
        rows.append(row([label, *cells], style="ours"))
    return f"<h3>{escape(one.title)}</h3>" + table(one.header, rows, label=one.title)
