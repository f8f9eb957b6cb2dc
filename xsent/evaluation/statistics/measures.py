"""Statistics of weighted test items: mean, percentile, ratio, correlation, F1, ROC; all S resamples at once.

Every function takes ``weights`` (S, N), how often each of N items is in each of S samples, and columns (N,) of the
items; it returns (S,) values, NaN where the statistic is undefined.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Statistic = Callable[..., Floats]  # weights (S, N) and columns (N,) -> (S,)

LOW_PERCENTILE = 5
ROUNDING = 1e-12  # relative: a variance below is rounding error


def mean(weights: Floats, values: Floats) -> Floats:
    """Mean."""
    result: Floats = weights @ values / weights.sum(axis=1)
    return result


def ratio(weights: Floats, parts: Floats, totals: Floats) -> Floats:
    """Sum of the parts by that of the totals: precision, recall, or F1 of 2 x hits and predicted + true."""
    return _divide(weights @ parts, weights @ totals)


def explained_variance(weights: Floats, errors: Floats, variances: Floats) -> Floats:
    """R2 of squared errors and squared distances from the mean."""
    return 1 - ratio(weights, errors, variances)


def low_percentile(weights: Floats, values: Floats) -> Floats:
    """Percentile 5, with linear interpolation, as numpy's."""
    order = np.argsort(values, kind="stable")
    ordered, counts = values[order], weights[:, order].cumsum(axis=1)
    position = (counts[:, -1:] - 1) * (LOW_PERCENTILE / 100)
    lower = np.floor(position)
    ends = (ordered[(counts > np.minimum(lower + step, counts[:, -1:] - 1)).argmax(axis=1)] for step in (0, 1))
    low, high = ends
    result: Floats = low + (high - low) * (position - lower)[:, 0]
    return result


def pearson(weights: Floats, a: Floats, b: Floats) -> Floats:
    """Pearson's correlation."""
    return _correlation(weights, np.broadcast_to(a, weights.shape), np.broadcast_to(b, weights.shape))


def spearman(weights: Floats, a: Floats, b: Floats) -> Floats:
    """Spearman's rank correlation; equal values share the average of their ranks."""
    return _correlation(weights, _ranks(weights, a), _ranks(weights, b))


def _correlation(weights: Floats, a: Floats, b: Floats) -> Floats:
    total = weights.sum(axis=1, keepdims=True)
    a, b = (values - (weights * values).sum(axis=1, keepdims=True) / total for values in (a, b))
    scale_a, scale_b = ((weights * values * values).sum(axis=1) for values in (a, b))
    is_constant = np.minimum(scale_a, scale_b) <= ROUNDING * np.maximum(scale_a, scale_b)
    return np.where(is_constant, np.nan, _divide((weights * a * b).sum(axis=1), np.sqrt(scale_a * scale_b)))


def _ranks(weights: Floats, values: Floats) -> Floats:
    """Rank (S, N) of each item in each sample."""
    counts, group = _by_value(weights, values)
    last: Floats = counts.cumsum(axis=1)
    ranks: Floats = (last - (counts - 1) / 2)[:, group]
    return ranks


def _by_value(weights: Floats, values: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Sums (S, K) of the weights by distinct value, ascending, and the number of each item's value (N,)."""
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    sums: Floats = np.add.reduceat(weights[:, order], starts, axis=1)
    return sums, group


def roc_auc(weights: Floats, scores: Floats, labels: Floats) -> Floats:
    """Area under the ROC curve; ties count one half."""
    positives, negatives = _accepted(weights, scores, labels)
    areas = (np.diff(negatives) * (positives[:, 1:] + positives[:, :-1])).sum(axis=1)
    return _divide(areas, 2 * positives[:, -1] * negatives[:, -1])


def equal_error_rate(weights: Floats, scores: Floats, labels: Floats) -> Floats:
    """Error rate where the linearly interpolated false positive and false negative rates are equal."""
    counts = _accepted(weights, scores, labels)
    true_positive, false_positive = (_divide(accepted, accepted[:, -1:]) for accepted in counts)
    gap = false_positive - (1 - true_positive)  # rises from -1 to 1
    after = np.maximum((gap >= 0).argmax(axis=1), 1)
    rows = np.arange(len(weights))
    before = after - 1
    share = _divide(gap[rows, after], gap[rows, after] - gap[rows, before])
    rate: Floats = false_positive[rows, after]
    rate -= share * (rate - false_positive[rows, before])
    return rate


def _accepted(weights: Floats, scores: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """Accepted positive and negative pairs (S, K + 1) at each distinct score, from none to all."""
    starts = np.zeros((len(weights), 1))
    counts = (_by_value(weights * of_class, -scores)[0].cumsum(axis=1) for of_class in (labels, 1 - labels))
    positives, negatives = (np.concatenate([starts, accepted], axis=1) for accepted in counts)
    return positives, negatives


def weighted_f1(weights: Floats, predicted: Floats, labels: Floats) -> Floats:
    """Mean F1 of both classes, weighted by their shares."""
    return _over_classes(weights, predicted, labels, lambda hits, named, members: _divide(2 * hits, named + members))


def weighted_precision(weights: Floats, predicted: Floats, labels: Floats) -> Floats:
    """Mean precision of both classes, weighted by their shares; 0 of a class that is never predicted."""
    return _over_classes(weights, predicted, labels, lambda hits, named, _: hits / np.maximum(named, 1))


def _over_classes(weights: Floats, predicted: Floats, labels: Floats, score: Statistic) -> Floats:
    total: Floats = np.zeros(len(weights))
    for guess, truth in ((predicted, labels), (1 - predicted, 1 - labels)):
        members = weights @ truth
        of_class = score(weights @ (guess * truth), weights @ guess, members)
        total += np.where(members > 0, members * of_class, 0)  # a class without members may be NaN
    total /= weights.sum(axis=1)
    return total


def _divide(a: Floats, b: Floats) -> Floats:
    """a / b, NaN for b = 0."""
    quotient: Floats = np.divide(a, b, out=np.full(np.broadcast_shapes(a.shape, b.shape), np.nan), where=b != 0)
    return quotient


STATISTICS: Mapping[str, Statistic] = MappingProxyType(
    {
        "mean": mean,
        "percentile_5": low_percentile,
        "ratio": ratio,
        "r2": explained_variance,
        "pearson": pearson,
        "spearman": spearman,
        "roc_auc": roc_auc,
        "eer": equal_error_rate,
        "weighted_f1": weighted_f1,
        "weighted_precision": weighted_precision,
    }
)
