"""Results table: items down, spaces across, the paper's figure beside ours; and CSV of all figures."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from xsent.reporting.tables.table import Cell, Row, csv_text

PIVOT = "eng"  # the language that directions share; a direction is `deu-eng` or `eng-deu`
# Percent and Spearman x 100 have two decimals; these are numbers around 1 and below,
FOUR_DECIMALS = re.compile(
    ".*(threshold|align|uniform|cosine_distance|drift|(ttr|types|tokens)_ratio|_cross|_mono|normaliser|mean_parallel"
    "|mean_unrelated|r2|margin_gap|margin_gap_p5)"
)
COUNTS = ("ties", "truncated", "errors", "only_direct", "only_pivot", "_n", "epochs", "steps")
TEXT_COUNTS = ("sentences", "types", "types_standard", "tokens", "tokens_standard")
# Standard deviations, p-values, buckets of errors and counts of tokens are in results.csv only; a margin gap is beside
# its accuracy.
FILE_ONLY = re.compile(r"sd_|p_(?!at_)|levenshtein_|jaccard_|types|tokens|sentences|(.*_)?margin_gap")
# Metrics with a margin gap of their own items: `pivot_p_at_1` has `pivot_margin_gap`, `xsimpp` has `xsimpp_margin_gap`.
WITH_GAP = re.compile("(.*_)?(accuracy|error|p_at_1|xsim|xsimpp)")
HIGHER_IS_BETTER = re.compile(
    "accuracy|p_at_1|pivot_p_at_1|f1|best_f1|f1_equivalent|f1_divergent|precision|recall|roc_auc"
    "|spearman|cosine_spearman|cosine_ap|(.*_)?margin_gap(_p5)?"
)
LOWER_IS_BETTER = re.compile("error|xsim|eer")


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


def gap_name(metric: str) -> str | None:
    """Name of the margin gap of the items of an accuracy or error rate; None for other metrics."""
    start, _, kind = metric.rpartition("/")
    match = WITH_GAP.fullmatch(kind)
    if match is None:
        return None
    prefix = f"{kind}_" if match[2].startswith("xsim") else match[1] or ""
    return f"{start}/{prefix}margin_gap"


def _language_of(item: str) -> str | None:
    """Language of a direction to or from the pivot; None for anything else."""
    sides = item.split("-")
    if len(sides) != 2 or PIVOT not in sides:
        return None
    return sides[1] if sides[0] == PIVOT else sides[0]


def grid(
    metrics: Mapping[str, float],
    expected: Mapping[str, float],
    *,
    before: Mapping[str, float | None] = MappingProxyType({}),
    columns: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[str], list[Row]]:
    """Header and rows; the first heading is the split. A column ``gap`` has the margin gap beside an accuracy.

    Args:
        metrics: ours.
        expected: the paper's; ``<space> (paper)`` and difference only for spaces that the paper has figures of.
        before: ours before training, by the same names; a column ``before`` in front of the space.
        columns: heading by space, where it is not the space.
    """
    results = result_cells(metrics, expected)
    by_position = {(result.row, result.column): result for result in results}
    spaces = list(dict.fromkeys(result.column for result in results))
    compared = {result.column for result in results if result.paper is not None}
    with_start = {result.column for result in results if before.get(result.metric) is not None}
    gap_of = {result.metric: name for result in results if (name := gap_name(result.metric)) in metrics}
    with_gap = {result.column for result in results if result.metric in gap_of}
    header = [" and ".join(dict.fromkeys(result.metric.split("/")[0] for result in results))]
    for space in spaces:
        ours = columns.get(space, space or "ours") + _intention(
            [each.metric for each in results if each.column == space]
        )
        header += ["before"] if space in with_start else []
        header += [ours, f"{ours} (paper)" if space else "paper", "difference"] if space in compared else [ours]
        header += ["gap"] if space in with_gap else []
    rows = []
    for name in dict.fromkeys(result.row for result in results):
        cells = [Cell(name)]
        for space in spaces:
            result = by_position.get((name, space))
            start = None if result is None else before.get(result.metric)
            if space in with_start:
                cells.append(Cell("") if result is None or start is None else value_cell(result.metric, start))
            figures = [] if result is None else figure_cells(result.metric, result.ours, result.paper)
            cells += (figures + [Cell("")] * 3)[: 3 if space in compared else 1]
            if space in with_gap:
                gap = None if result is None else gap_of.get(result.metric)
                cells.append(Cell("") if gap is None else value_cell(gap, metrics[gap]))
        rows.append(Row(cells, bold=" mean " in name))
    return header, rows


def _intention(metrics: Sequence[str]) -> str:
    """Whether lower or higher figures are intended in a column of language vectors; "" for other columns."""
    names = [name.split("/") for name in metrics]
    kinds = [kind for *parts, kind in names if "language" in parts and "language_probe" not in parts]
    lower = [kind for kind in kinds if HIGHER_IS_BETTER.fullmatch(kind)]  # translations are not to be found
    higher = [kind for kind in kinds if LOWER_IS_BETTER.fullmatch(kind)]
    if not lower and not higher:
        return ""
    return " (worse is intended)" if lower and higher else f" ({'lower' if lower else 'higher'} is better)"


def same_row(metric: str, metrics: Mapping[str, float]) -> list[str]:
    """Names of a metric in all its spaces."""
    cells = result_cells(metrics, {metric: 0.0})
    row = next(cell.row for cell in cells if cell.metric == metric)
    return [cell.metric for cell in cells if cell.row == row]


def metric_heading(metric: str, columns: Mapping[str, str]) -> str:
    """``test heldout mean accuracy, language (lower is better)``."""
    split, evaluator, *space, item, kind = metric.split("/")
    words = ", ".join([f"{split} {evaluator} {item} {kind}", *(columns.get(name, name) for name in space)])
    return words + _intention([metric])


def figure_text(
    metric: str, metrics: Mapping[str, float], *, before: Mapping[str, float | None], columns: Mapping[str, str]
) -> str:
    """A metric in all its spaces, in words: ``test heldout mean accuracy 43.60 -> 91.20``."""
    split, evaluator, *_, item, kind = metric.split("/")
    names, texts = same_row(metric, metrics), []
    for name in names:
        space = name.split("/")[2]
        figures = [value_cell(name, value).text for value in (before.get(name), metrics[name]) if value is not None]
        heading = f"{columns.get(space, space)} " if len(names) > 1 else ""
        texts.append(heading + " -> ".join(figures) + _intention([name]))
    return f"{split} {evaluator} {item} {kind}{':' if len(names) > 1 else ''} {', '.join(texts)}"


def figure_cells(metric: str, ours: float, paper: float | None) -> list[Cell]:
    """Our figure, the paper's and the difference; texts are empty where the paper has none."""
    if paper is None:
        return [value_cell(metric, ours), Cell(""), Cell("")]
    difference = f"{ours - paper:+.{decimals(metric)}f}" if math.isfinite(ours) else ""
    paper_cell = Cell(f"{paper:.{decimals(metric)}f}", {"class": "paper"})
    return [value_cell(metric, ours), paper_cell, Cell(difference, {"class": "delta"})]


