"""Results table: items down, spaces across, the paper's figure beside ours; for terminal, Markdown and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.table import Table

PIVOT = "eng"  # the language that directions share; a direction is `deu-eng` or `eng-deu`
# Percent and Spearman x 100 have two decimals; these are numbers around 1 and below,
FOUR_DECIMALS = (
    "threshold",
    "align",
    "uniform",
    "cosine_distance",
    "drift",
    "ttr_ratio",
    "_cross",
    "_mono",
    "normaliser",
    "mean_parallel",
    "mean_unrelated",
)
COUNTS = ("ties", "truncated", "errors", "only_direct", "only_pivot", "_n")
# Standard deviations, p-values and buckets of errors are in results.csv only.
FILE_ONLY = re.compile(r"sd_|p_(?!at_)|levenshtein_|jaccard_")


class ResultCell(NamedTuple):
    """Figure of a metric and its position in the table."""

    row: str  # "tatoeba deu accuracy"
    column: str  # space: "original", "meaning", "language"; "" for a metric without spaces
    ours: float
    paper: float | None
    metric: str


def result_cells(metrics: Mapping[str, float], expected: Mapping[str, float]) -> list[ResultCell]:
    """Cells of metrics named ``test/<evaluator>[/<space>]/<item>/<metric>``.

    Unless the paper has a figure for them, directions (``deu-eng``) whose language (``deu``) has a mean, standard
    deviations and p-values are left out; ``results.csv`` has them.

    Raises:
        ValueError: a metric with another form of name.
    """
    cells = []
    for name, value in metrics.items():
        split, *rest = name.split("/")
        if len(rest) not in (3, 4):
            raise ValueError(f"metric {name!r}: expected test/<evaluator>[/<space>]/<item>/<metric>")
        evaluator, item, metric = rest[0], rest[-2], rest[-1]
        language = _language_of(item)
        has_mean = language is not None and "/".join([split, *rest[:-2], language, metric]) in metrics
        if name not in expected and (has_mean or FILE_ONLY.match(metric)):
            continue
        space = rest[1] if len(rest) == 4 else ""
        cells.append(ResultCell(f"{evaluator} {item} {metric}", space, value, expected.get(name), name))
    return cells


def _language_of(item: str) -> str | None:
    """Language of a direction to or from the pivot; None for anything else."""
    sides = item.split("-")
    if len(sides) != 2 or PIVOT not in sides:
        return None
    return sides[1] if sides[0] == PIVOT else sides[0]


def grid(metrics: Mapping[str, float], expected: Mapping[str, float]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of texts; ``<space> (paper)`` and difference only for spaces that the paper has figures of."""
    cells = result_cells(metrics, expected)
    by_position = {(cell.row, cell.column): cell for cell in cells}
    spaces, compared, header = columns(cells)
    rows = []
    for row in dict.fromkeys(cell.row for cell in cells):
        texts = [text for space in spaces for text in _texts(by_position.get((row, space)), space in compared)]
        rows.append([row, *texts])
    return header, rows


def columns(cells: Sequence[ResultCell]) -> tuple[list[str], set[str], list[str]]:
    """Spaces in their order, the spaces that a paper has figures of, and the header of the table."""
    spaces = list(dict.fromkeys(cell.column for cell in cells))
    compared = {cell.column for cell in cells if cell.paper is not None}
    header = [""]
    for space in spaces:
        ours = space or "ours"
        header += [ours, f"{ours} (paper)" if space else "paper", "difference"] if space in compared else [ours]
    return spaces, compared, header


def decimals(metric: str) -> int:
    """Number of decimals that a figure is shown with, by the end of its name."""
    if metric.endswith(COUNTS):
        return 0
    return 4 if metric.endswith(FOUR_DECIMALS) else 2


def _texts(cell: ResultCell | None, with_paper: bool) -> list[str]:
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
    """Table for a terminal; rows of means are bold."""
    header, rows = grid(metrics, expected)
    table = Table(*header)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*row, style="bold" if " mean " in row[0] else None)
    return table


def to_markdown(metrics: Mapping[str, float], expected: Mapping[str, float]) -> str:
    """Table in Markdown."""
    header, rows = grid(metrics, expected)
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def details_csv(details: Sequence[Mapping[str, object]]) -> str:
    """CSV of rows with different fields; a field that a row lacks is empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in details for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(details)
    return out.getvalue()


def to_csv(metrics: Mapping[str, float], expected: Mapping[str, float]) -> str:
    """CSV with a row per metric at full precision: name, ours, paper, difference."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["metric", "ours", "paper", "difference"])
    for name, value in metrics.items():
        paper = expected.get(name)
        writer.writerow([name, value, *(["", ""] if paper is None else [paper, value - paper])])
    return out.getvalue()
