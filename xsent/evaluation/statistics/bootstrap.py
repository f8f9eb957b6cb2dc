"""Paired bootstrap: confidence interval of the difference of two metrics measured on the same test items."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xsent.evaluation.statistics.items import Items
from xsent.evaluation.statistics.measures import STATISTICS

Floats = NDArray[np.float64]

CONFIDENCE = 95  # percent
SAMPLES = 2_000
SEED = 42
CHUNK = 2**21  # weights in memory at a time, 16 MB


class Interval(NamedTuple):
    """Interval of a difference, in units of the metric."""

    low: float
    high: float

    @property
    def includes_zero(self) -> bool:
        """Whether the data do not tell which of the two is higher."""
        return self.low <= 0 <= self.high


def paired_bootstrap(before: Items, after: Items) -> Interval:
    """Percentile interval of ``after.value() - before.value()``, resampling test items.

    Test sets of one size are resampled by the same item numbers: items of parallel test sets, and of both directions of
    one set, depend on each other. For independent sets of one size this changes nothing on average. Samples in which a
    metric is undefined are left out; without any other the interval is infinite.

    Raises:
        ValueError: the two have other test sets or statistics, or a test set has no items.

    Source:
        Efron and Tibshirani 1993, An Introduction to the Bootstrap, section 13.3; paired by item as in Koehn 2004,
        Statistical Significance Tests for Machine Translation Evaluation.
    """
    sizes = [size for group in after.sizes for size in group]
    if before.sizes != after.sizes or not sizes or 0 in sizes:
        found = [size for group in before.sizes for size in group]
        raise ValueError(f"expected outcomes of the same items, found {found} and {sizes}")
    if before[::2] != after[::2]:
        raise ValueError(f"expected one statistic, found {before[::2]} and {after[::2]}")
    samples = _mean_samples(before, after) if after.statistic == "mean" else _samples(before, after)
    samples = samples[~np.isnan(samples)]
    if not len(samples):
        return Interval(-math.inf, math.inf)
    tail = (100 - CONFIDENCE) / 2
    low, high = np.percentile(after.scale * samples, [tail, 100 - tail]).tolist()
    return Interval(low, high)


def _mean_samples(before: Items, after: Items) -> Floats:
    """Differences (SAMPLES,) of means: sets of one size are added before they are resampled."""
    differences: dict[int, Floats] = {}  # by size, of each item number: its share in the difference
    for first_group, second_group in zip(before.groups, after.groups, strict=True):
        total = sum(len(columns[0]) for columns in second_group)
        for (first,), (second,) in zip(first_group, second_group, strict=True):
            weight = len(second) / total / len(after.groups)
            differences[len(second)] = differences.get(len(second), 0) + weight * (second - first)
    rng = np.random.default_rng(SEED)
    totals = np.zeros(SAMPLES)
    for size, change in differences.items():
        totals += [change[rng.integers(size, size=size)].mean() for _ in range(SAMPLES)]
    return totals


def _samples(before: Items, after: Items) -> Floats:
    """Differences (SAMPLES,) of any statistic."""
    statistic, sizes = STATISTICS[after.statistic], after.sizes
    sides = [
        [[np.concatenate(column) for column in zip(*group, strict=True)] for group in items.groups]
        for items in (before, after)
    ]
    parts = []
    for weights in _resample([size for group in sizes for size in group]):
        totals = np.zeros(len(next(iter(weights.values()))))
        for group_sizes, *columns in zip(sizes, *sides, strict=True):
            of_group = np.concatenate([weights[size] for size in group_sizes], axis=1)
            first, second = (statistic(of_group, *of_side) for of_side in columns)
            totals += (second - first) / len(sizes)
        parts.append(totals)
    return np.concatenate(parts)


def _resample(sizes: Sequence[int]) -> Iterator[dict[int, Floats]]:
    """How often each of N items is in each of S samples (S, N), by size N; the samples are in chunks."""
    streams = {size: np.random.default_rng([SEED, size]) for size in dict.fromkeys(sizes)}
    rows = max(1, CHUNK // sum(sizes))
    for start in range(0, SAMPLES, rows):
        count = min(rows, SAMPLES - start)
        weights = {}
        for size, rng in streams.items():
            drawn = rng.integers(size, size=(count, size)) + size * np.arange(count)[:, None]
            weights[size] = np.bincount(drawn.ravel(), minlength=count * size).reshape(count, size).astype(np.float64)
        yield weights
