"""Significance of the difference between two samples of scores (Student's t-test)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import ttest_ind_from_stats

# Scores that differ by less differ by rounding only.
RESOLUTION = 1e-9


def two_sample_p(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p-value of Student's t-test of two independent samples with equal variances.

    NaN if a sample has one score. If both samples are constant, as with deterministic noise, t is undefined; p is then
    the limit for small variances: 1 if the constants are equal (NaN in scipy), otherwise 0.

    Source:
        Nishimwe et al. 2024, section 6.1: the student's ten scores against LASER's ten.
    """
    if len(a) < 2 or len(b) < 2:
        return math.nan
    if np.ptp(a) < RESOLUTION and np.ptp(b) < RESOLUTION:
        return float(abs(a[0] - b[0]) < RESOLUTION)
    # From moments, because scipy's test of samples warns if one is constant.
    moments = (value for sample in (a, b) for value in (np.mean(sample), np.std(sample, ddof=1), len(sample)))
    return float(ttest_ind_from_stats(*moments).pvalue)
