"""Tables of texts and their forms: terminal, Markdown, CSV; ``pages/templates/macros.html`` is the HTML form."""

import csv
import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import rich.box
import rich.table
from rich.text import Text

LINE = 80  # characters of a terminal
HEADER_WIDTH = 7  # characters of a line in a header


class Cell(NamedTuple):
    """Table cell."""

    text: str
    attributes: Mapping[str, str] = {}  # of HTML


class Row(NamedTuple):
    """Table row; the first cell is its heading."""

    cells: Sequence[Cell]
    bold: bool = False

    @property
    def texts(self) -> list[str]:
        """Texts of the cells."""
        return [cell.text for cell in self.cells]


class Table(NamedTuple):
    """The first rows of a table."""

    label: str
    header: Sequence[str]
    rows: Sequence[Row]
    total: int
    source: str  # file with all rows
    measured: Sequence[bool] = ()  # columns of figures; by default all but the first


class Column(NamedTuple):
    """Column of a table; the header may have several lines."""

    header: str
    cells: Sequence[Cell]
    is_measured: bool = True


def figure_columns(name: str, columns: Mapping[str, Sequence[Cell]]) -> list[Column]:
    """Columns of one figure; the first header begins with its name, in short lines."""
    lines = textwrap.wrap(name, HEADER_WIDTH, break_long_words=False, break_on_hyphens=False)
    headers = ["\n".join([*lines, next(iter(columns))]), *("\n" * len(lines) + label for label in list(columns)[1:])]
    return [Column(header, cells) for header, cells in zip(headers, columns.values(), strict=True)]


def column_tables(label: str, names: Sequence[str], groups: Iterable[Sequence[Column]], *, source: str) -> list[Table]:
    """Tables of columns with a row per name, as many columns in each as fit into a line of a terminal.

    The columns of a group stay together; those that do not fit are continued in the next table.
    """
    parts: list[list[Column]] = []
    size = LINE
    for group in groups:
        width = sum(_width([column.header, *(cell.text for cell in column.cells)]) for column in group)
        if not parts or size + width > LINE:
            parts.append([])
            size = 1 + _width(names)
        parts[-1] += group
        size += width
    tables = []
    for number, columns in enumerate(parts, start=1):
        rows = [
            Row([Cell(name), *cells]) for name, *cells in zip(names, *(column.cells for column in columns), strict=True)
        ]
        header = ["", *(column.header for column in columns)]
        measured = [False, *(column.is_measured for column in columns)]
        part = label if len(parts) == 1 else f"{label} ({number} of {len(parts)})"
        tables.append(Table(part, header, rows, len(rows), source, measured))
    return tables


def _width(texts: Sequence[str]) -> int:
    """Characters that a column of ``compact_table`` takes."""
    return 2 + max((len(line) for text in texts for line in text.split("\n")), default=0)


def compact_table(table: Table) -> rich.table.Table:
    """Table of ``column_tables`` for a terminal, without its title."""
    compact = terminal_table(table.header, table.rows)
    compact.box, compact.padding = rich.box.SIMPLE, (0, 1, 0, 0)
    for column, is_measured in zip(compact.columns, table.measured, strict=True):
        column.justify = "right" if is_measured else "left"
    return compact


def text_row(texts: Iterable[str], *, bold: bool = False) -> Row:
    """Row of cells without attributes."""
    return Row([Cell(text) for text in texts], bold)


def terminal_table(header: Sequence[str], *sections: Sequence[Row], title: str | None = None) -> rich.table.Table:
    """Table for a terminal, with a rule between sections; all columns but the first are right-aligned."""
    table = rich.table.Table(title=title)
    for number, name in enumerate(header):
        table.add_column(Text(name), justify="right" if number else "left")
    for rows in sections:
        for row in rows:
            table.add_row(*map(Text, row.texts), style="bold" if row.bold else None)
        table.add_section()
    return table


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], measured: Sequence[bool] = ()) -> str:
    """Table in Markdown; ``measured`` columns are right-aligned, by default all but the first."""
    is_right = measured or [False, *[True] * (len(header) - 1)]
    lines = [[" ".join(name.split()) for name in header], ["---:" if right else "---" for right in is_right], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """CSV with a line feed after each row."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
