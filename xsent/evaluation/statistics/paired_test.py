"""Paired t-test over seeds: does one setting score higher than another when both ran with the same seeds?"""

import math
from collections.abc import Sequence
from statistics import mean, stdev

from scipy.stats import t

MIN_SEEDS = 3  # with two, one degree of freedom: even a difference of 12 standard deviations has p > 0.05


def paired_p(before: Sequence[float], after: Sequence[float]) -> float | None:
    """Two-sided p-value of Student's paired t-test of N seeds; None for fewer than ``MIN_SEEDS``.

    Args:
        before, after: (N,) scores; position i of both ran with the same seed.

    Returns:
        If all differences are equal, t is undefined; p is then its limit, 1 for no difference and otherwise 0.

    Raises:
        ValueError: the lengths differ.
    """
    differences = [b - a for a, b in zip(before, after, strict=True)]
    if len(differences) < MIN_SEEDS:
        return None
    deviation = stdev(differences)
    if deviation == 0:
        return float(differences[0] == 0)
    statistic = mean(differences) / (deviation / math.sqrt(len(differences)))
    return float(2 * t.sf(abs(statistic), df=len(differences) - 1))
