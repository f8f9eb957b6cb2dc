"""Page of a filtered bitext: histogram of the scores and a sample of pairs with their divergent words marked."""

import logging
import math
import unicodedata
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Any

import langcodes

from xsent.evaluation.score_report import PARTS, Histogram, ScoreReport
from xsent.reporting.pages.charts import chart, histogram_spec
from xsent.reporting.pages.page import FILTER, Section, log_page_errors, macro, shorten, write_page
from xsent.reporting.pages.run_folder import read_run
from xsent.reporting.tables.table import Table, text_row

log = logging.getLogger(__name__)

MAX_PAIR_BYTES = 4_000_000  # of all pairs on the page
PAIR_OVERHEAD = 420  # bytes of markup of a pair, about
LINE_SEPARATOR = "\u2028"  # a line break in the text of a document
# Punctuation that Moses replaces by one character.
ASCII = str.maketrans("‘’‚´`“”„«»–‐", "'''''\"\"\"\"\"--")
MAX_WORD = 80  # characters; anything longer is an address or a broken line
MAX_GAP = 8  # characters between two words
CHANCE = 50  # AUC of a judge that guesses
NEAR_CHANCE = 10  # points of AUC above it
FIGURES = {"AUC": "roc_auc", "F1 at this threshold": "calibrated_f1", "F1 at threshold 0": "f1", "best F1": "best_f1"}


def write_divergence_page(
    path: Path,
    report: ScoreReport,
    *,
    rows: int,
    words: int,
    run: str | PathLike[str] | None = None,
    documents: bool = False,
) -> Path:
    """Write the page; returns ``path``.

    Args:
        rows: pairs on the screen at a time; at least 1.
        words: of a sentence, at most; the page tells how many more there are. At least 1.
        run: run folder or checkpoint of the judge, to show its figures on labelled pairs.
        documents: whether the pairs are of whole documents.
    """
    check_page(rows=rows, words=words)
    sides = [
        [
            _side(pair.texts[0].replace(LINE_SEPARATOR, "\n"), pair.source, pair.source_divergent, words),
            _side(pair.texts[1].replace(LINE_SEPARATOR, "\n"), pair.target, pair.target_divergent, words),
        ]
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
        "documents": documents,
    }
    slider = _slider(report)
    spec = histogram_spec(report.threshold, step=slider["step"], position=slider["position"])
    charts = {"scores": chart("histogram", _bars(report.histogram, report.threshold))}
    blocks = {"scores": {"specs": {"histogram": spec}, "charts": charts}}
    classes = {"divergent": report.divergent, "equivalent": report.equivalent}
    return write_page(
        path,
        title=f"Divergences in {report.file}",
        kind=FILTER,
        summary=macro("judged", report, classes, total, _judge_figures(run), documents),
        sections=[
            Section("scores", "Scores", "scores", slider, blocks) if total > 1 or not documents else None,
            Section("pairs", "Pairs", "pairs", context),
        ],
    )


def try_divergence_page(path: Path, report: ScoreReport, **options: Any) -> None:
    """``write_divergence_page``; logs a failure, because the filtered bitext must be written all the same."""
    with log_page_errors(path):
        write_divergence_page(path, report, **options)


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


def _slider(report: ScoreReport) -> dict[str, Any]:
    """Thresholds to choose, the edges of the bars, with what each keeps; ``position`` is that of the report's own."""
    start, step, counts = report.histogram
    position = min(max(round((report.threshold - start) / step), 0), len(counts))
    total = sum(counts)
    choices = []
    for number in range(len(counts) + 1):
        threshold, kept = report.threshold + (number - position) * step, sum(counts[number:])
        text = f"{threshold:.6g} keeps {kept:,} of {total:,} pairs ({kept / total:.1%})"
        choices.append((float(f"{threshold:.12g}"), text))
    choices[position] = (report.threshold, choices[position][1])
    return {"step": step, "position": position, "choices": choices}


def _score(value: float, step: float) -> str:
    """A score with as many decimals as tell it from the next."""
    digits = max(1, -math.floor(math.log10(step)))
    return f"{round(value, digits) + 0.0:.{digits}f}"  # plus zero: never -0.0


def _side(text: str, words: Sequence[str], divergent: Sequence[int], limit: int) -> tuple[list[tuple[str, bool]], int]:
    """Parts of a text with whether they are divergent, and the number of words left out; punctuation never is."""
    marked = {position for position in divergent if not _is_punctuation(words[position])}
    spans = word_spans(text, words)
    if any(spans[position] is None for position in marked):
        text = " ".join(words)  # the tokenizer changed a marked word
        spans = word_spans(text, words)
    parts: list[tuple[str, bool]] = []
    end = 0
    for position, span in enumerate(spans[:limit]):
        if span is None:
            continue
        is_marked = position in marked
        gap, word = text[end : span[0]], shorten(text[span[0] : span[1]], MAX_WORD)
        # The gap between two marked words is marked, too.
        parts += [(gap, is_marked and position - 1 in marked), (word, is_marked)]
        end = span[1]
    if len(words) <= limit:
        parts.append((text[end:], False))
    runs = [("".join(part for part, _ in run), is_marked) for is_marked, run in groupby(parts, key=itemgetter(1))]
    return [run for run in runs if run[0]], max(0, len(words) - limit)


def word_spans(text: str, words: Sequence[str]) -> list[tuple[int, int] | None]:
    """Start and end of each word in the text that it was cut from; None where the tokenizer changed it."""
    text = text.translate(ASCII)
    spans: list[tuple[int, int] | None] = []
    end = reach = 0  # how far the next word may be from the last one that was found
    for word in words:
        reach += len(word) + MAX_GAP
        start = text.find(word, end, end + reach)
        if start < 0:
            spans.append(None)
            continue
        end, reach = start + len(word), 0
        spans.append((start, end))
    return spans


def _is_punctuation(word: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in word)


# ---- how good is the judge?


def _judge_figures(path: str | PathLike[str] | None) -> dict[str, Any]:
    """Figures of a run on labelled pairs for the macro ``judged``: a table, and a warning if they are near chance."""
    if path is None:
        return {"table": None, "warnings": []}
    folder = Path(path) if Path(path).is_dir() else Path(path).parent.parent
    try:
        run = read_run(folder)
    except ValueError as error:
        log.info("no figures of the judge on the page: %s", error)
        return {"table": None, "warnings": []}
    rows, warnings = [], []
    # The first item of an evaluator has all its pairs.
    sets = {name.split("/")[1]: name.rpartition("/")[0] for name in reversed(run.metrics) if name.endswith("/roc_auc")}
    for labelled in reversed(sets.values()):
        figures = [run.metrics.get(f"{labelled}/{metric}") for metric in FIGURES.values()]
        name = labelled.partition("/")[2].replace("/", " ")
        rows.append(text_row([name, *("" if figure is None else f"{figure:.1f}" for figure in figures)]))
        if not run.metrics[f"{labelled}/roc_auc"] >= CHANCE + NEAR_CHANCE:
            warnings.append(f"AUC {run.metrics[f'{labelled}/roc_auc']:.1f} on {name}")
    table = (
        Table("Figures of the judge", ["labelled pairs", *FIGURES], rows, len(rows), "metrics.json") if rows else None
    )
    return {"table": table, "warnings": warnings, "near": CHANCE + NEAR_CHANCE}
