"""Tables of texts and their forms: terminal, Markdown, CSV; ``pages/templates/macros.html`` is the HTML form."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import rich.table
from rich.text import Text


class Cell(NamedTuple):
    """Table cell."""

    text: str
    attributes: Mapping[str, str] = {}  # of HTML
    note: str = ""  # beside the text, or below it


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
            cells = (Text.assemble(cell.text, ("\n" + cell.note if cell.note else "", "dim")) for cell in row.cells)
            table.add_row(*cells, style="bold" if row.bold else None)
        table.add_section()
    return table


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], measured: Sequence[bool] = ()) -> str:
    """Table in Markdown; ``measured`` columns are right-aligned, by default all but the first."""
    is_right = measured or [False, *[True] * (len(header) - 1)]
    lines = [header, ["---:" if right else "---" for right in is_right], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """CSV with a line feed after each row."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
