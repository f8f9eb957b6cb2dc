"""Paired tests of two encoders or settings: exact McNemar over test items, Student's t over seeds."""

import math
from collections.abc import Sequence
from statistics import mean, stdev

from scipy.stats import binom, t

from xsent.evaluation.statistics.items import Floats, Items

MIN_SEEDS = 3  # with two, one degree of freedom: even a difference of 12 standard deviations has p > 0.05


def mcnemar(before: Items, after: Items) -> float:
    """Two-sided p-value of the exact McNemar test: do as many items become right as become wrong?

    Test sets of one size have the same item numbers, as in ``paired_bootstrap``: items of parallel test sets, and of
    both directions of one set, depend on each other. An item number counts once, by the sign of its net change over
    these sets; with one set this is McNemar's test.

    Raises:
        ValueError: the two have other test sets, or an item is not right or wrong.

    Source:
        McNemar 1947, Note on the sampling error of the difference between correlated proportions; the exact form is the
        binomial (sign) test of the discordant items.
    """
    if before.sizes != after.sizes:
        raise ValueError(f"expected outcomes of the same items, found sets of {before.sizes} and {after.sizes}")
    if not (before.is_binary and after.is_binary):
        raise ValueError("expected items that are right or wrong, found other values")
    changes: dict[int, Floats] = {}
    for (first,), (second,) in zip(before.sets, after.sets, strict=True):
        changes[len(first)] = changes.get(len(first), 0) + second - first
    gained, lost = (sum(int((sign * change > 0).sum()) for change in changes.values()) for sign in (1, -1))
    return sign_test(gained, lost)


def sign_test(gained: int, lost: int) -> float:
    """Two-sided p-value of the binomial test that gains and losses are equally likely; 1 without either."""
    return min(1.0, 2 * float(binom.cdf(min(gained, lost), gained + lost, 0.5)))


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
