"""Results as a table: items down, spaces across, the paper's figure beside ours where there is one."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.table import Table

PIVOT = "eng"  # the language that directions share; a direction is `deu-eng` or `eng-deu`
# Percent and Spearman x 100 have two decimals; these are numbers around 1 and below,
FINE = (
    "threshold", "align", "uniform", "cosine_distance", "drift", "ttr_ratio", "_cross", "_mono", "normaliser",
    "mean_parallel", "mean_unrelated",
)  # fmt: skip
COUNTS = ("ties", "truncated", "errors", "only_direct", "only_pivot", "_n")  # and these are numbers of things
# How sure a figure is, and what errors are like: too many rows for a screen.
IN_FILES = re.compile(r"sd_|p_(?!at_)|levenshtein_|jaccard_")


class Cell(NamedTuple):
    """One figure and where it stands."""

    row: str  # "tatoeba deu accuracy"
    column: str  # space: "original", "meaning", "language"; "" for a metric without spaces
    ours: float
    paper: float | None
    metric: str  # its name


def cells(metrics: Mapping[str, float], expected: Mapping[str, float]) -> list[Cell]:
    """Cells of metrics named ``test/<evaluator>/<space>/<item>/<metric>``, or the same without a space.

    Where the paper has no figure for it, a direction (``deu-eng``) is left to ``results.csv`` when its language
    (``deu``) has a mean, and so are standard deviations and p-values.

    Raises:
        ValueError: a metric has another form of name.
    """
    found = []
    for name, value in metrics.items():
        split, *rest = name.split("/")
        if len(rest) not in (3, 4):
            raise ValueError(f"metric {name!r}: expected test/<evaluator>[/<space>]/<item>/<metric>")
        evaluator, item, metric = rest[0], rest[-2], rest[-1]
        space = rest[1] if len(rest) == 4 else ""
        language = _language_of(item)
        has_mean = language is not None and "/".join([split, *rest[:-2], language, metric]) in metrics
        if name not in expected and (has_mean or IN_FILES.match(metric)):
            continue
        found.append(Cell(f"{evaluator} {item} {metric}", space, value, expected.get(name), name))
    return found


def _language_of(item: str) -> str | None:
    """The language of a direction to or from the pivot; None for anything else."""
    sides = item.split("-")
    if len(sides) != 2 or PIVOT not in sides:
        return None
    return sides[1] if sides[0] == PIVOT else sides[0]


def grid(metrics: Mapping[str, float], expected: Mapping[str, float]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of texts.

    A column ``<space> (paper)`` and one of differences, ours less the paper's, only where the paper has
    figures for the space.
    """
    found = cells(metrics, expected)
    at = {(cell.row, cell.column): cell for cell in found}
    spaces, compared, header = columns(found)
    rows = []
    for row in dict.fromkeys(cell.row for cell in found):
        line = [row]
        for space in spaces:
            line += _texts(at.get((row, space)), space in compared)
        rows.append(line)
    return header, rows


def columns(found: Sequence[Cell]) -> tuple[list[str], set[str], list[str]]:
    """The spaces in their order, those that a paper has figures of, and the header of the table."""
    spaces = list(dict.fromkeys(cell.column for cell in found))
    compared = {cell.column for cell in found if cell.paper is not None}
    header = [""]
    for space in spaces:
        ours = space or "ours"
        header += [ours, f"{ours} (paper)" if space else "paper", "difference"] if space in compared else [ours]
    return spaces, compared, header


def decimals(metric: str) -> int:
    """How many digits after the point a figure is shown with, by the end of its name."""
    if metric.endswith(COUNTS):
        return 0
    return 4 if metric.endswith(FINE) else 2


def _texts(cell: Cell | None, with_paper: bool) -> list[str]:
    if cell is None:
        return ["", "", ""] if with_paper else [""]
    digits = decimals(cell.row)
    ours = f"{cell.ours:.{digits}f}"
    if not with_paper:
        return [ours]
    if cell.paper is None:
        return [ours, "", ""]
    return [ours, f"{cell.paper:.{digits}f}", f"{cell.ours - cell.paper:+.{digits}f}"]


def results_table(metrics: Mapping[str, float], expected: Mapping[str, float]) -> Table:
    """The table for a terminal; rows of means are bold."""
    header, rows = grid(metrics, expected)
    table = Table(*header)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*row, style="bold" if " mean " in row[0] else None)
    return table


def to_markdown(metrics: Mapping[str, float], expected: Mapping[str, float]) -> str:
    """The table in Markdown."""
    header, rows = grid(metrics, expected)
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def details_csv(details: Sequence[Mapping[str, object]]) -> str:
    """A row per figure and the conditions it was measured under; a field that a row lacks stays empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in details for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(details)
    return out.getvalue()


def to_csv(metrics: Mapping[str, float], expected: Mapping[str, float]) -> str:
    """Every metric in a row, at full precision: name, ours, paper, difference."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["metric", "ours", "paper", "difference"])
    for name, value in metrics.items():
        paper = expected.get(name)
        writer.writerow([name, value, *(["", ""] if paper is None else [paper, value - paper])])
    return out.getvalue()
