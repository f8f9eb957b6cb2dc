"""Results as a table: items down, spaces across, the paper's figure beside ours where there is one."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import NamedTuple

from rich.table import Table


class Cell(NamedTuple):
    """One figure and where it stands."""

    row: str  # "tatoeba deu accuracy"
    column: str  # space: "original", "meaning", "language"
    ours: float
    paper: float | None


def cells(metrics: Mapping[str, float], expected: Mapping[str, float]) -> list[Cell]:
    """Cells of metrics named ``test/<evaluator>/<space>/<item>/<metric>``.

    A direction (``deu-eng``) is left to the files when its language (``deu``) has a mean.
    """
    found = []
    for name, value in metrics.items():
        _, evaluator, space, item, metric = name.split("/")
        if "-" in item and f"test/{evaluator}/{space}/{item.replace('eng', '').strip('-')}/{metric}" in metrics:
            continue
        found.append(Cell(f"{evaluator} {item} {metric}", space, value, expected.get(name)))
    return found


def grid(metrics: Mapping[str, float], expected: Mapping[str, float]) -> tuple[list[str], list[list[str]]]:
    """Header and rows; a column ``<space> (paper)`` and one of differences only where the paper has figures."""
    found = cells(metrics, expected)
    spaces = list(dict.fromkeys(cell.column for cell in found))
    compared = {cell.column for cell in found if cell.paper is not None}
    header = [""]
    for space in spaces:
        header += [space, f"{space} (paper)", "difference"] if space in compared else [space]
    rows = []
    for row in dict.fromkeys(cell.row for cell in found):
        line = [row]
        for space in spaces:
            cell = next((c for c in found if c.row == row and c.column == space), None)
            line += _texts(cell, space in compared)
        rows.append(line)
    return header, rows


def _texts(cell: Cell | None, with_paper: bool) -> list[str]:
    if cell is None:
        return ["", "", ""] if with_paper else [""]
    if not with_paper:
        return [f"{cell.ours:.2f}"]
    if cell.paper is None:
        return [f"{cell.ours:.2f}", "", ""]
    return [f"{cell.ours:.2f}", f"{cell.paper:.2f}", f"{cell.ours - cell.paper:+.2f}"]


def results_table(metrics: Mapping[str, float], expected: Mapping[str, float]) -> Table:
    """The table for a terminal."""
    header, rows = grid(metrics, expected)
    table = Table(*header)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*row, end_section=False, style="bold" if " mean " in row[0] else None)
    return table


def to_markdown(metrics: Mapping[str, float], expected: Mapping[str, float]) -> str:
    """The table in Markdown."""
    header, rows = grid(metrics, expected)
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def to_csv(metrics: Mapping[str, float], expected: Mapping[str, float]) -> str:
    """Every metric in a row: name, ours, paper, difference."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["metric", "ours", "paper", "difference"])
    for name, value in metrics.items():
        paper = expected.get(name)
        writer.writerow([name, value, *(["", ""] if paper is None else [paper, value - paper])])
    return out.getvalue()
