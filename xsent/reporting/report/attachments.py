"""What else a run has left: charts as images, the conditions of its figures and its tables, folded."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from xsent.reporting.report.markup import Entry, escape, fitting, folded, left_out, row, shortened, table
from xsent.reporting.report.reading import RunFiles, csv_rows
from xsent.reporting.report.shell import Section

FIRST_ROWS = 50  # of a table of an evaluation; a table may have a row per sentence
LONGEST_TEXT = 300  # characters of a cell
LONG_TEXT = 40  # characters, from which on a cell is broken into lines


def charts_section(run: RunFiles, *, room: int) -> Section | None:
    """The charts of the evaluators, in the page itself; those without room are named.

    Args:
        run: its charts.
        room: bytes that all images together may take.
    """
    if not run.charts:
        return None
    figures, absent = [], []
    for path in run.charts:
        image = base64.b64encode(path.read_bytes()).decode("ascii")
        if len(image) > room:
            absent.append(path.name)
            continue
        room -= len(image)
        title = path.stem.replace("_", " ")
        said = f"chart {title}; its numbers are in charts/{path.stem}.csv"
        figures.append(
            f'<figure><figcaption>{escape(title)}</figcaption><img src="data:image/png;base64,{image}"'
            f' alt="{escape(said)}"><p class="note">numbers: charts/{escape(path.stem)}.csv</p></figure>'
        )
    note = ""
    if absent:
        note = f'<p class="quiet">No room here for {len(absent)} more, in charts: {escape(", ".join(absent[:50]))}</p>'
    return Section("charts", "Charts", f'<div class="charts">{"".join(figures)}</div>{note}', None, None)


def details_section(run: RunFiles, *, room: int) -> Section | None:
    """Under which conditions each figure was measured, and the tables that evaluators left.

    Args:
        run: its details and tables.
        room: bytes that all of them together may take.
    """
    if not run.details and not run.tables:
        return None
    share = room // (1 + len(run.tables))
    parts = []
    if run.details:
        header, *rows = run.details
        parts.append(_folded("Conditions of each figure", header, rows, "details.csv", len(rows), share))
    for path in run.tables:
        header, first, count = _first_rows(path)
        parts.append(_folded(path.stem, header, first, f"tables/{path.name}", count, share))
    return Section("details", "Details", "".join(parts), None, None)


def _folded(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], file: str, count: int, room: int) -> str:
    kept = fitting((row([_cell(text) for text in line]) for line in rows), room)
    inside = table(header, kept, label=title, tall=True) + left_out(len(kept), count, "rows", file)
    return folded(f"{title} ({count:,})", inside)


def _cell(text: str) -> Entry:
    return Entry(shortened(text, LONGEST_TEXT), {"class": "long" if len(text) > LONG_TEXT else ""})


def _first_rows(path: Path) -> tuple[list[str], list[list[str]], int]:
    """Header, some rows, and how many there are, of a table that a run wrote with the csv module."""
    rows = csv_rows(path)
    header = next(rows, [])
    first = list(islice(rows, FIRST_ROWS))
    return header, first, len(first) + sum(1 for _ in rows)
