"""Scored pairs as one page, divergent words marked: it opens from disk and asks nothing of the network."""

from __future__ import annotations

import html
import json
import logging
import math
from importlib import resources
from pathlib import Path
from string import Template

import langcodes

from xsent.evaluation.score_sample import PARTS, Histogram, ScoredPair, ScoreReport, round_width
from xsent.reporting.files import write_text

log = logging.getLogger(__name__)

MOST_BYTES = 4_500_000  # of the pairs in the page, so that it stays below five megabytes whatever the text
LONGEST_WORD = 80  # characters; what is longer is no word but an address or a broken line
TICKS = 8  # steps between the labels below the histogram, about


def write_divergence_page(path: Path, report: ScoreReport, *, rows: int, words: int) -> Path:
    """Write the page; returns ``path``.

    Args:
        path: of the page.
        report: what is shown.
        rows: pairs on the screen at a time.
        words: of a sentence that are shown, at most; the page says how many there are more.

    Raises:
        ValueError: ``rows`` or ``words`` is below 1.
    """
    check_page(rows=rows, words=words)
    pairs = _fitting([_pair(pair, words) for pair in report.pairs])
    data = {
        "threshold": report.threshold,
        "tags": [langcodes.standardize_tag(language) for language in report.languages],
        "rows": rows,
        "parts": PARTS,
    }
    text = Template(_asset("page.html")).substitute(
        title=html.escape(f"Divergences in {report.file}"),
        style=_asset("page.css"),
        script=_asset("page.js"),
        summary=_summary(report),
        histogram=_histogram(report.histogram, report.threshold),
        sample=_sample(report, len(pairs)),
        # Inside a script element nothing but `<` can end it, and JSON may write any character by its number.
        data=_json(data),
        pairs="[" + ",\n".join(pairs) + "]",
    )
    write_text(path, text)
    log.info("%s: %s pairs, %.1f MB", path, f"{len(pairs):,}", path.stat().st_size / 1e6)
    return path


def check_page(*, rows: int, words: int) -> None:
    """Raise ``ValueError`` if one of these options of ``write_divergence_page`` is below 1."""
    for name, value in (("rows", rows), ("words", words)):
        if value < 1:
            raise ValueError(f"page.{name}={value}: expected at least 1")


# ---- what is said above the pairs


def _summary(report: ScoreReport) -> str:
    total = report.equivalent + report.divergent
    classes = "".join(
        f'<div><dt><i class="swatch {name}"></i> {name}</dt><dd><b>{count:,}</b> ({count / total:.1%})</dd></div>'
        for name, count in (("divergent", report.divergent), ("equivalent", report.equivalent))
    )
    tags = "" if report.tags_words else " This run does not tag words, so none is marked."
    return (
        f"<p>{total:,} pairs, {'-'.join(report.languages)}, judged by <b>{html.escape(report.judge)}</b>. A pair is"
        f" equivalent when its score is above {report.threshold:.4g}; marked words carry meaning that the other side"
        f' lacks.{tags}</p>\n<dl class="classes">{classes}</dl>'
    )


def _sample(report: ScoreReport, shown: int) -> str:
    total = report.equivalent + report.divergent
    if shown == total:
        return f"All {total:,} pairs are below."
    counts = {part: sum(part in pair.parts for pair in report.pairs) for part in PARTS}
    text = (
        f"Below is a sample of {shown:,} of the {total:,} pairs: the {counts['lowest']:,} with the lowest scores, the"
        f" {counts['near']:,} nearest to the threshold, the {counts['highest']:,} with the highest, and"
        f" {counts['random']:,} at random. Counts and histogram above are of all pairs."
    )
    if shown < len(report.pairs):
        text += f" {len(report.pairs) - shown:,} of the sample were left out, as the page would have become too large."
    return text


def _histogram(found: Histogram, threshold: float) -> str:
    """Bars of both classes, and a line between them at the threshold."""
    highest = max(found.counts)
    end = found.start + found.width * len(found.counts)
    bars = []
    for number, count in enumerate(found.counts):
        low = found.start + number * found.width
        # The threshold is an edge, but for the last bit of these sums.
        name = "equivalent" if low + found.width / 2 > threshold else "divergent"
        said = f"{_score(low, found.width)} to {_score(low + found.width, found.width)}: {count:,} pairs"
        bars.append(f'<i class="{name}" title="{said}" style="height: {100 * count / highest:.2f}%"></i>')
    span = end - found.start
    step = round_width(span / TICKS)
    ticks = "".join(
        f'<span style="left: {100 * (step * number - found.start) / span:.2f}%">{_score(step * number, step)}</span>'
        for number in range(math.ceil(found.start / step), math.floor(end / step) + 1)
    )
    place = 100 * (threshold - found.start) / span
    side = "left" if place > 50 else "right"
    return (
        f'<div class="bars" role="img" aria-label="histogram of the scores of all pairs">{"".join(bars)}'
        f'<b class="threshold {side}" style="left: {place:.2f}%"><span>threshold {threshold:.4g}</span></b></div>'
        f'<div class="ticks" aria-hidden="true">{ticks}</div>'
    )


def _score(value: float, step: float) -> str:
    """A score with the decimals that tell it from the next."""
    digits = max(1, -math.floor(math.log10(step)))
    return f"{round(value, digits) + 0.0:.{digits}f}"  # plus zero: never -0.0


# ---- the pairs


def _pair(pair: ScoredPair, words: int) -> str:
    """A pair as the script reads it: line, score, words, marked positions, words left out, parts."""
    source, target = ([_short(word) for word in side[:words]] for side in (pair.source, pair.target))
    marked = [[at for at in side if at < words] for side in (pair.source_divergent, pair.target_divergent)]
    more = [max(0, len(side) - words) for side in (pair.source, pair.target)]
    parts = [PARTS.index(part) for part in pair.parts]
    return _json([pair.line, pair.score, [" ".join(source), " ".join(target)], marked, more, parts])


def _short(word: str) -> str:
    return word if len(word) <= LONGEST_WORD else word[: LONGEST_WORD - 1] + "…"


def _fitting(pairs: list[str]) -> list[str]:
    """As many of the pairs as the page has room for, evenly from all."""
    size = sum(len(pair.encode()) + 2 for pair in pairs)
    if size <= MOST_BYTES:
        return pairs
    # Every pair may be as long as the longest.
    room = MOST_BYTES // max(len(pair.encode()) + 2 for pair in pairs)
    return [pairs[number * len(pairs) // room] for number in range(room)]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _asset(name: str) -> str:
    return (resources.files("xsent") / "assets" / "divergence" / name).read_text(encoding="utf-8")
