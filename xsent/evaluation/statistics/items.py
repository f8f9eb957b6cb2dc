"""Per-item outcomes: the test items that a metric is computed from, and the statistic over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xsent.evaluation.statistics.measures import STATISTICS

Floats = NDArray[np.float64]
Columns = tuple[Floats, ...]  # of a test set, (N,) each: what the statistic needs of its N items
PERCENT = 100.0


class Items(NamedTuple):
    """Test items of a metric: ``scale`` x the mean over groups of the statistic of a group's items.

    ``Items.of("mean", right, scale=100)`` is a percentage. Items of test sets that are pooled are one group of several
    sets; the mean over test sets has a group for each.
    """

    statistic: str  # one of ``measures.STATISTICS``
    groups: Sequence[Sequence[Columns]]  # test sets by group
    scale: float = 1.0

    @classmethod
    def of(cls, statistic: str, *columns: ArrayLike, scale: float = 1.0) -> Items:
        """Items of one test set; ``columns`` (N,) as the statistic takes them."""
        return cls(statistic, [[tuple(np.asarray(column, dtype=np.float64) for column in columns)]], scale)

    @classmethod
    def percentage(cls, flags: ArrayLike) -> Items:
        """Items (N,) of a percentage, such as which answers are right."""
        return cls.of("mean", flags, scale=PERCENT)

    @property
    def sets(self) -> list[Columns]:
        """The test sets of all groups."""
        return [columns for group in self.groups for columns in group]

    @property
    def sizes(self) -> list[list[int]]:
        """Number of items of each test set, by group."""
        return [[len(columns[0]) for columns in group] for group in self.groups]

    @property
    def is_binary(self) -> bool:
        """Whether each item is right or wrong, and the metric a percentage of them."""
        return self.statistic == "mean" and all(bool(((values == 0) | (values == 1)).all()) for (values,) in self.sets)

    def value(self) -> float:
        """The metric."""
        values = []
        for group in self.groups:
            columns = [np.concatenate(column) for column in zip(*group, strict=True)]
            size = len(columns[0])
            if self.statistic == "mean":
                values.append(self.scale * float(columns[0].sum()) / size)
            else:
                values.append(self.scale * float(STATISTICS[self.statistic](np.ones((1, size)), *columns)[0]))
        return sum(values) / len(values)


def gap_items(gaps: Items, prefix: str = "") -> dict[str, Items]:
    """Mean and percentile 5 of margin gaps, given as items of their mean: ``margin_gap``, ``margin_gap_p5``."""
    return {f"{prefix}margin_gap": gaps, f"{prefix}margin_gap_p5": gaps._replace(statistic="percentile_5")}


def mean_over(parts: Iterable[Items]) -> Items:
    """Items of the unweighted mean of metrics with one statistic."""
    first, *others = parts
    return first._replace(groups=[*first.groups, *(group for items in others for group in items.groups)])


def pooled(parts: Iterable[Items]) -> Items:
    """Items of the metric of all parts' items together."""
    first, *others = parts
    return first._replace(groups=[[*first.sets, *(columns for items in others for columns in items.sets)]])
