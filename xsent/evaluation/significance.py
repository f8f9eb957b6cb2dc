"""Do two samples of scores differ by more than chance?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import ttest_ind_from_stats

# Scores that differ by less differ by rounding alone.
RESOLUTION = 1e-9


def two_sample_p(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p-value of Student's t-test of two independent samples of one variance.

    A sample of one score has no spread: NaN. Two samples that are both constant have none either, and no t; then p is
    1 where the constants are equal and 0 where they are not, the limits of what a small spread would give. (scipy
    says NaN for the former.) Such a 0 is what noise without chance in it gives, generation by generation the same.

    Source:
        Nishimwe et al. 2024, section 6.1: the student's ten scores against LASER's ten.
    """
    if len(a) < 2 or len(b) < 2:
        return math.nan
    if np.ptp(a) < RESOLUTION and np.ptp(b) < RESOLUTION:
        return float(abs(a[0] - b[0]) < RESOLUTION)
    # Of the samples themselves scipy would warn where one is constant, as the standard text's scores are.
    moments = (value for one in (a, b) for value in (np.mean(one), np.std(one, ddof=1), len(one)))
    return float(ttest_ind_from_stats(*moments).pvalue)
