"""From scores to yes or no: which threshold is best, and what scores are worth at every threshold."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Bools = NDArray[np.bool_]

CRITERIA = ("accuracy", "f1", "eer")


class Roc(NamedTuple):
    """What is taken at every threshold; K distinct scores make K + 1 points.

    Point 0 takes nothing, point k the pairs of the k highest scores, point K everything. Pairs of one score are
    taken together, as any threshold must.
    """

    scores: Floats  # (K,), descending
    positives: Counts  # (K + 1,), how many of the positive pairs are taken
    negatives: Counts  # (K + 1,), how many of the others

    @property
    def true_positive_rate(self) -> Floats:
        """(K + 1,), shares, rising from 0 to 1."""
        return self.positives / int(self.positives[-1])

    @property
    def false_positive_rate(self) -> Floats:
        """(K + 1,), shares, rising from 0 to 1."""
        return self.negatives / int(self.negatives[-1])


class Verdict(NamedTuple):
    """How right yes and no are."""

    accuracy: float  # shares, 0 to 1
    f1: float  # of the positive pairs; NaN where there are none and none was called one


def roc_curve(scores: ArrayLike, labels: ArrayLike) -> Roc:
    """All thresholds of scores at once, in the time of one sort.

    Args:
        scores: (N,), the higher, the more likely positive.
        labels: (N,), 1 or True where the pair is positive, else 0.

    Raises:
        ValueError: not as many labels as scores, a score is NaN, or only one class is there.
    """
    values, positive = np.asarray(scores, dtype=np.float64), np.asarray(labels) == 1
    if values.shape != positive.shape or values.ndim != 1:
        raise ValueError(f"expected a label for each score, found {positive.shape} labels for {values.shape} scores")
    if bad := int(np.isnan(values).sum()):
        raise ValueError(f"{bad} of {len(values)} scores are NaN")
    if not 0 < positive.sum() < len(positive):
        count = int(positive.sum())
        raise ValueError(f"expected pairs of both classes, found {count} positive and {len(positive) - count} negative")
    order = np.argsort(-values, kind="stable")
    values, positive = values[order], positive[order]
    ends = np.append(np.flatnonzero(values[:-1] > values[1:]), len(values) - 1)  # the last pair of each score
    taken = np.cumsum(positive, dtype=np.int64)[ends]
    return Roc(values[ends], np.append(0, taken), np.append(0, ends + 1 - taken))


def best_threshold(roc: Roc, criterion: str) -> float:
    """The threshold that is best on the pairs of ``roc``; a pair is a paraphrase when its score is at least that.

    It lies halfway between neighbouring scores. Of equally good ones the highest wins. To say yes to all (the
    lowest score) or no to all (just above the highest) must be better than every threshold between two scores.

    Args:
        roc: of the pairs it is chosen on.
        criterion: ``accuracy``; ``f1`` of the positives; ``eer``: the shares of false positives and of false
            negatives are nearest to each other.

    Raises:
        ValueError: an unknown criterion.

    Source:
        The midpoint and the choice among ties are those of sentence-transformers' binary classification
        evaluator. Differs from it where scores are equal, which no threshold can tell apart.
    """
    quality = _quality(roc, criterion)
    # Point 0, which takes nothing, comes last: argmax gives the first of the best.
    best = (int(np.argmax(np.append(quality[1:], quality[0]))) + 1) % len(quality)
    if best == 0:
        above = math.nextafter(float(roc.scores[0]), math.inf)
        # Just above 0 is subnormal, and 0 again where the processor flushes such numbers, as in training.
        return above if abs(above) >= sys.float_info.min else sys.float_info.min
    lowest = float(roc.scores[best - 1])  # of those that are taken
    if best == len(roc.scores):
        return lowest
    following = float(roc.scores[best])
    middle = (lowest + following) / 2
    return middle if middle > following else lowest  # between neighbouring floats there is no middle


def _quality(roc: Roc, criterion: str) -> Floats:
    """(K + 1,), the higher, the better; equal where the points are equally good, since it is made of whole numbers."""
    all_positives, all_negatives = int(roc.positives[-1]), int(roc.negatives[-1])
    if criterion == "accuracy":
        right = roc.positives + all_negatives - roc.negatives
        return right / (all_positives + all_negatives)
    if criterion == "f1":
        return 2 * roc.positives / (roc.positives + roc.negatives + all_positives)
    if criterion == "eer":
        missed = all_positives - roc.positives
        gaps: Floats = np.abs(roc.negatives * all_positives - missed * all_negatives) / (all_positives * all_negatives)
        return -gaps
    raise ValueError(f"criterion {criterion!r}: expected one of {', '.join(CRITERIA)}")


def area_under(roc: Roc) -> float:
    """Probability that a positive pair has a higher score than a negative one; equal scores count one half."""
    steps = np.diff(roc.negatives) * (roc.positives[1:] + roc.positives[:-1])
    return float(steps.sum() / (2 * roc.positives[-1] * roc.negatives[-1]))


def equal_error_rate(roc: Roc) -> float:
    """Share of errors where the curve, its points joined by lines, has as many false positives as negatives."""
    wrong_yes, wrong_no = roc.false_positive_rate, 1 - roc.true_positive_rate
    gap = wrong_yes - wrong_no  # rises from -1 to 1
    after = int(np.argmax(gap >= 0))
    share = gap[after] / (gap[after] - gap[after - 1])  # of the way back from there
    return float(wrong_yes[after] - share * (wrong_yes[after] - wrong_yes[after - 1]))


def verdict(taken: Bools, labels: Bools) -> Verdict:
    """Accuracy and F1 of taking the pairs of ``taken`` (N,) where those of ``labels`` (N,) are positive; N >= 1."""
    hits, named = int((taken & labels).sum()), int(taken.sum() + labels.sum())
    return Verdict(float((taken == labels).mean()), 2 * hits / named if named else math.nan)