def value_cell(metric: str, value: float, **attributes: str) -> Cell:
    """A figure with the decimals of its metric, ``none`` if it is not finite; name and full value as attributes."""
    is_finite = math.isfinite(value)
    attributes = {"data-metric": metric, "data-value": json.dumps(value) if is_finite else "null", **attributes}
    return Cell(f"{value:.{decimals(metric)}f}" if is_finite else "none", attributes)


def decimals(metric: str) -> int:
    """Number of decimals that a figure is shown with, by the end of its name."""
    if metric.endswith((*COUNTS, *TEXT_COUNTS)):
        return 0
    return 4 if FOUR_DECIMALS.fullmatch(metric) else 2


def details_csv(details: Sequence[Mapping[str, object]]) -> str:
    """CSV of rows with different fields; a field that a row lacks is empty."""
    names = list(dict.fromkeys(name for row in details for name in row))
    return csv_text([names, *([row.get(name) for name in names] for row in details)])


def results_csv(
    metrics: Mapping[str, float],
    expected: Mapping[str, float],
    *,
    before: Mapping[str, float | None] = MappingProxyType({}),
) -> str:
    """CSV with a row per metric at full precision: name, ours, paper, difference, and ours before training if known."""
    rows: list[list[object]] = [["metric", "ours", "paper", "difference", *(["before"] if before else [])]]
    for name, value in metrics.items():
        paper = expected.get(name)
        rows.append([name, value, paper, None if paper is None else value - paper])
        if before:
            rows[-1].append(before.get(name))
    return csv_text(rows)
