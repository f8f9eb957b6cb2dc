"""Paired bootstrap: confidence interval of the difference of two percentages measured on the same test items."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 95  # percent
SAMPLES = 2_000
SEED = 42


class Interval(NamedTuple):
    """Interval of a difference, in percentage points."""

    low: float
    high: float

    @property
    def includes_zero(self) -> bool:
        """Whether the data do not tell which of the two is higher."""
        return self.low <= 0 <= self.high


def paired_bootstrap(before: Sequence[Sequence[bool]], after: Sequence[Sequence[bool]], *, pooled: bool) -> Interval:
    """Percentile interval of ``percentage(after) - percentage(before)``, resampling test items.

    Test sets of one size are resampled by the same item numbers: items of parallel test sets, and of both directions of
    one set, depend on each other. For independent sets of one size this changes nothing on average.

    Args:
        before, after: outcomes of the items (N_i,) of each test set.
        pooled: the percentage is that of all items; otherwise the mean of the test sets' percentages.

    Raises:
        ValueError: the two have other test sets, or a test set has no items.

    Source:
        Efron and Tibshirani 1993, An Introduction to the Bootstrap, section 13.3; paired by item as in Koehn 2004,
        Statistical Significance Tests for Machine Translation Evaluation.
    """
    sizes = [len(outcomes) for outcomes in after]
    if sizes != [len(outcomes) for outcomes in before] or not sizes or 0 in sizes:
        raise ValueError(f"expected outcomes of the same items, found {[*map(len, before)]} and {sizes}")
    differences: dict[int, NDArray[np.float64]] = {}  # by size, of each item number: its share in the difference
    for size, first, second in zip(sizes, before, after, strict=True):
        weight = size / sum(sizes) if pooled else 1 / len(sizes)
        change = weight * (np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64))
        differences[size] = differences.get(size, 0) + change
    rng = np.random.default_rng(SEED)
    totals = np.zeros(SAMPLES)
    for size, change in differences.items():
        totals += [change[rng.integers(size, size=size)].mean() for _ in range(SAMPLES)]
    tail = (100 - CONFIDENCE) / 2
    low, high = np.percentile(100 * totals, [tail, 100 - tail]).tolist()
    return Interval(low, high)


def percentage(outcomes: Sequence[Sequence[bool]], *, pooled: bool) -> float:
    """Percentage of all items, or mean of the test sets' percentages."""
    if pooled:
        return 100 * sum(map(sum, outcomes)) / sum(map(len, outcomes))
    return sum(100 * sum(items) / len(items) for items in outcomes) / len(outcomes)
