"""Do annotators agree: Krippendorff's alpha of labels, F1 of highlighted spans and words."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import mean, stdev
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Distance = Callable[[Floats], Floats]  # how often each of V values occurs -> (V, V) squared distances


class Annotated(Protocol):
    """What one annotator said of one pair."""

    @property
    def pair(self) -> str: ...
    @property
    def annotator(self) -> str: ...
    @property
    def level(self) -> int: ...  # 0, 1, 2: the more, the more divergent
    @property
    def source(self) -> tuple[int, ...]: ...  # per word, 1 where it is highlighted
    @property
    def target(self) -> tuple[int, ...]: ...


F1 = Callable[[Annotated, Annotated], float | None]  # of a pair that two annotated: the reference, the prediction

# ---- Krippendorff's alpha


def nominal(totals: Floats) -> Floats:
    """Values are the same or not: 0 or 1, (V, V)."""
    return 1 - np.eye(len(totals))


def ordinal(totals: Floats) -> Floats:
    """Values are as far apart as there are ratings between them, half of their own included: squared, (V, V)."""
    places = np.cumsum(totals) - totals / 2
    apart: Floats = (places[:, None] - places[None, :]) ** 2
    return apart


def alpha(counts: ArrayLike, distance: Distance) -> float:
    """Krippendorff's alpha: 1 is full agreement, 0 what chance gives; NaN where nothing varies or nobody can disagree.

    Args:
        counts: (U, V), how many annotators gave unit u the value v, the values in order. A value that an annotator
            left out is in no count; a unit with fewer than two values is left out.
        distance: ``nominal`` or ``ordinal``.

    Source:
        Krippendorff 2011, Computing Krippendorff's Alpha-Reliability: section C, any number of observers, missing data.
    """
    table = np.asarray(counts, dtype=np.float64)
    table = table[table.sum(axis=1) >= 2]
    if not len(table):
        return math.nan
    totals = table.sum(axis=0)  # (V,)
    apart = distance(totals)
    # Over the ordered pairs of two ratings of a unit; a rating with itself is in the sum, too, at distance 0.
    within = np.einsum("uv,vw,uw->u", table, apart, table) / (table.sum(axis=1) - 1)
    observed = float(within.sum())
    expected = float(totals @ apart @ totals) / (float(totals.sum()) - 1)
    return 1 - observed / expected if expected else math.nan


def word_alpha(highlighted: ArrayLike, annotators: int) -> float:
    """Nominal alpha of highlighted or not, each word a unit, from how many of the annotators highlighted it (N,)."""
    yes = np.asarray(highlighted, dtype=np.float64)
    return alpha(np.stack([annotators - yes, yes], axis=1), nominal)


# ---- highlighted words


class Span(NamedTuple):
    """Neighbouring highlighted words of one side."""

    side: int
    start: int
    end: int  # one past the last


def spans(one: Annotated) -> list[Span]:
    """Runs of highlighted words, as long as they go; two that touch are one."""
    return [Span(side, *run) for side, marks in enumerate((one.source, one.target)) for run in _runs(marks)]


def _runs(marks: Sequence[int]) -> Iterator[tuple[int, int]]:
    edges = np.flatnonzero(np.diff([0, *marks, 0])).tolist()
    yield from zip(edges[::2], edges[1::2], strict=True)


def span_f1(reference: Annotated, predicted: Annotated) -> float | None:
    """F1 of the spans of one pair, a share; one is hit by another that shares more than half of their union.

    Spans of one annotator do not touch, so each has at most one such partner, whoever is the reference.

    Returns:
        None where neither highlighted anything: there is nothing to agree on.
    """
    ours, theirs = spans(predicted), spans(reference)
    if not ours and not theirs:
        return None
    hits = sum(any(_overlap(one, other) > 0.5 for other in theirs) for one in ours)
    return 2 * hits / (len(ours) + len(theirs))


def _overlap(one: Span, other: Span) -> float:
    """Words in both over words in either; 0 of spans on two sides."""
    both = max(0, min(one.end, other.end) - max(one.start, other.start))
    return both / (one.end - one.start + other.end - other.start - both) if one.side == other.side else 0.0


def word_f1(reference: Annotated, predicted: Annotated) -> float | None:
    """F1 of the highlighted words of one pair, a share; None where neither highlighted anything."""
    ours, theirs = (np.array([*one.source, *one.target], dtype=bool) for one in (predicted, reference))
    marked = int(ours.sum() + theirs.sum())
    return 2 * int((ours & theirs).sum()) / marked if marked else None


def agreement_table(annotations: Sequence[Annotated]) -> dict[str, float]:
    """How much annotators agree, as in Table 2 of Briakou & Carpuat 2020 (arXiv:2010.03662).

    F1 is of each pair of sentences that two annotators share, averaged over these pairs (macro), and then over the
    pairs of annotators: who is the reference makes no difference to it. Pairs where neither highlighted anything are
    left out (ours: the paper does not say).

    Returns:
        ``alpha_nominal`` and ``alpha_ordinal`` of the labels, which of the two the paper has is not known; ``span_f1``
        and ``word_f1`` in percent, and ``span_f1_sd``, ``word_f1_sd``, their standard deviation over the pairs of
        annotators, NaN where there is one.
    """
    by_annotator: dict[str, dict[str, Annotated]] = defaultdict(dict)
    for one in annotations:
        by_annotator[one.annotator][one.pair] = one
    labels = _label_counts(annotations)
    found = {"alpha_nominal": alpha(labels, nominal), "alpha_ordinal": alpha(labels, ordinal)}
    for name, f1 in (("span_f1", span_f1), ("word_f1", word_f1)):
        both = [_macro(f1, ours, theirs) for ours, theirs in combinations(by_annotator.values(), 2)]
        shares = [share for share in both if share is not None]
        found[name] = 100 * mean(shares) if shares else math.nan
        found[f"{name}_sd"] = 100 * stdev(shares) if len(shares) > 1 else math.nan
    return found


def _macro(f1: F1, ours: Mapping[str, Annotated], theirs: Mapping[str, Annotated]) -> float | None:
    """Mean over what both annotated; None where nothing can be compared."""
    found = [f1(theirs[pair], one) for pair, one in ours.items() if pair in theirs]
    shares = [share for share in found if share is not None]
    return mean(shares) if shares else None


def _label_counts(annotations: Sequence[Annotated]) -> Floats:
    """(pairs, labels), how many annotators gave a pair a label."""
    row_of = {pair: row for row, pair in enumerate(dict.fromkeys(one.pair for one in annotations))}
    counts = np.zeros((len(row_of), 1 + max(one.level for one in annotations)))
    for one in annotations:
        counts[row_of[one.pair], one.level] += 1
    return counts
