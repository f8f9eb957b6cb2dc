"""Page of a filtered bitext: histogram of the scores and a sample of pairs with their divergent words marked."""

import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import langcodes

from xsent.evaluation.score_report import PARTS, Histogram, ScoreReport
from xsent.reporting.pages.charts import chart, histogram_spec
from xsent.reporting.pages.page import FILTER, Section, log_page_errors, macro, shorten, write_page

MAX_PAIR_BYTES = 4_000_000  # of all pairs on the page
PAIR_OVERHEAD = 420  # bytes of markup of a pair, about
MAX_WORD = 80  # characters; anything longer is an address or a broken line


def write_divergence_page(path: Path, report: ScoreReport, *, rows: int, words: int) -> Path:
    """Write the page; returns ``path``.

    Args:
        rows: pairs on the screen at a time; at least 1.
        words: of a sentence, at most; the page tells how many more there are. At least 1.
    """
    check_page(rows=rows, words=words)
    sides = [
        [_side(pair.source, pair.source_divergent, words), _side(pair.target, pair.target_divergent, words)]
        for pair in report.pairs
    ]
    sizes = [PAIR_OVERHEAD + len(str(texts).encode()) for texts in sides]
    count = len(sizes) if sum(sizes) <= MAX_PAIR_BYTES else MAX_PAIR_BYTES // max(sizes)
    shown = [number * len(sizes) // count for number in range(count)]  # as many as fit, evenly from all
    counts = {part: sum(part in pair.parts for pair in report.pairs) for part in PARTS}
    total = report.equivalent + report.divergent
    # Where the page has all pairs, every pair is in every part and there is nothing to choose.
    is_sample = any(len(pair.parts) < len(PARTS) for pair in report.pairs)
    context = {
        "pairs": [(report.pairs[number], sides[number]) for number in shown],
        "threshold": report.threshold,
        "tags": [langcodes.standardize_tag(language) for language in report.languages],
        "rows": rows,
        "is_sample": is_sample,
        "counts": counts,
        "total": total,
        "omitted": len(sizes) - count,
    }
    charts = {"scores": chart("histogram", _bars(report.histogram, report.threshold))}
    blocks = {"scores": {"specs": {"histogram": histogram_spec(report.threshold)}, "charts": charts}}
    classes = {"divergent": report.divergent, "equivalent": report.equivalent}
    return write_page(
        path,
        title=f"Divergences in {report.file}",
        kind=FILTER,
        summary=macro("judged", report, classes, total),
        sections=[
            Section("scores", "Scores", "scores", {"threshold": report.threshold}, blocks),
            Section("pairs", "Pairs", "pairs", context),
        ],
    )


def try_divergence_page(path: Path, report: ScoreReport, *, rows: int, words: int) -> None:
    """Write the page; log a failure, because the filtered bitext must be written all the same."""
    with log_page_errors(path):
        write_divergence_page(path, report, rows=rows, words=words)


def check_page(*, rows: int, words: int) -> None:
    """Raise ``ValueError`` if ``rows`` or ``words`` of ``write_divergence_page`` is below 1."""
    for name, value in (("rows", rows), ("words", words)):
        if value < 1:
            raise ValueError(f"page.{name}={value}: expected at least 1")


def _bars(histogram: Histogram, threshold: float) -> list[dict[str, object]]:
    """Rows of ``histogram_spec``."""
    edges = [histogram.start + histogram.width * number for number in range(len(histogram.counts) + 1)]
    texts = [_score(edge, histogram.width) for edge in edges]
    return [
        {
            "key": key,
            "low": edges[key],
            "high": edges[key + 1],
            "count": count,
            # By the middle: the threshold is an edge, but for rounding.
            "verdict": "equivalent" if edges[key] + histogram.width / 2 > threshold else "divergent",
            "text": f"{texts[key]} to {texts[key + 1]}: {count:,} pairs",
        }
        for key, count in enumerate(histogram.counts)
    ]


def _score(value: float, step: float) -> str:
    """A score with as many decimals as tell it from the next."""
    digits = max(1, -math.floor(math.log10(step)))
    return f"{round(value, digits) + 0.0:.{digits}f}"  # plus zero: never -0.0


def _side(words: Sequence[str], divergent: Sequence[int], limit: int) -> tuple[list[tuple[str, bool]], int]:
    """Runs of words with whether they are divergent, and the number of words left out."""
    positions = range(min(len(words), limit))
    runs = [
        (" ".join(shorten(words[position], MAX_WORD) for position in run), is_marked)
        for is_marked, run in groupby(positions, key=set(divergent).__contains__)
    ]
    return runs, len(words) - len(positions)
