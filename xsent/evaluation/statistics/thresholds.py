"""Decision thresholds on scores: ROC curve, AUC, equal error rate, best threshold."""

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
    """Number of accepted pairs at every threshold; K distinct scores give K + 1 points.

    Point 0 accepts nothing, point k the pairs with the k highest scores, point K everything. Pairs with equal scores
    are accepted together. Integer counts (scikit-learn gives rates) keep sums and comparisons exact.
    """

    scores: Floats  # (K,), descending
    positives: Counts  # (K + 1,), accepted positive pairs
    negatives: Counts  # (K + 1,), accepted negative pairs

    def threshold(self, point: int) -> float:
        """Halfway between the lowest score that a point above 0 accepts and the next; the lowest if there is none."""
        lowest = float(self.scores[point - 1])
        following = float(self.scores[min(point, len(self.scores) - 1)])
        middle = (lowest + following) / 2
        return middle if middle > following else lowest  # neighbouring floats have no midpoint

    @property
    def rates(self) -> tuple[Floats, Floats]:
        """False and true positive rates (K + 1,), shares, rising from 0 to 1."""
        return self.negatives / int(self.negatives[-1]), self.positives / int(self.positives[-1])


class Decisions(NamedTuple):
    """Quality of binary decisions."""

    accuracy: float  # shares, 0 to 1
    f1: float  # of the positive pairs; NaN if there are none and none was predicted


def roc_curve(scores: ArrayLike, labels: ArrayLike) -> Roc:
    """ROC curve as counts.

    Args:
        scores: (N,), higher means more likely positive.
        labels: (N,), 1 or True if the pair is positive, else 0.

    Raises:
        ValueError: different numbers of labels and scores, a NaN score, or only one class.
    """
    values, positive = np.asarray(scores, dtype=np.float64), np.asarray(labels) == 1
    if values.shape != positive.shape or values.ndim != 1:
        raise ValueError(f"expected a label for each score, found {positive.shape} labels for {values.shape} scores")
    if invalid := int(np.isnan(values).sum()):
        raise ValueError(f"{invalid} of {len(values)} scores are NaN")
    if not 0 < positive.sum() < len(positive):
        count = int(positive.sum())
        raise ValueError(f"expected pairs of both classes, found {count} positive and {len(positive) - count} negative")
    return count_accepted(values, positive)


def count_accepted(scores: Floats, positive: Bools) -> Roc:
    """``roc_curve`` of at least one pair, of any class."""
    order = np.argsort(-scores, kind="stable")
    scores, positive = scores[order], positive[order]
    ends = np.append(np.flatnonzero(scores[:-1] > scores[1:]), len(scores) - 1)  # last pair of each score
    accepted = np.cumsum(positive, dtype=np.int64)[ends]
    return Roc(scores[ends], np.append(0, accepted), np.append(0, ends + 1 - accepted))


def best_point(quality: Floats) -> int:
    """The first of the best points of a curve (K + 1,); point 0, which accepts nothing, comes last."""
    return (int(np.argmax(np.append(quality[1:], quality[0]))) + 1) % len(quality)


def best_threshold(roc: Roc, criterion: str) -> float:
    """The best threshold for the pairs of ``roc``; a score of at least the threshold means positive.

    It is halfway between neighbouring scores; of equally good thresholds the highest is chosen. Accepting everything
    (lowest score) or nothing (just above the highest) is chosen only if better than every threshold in between.

    Args:
        roc: of the pairs to choose on.
        criterion: ``accuracy``; ``f1`` of the positives; ``eer``: smallest difference of false positive and false
            negative rate.

    Raises:
        ValueError: an unknown criterion.

    Source:
        Midpoint and choice among ties as in sentence-transformers' binary classification evaluator, which differs where
        scores are equal.
    """
    if best := best_point(_quality(roc, criterion)):
        return roc.threshold(best)
    above = math.nextafter(float(roc.scores[0]), math.inf)
    # Just above 0 is subnormal, which training flushes to 0.
    return above if abs(above) >= sys.float_info.min else sys.float_info.min


def _quality(roc: Roc, criterion: str) -> Floats:
    """(K + 1,), higher is better; exactly equal for equally good points, as it is computed from integers."""
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
    """Area under the ROC curve: probability that a positive scores above a negative; ties count one half."""
    steps = np.diff(roc.negatives) * (roc.positives[1:] + roc.positives[:-1])
    return float(steps.sum() / (2 * roc.positives[-1] * roc.negatives[-1]))


def equal_error_rate(roc: Roc) -> float:
    """Error rate where the linearly interpolated false positive and false negative rates are equal."""
    false_positive, true_positive = roc.rates
    gap = false_positive - (1 - true_positive)  # rises from -1 to 1
    after = int(np.argmax(gap >= 0))
    share = gap[after] / (gap[after] - gap[after - 1])  # of the way back to the previous point
    return float(false_positive[after] - share * (false_positive[after] - false_positive[after - 1]))


def decision_quality(predicted: Bools, labels: Bools) -> Decisions:
    """Accuracy and F1 of predicting the pairs ``predicted`` (N,) as positive; N >= 1."""
    hits, total = int((predicted & labels).sum()), int(predicted.sum() + labels.sum())
    return Decisions(float((predicted == labels).mean()), 2 * hits / total if total else math.nan)
