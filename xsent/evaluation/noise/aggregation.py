"""Aggregation over generations of noise: mean, standard deviation, t-test of two encoders."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import mean, stdev

import numpy as np
from scipy.stats import ttest_ind_from_stats

from xsent.evaluation.noise.scoring import SetScores
from xsent.evaluation.statistics.items import Items

STUDENT, TEACHER = "student", "teacher"  # the scored encoder, and the encoder it is compared with
TESTED = ("cosine_distance", "xsim", "xsimpp")  # metrics of the t-test
RESOLUTION = 1e-9  # scores that differ by less differ by rounding only


def summary(generations: Mapping[str, Sequence[SetScores]]) -> dict[str, dict[str, float]]:
    """Metrics of a set, by item (the set or a bitext), from its generations by encoder."""
    metrics: dict[str, dict[str, float]] = defaultdict(dict)
    for encoder, of_encoder in generations.items():
        prefix = prefix_of(encoder)
        for item, row in of_encoder[0].metrics.items():
            for metric in row:
                metrics[item] |= mean_and_sd(f"{prefix}{metric}", _scores(of_encoder, item, metric))
    if TEACHER in generations and len(generations[TEACHER]) > 1:
        for item in metrics:
            for metric in TESTED:
                if metric in metrics[item]:
                    samples = (_scores(generations[encoder], item, metric) for encoder in (STUDENT, TEACHER))
                    metrics[item][f"p_{metric}"] = two_sample_p(*samples)
    return dict(metrics)


def prefix_of(encoder: str) -> str:
    """Prefix of an encoder's metrics."""
    return "" if encoder == STUDENT else f"{encoder}_"


def summary_items(generations: Sequence[SetScores], prefix: str) -> dict[str, dict[str, Items]]:
    """Items of the means over generations, by item and metric: each sentence with its mean over the generations.

    A percentile of several generations has none: it is not computed from these means.
    """
    outcomes: dict[str, dict[str, Items]] = defaultdict(dict)
    for item, row in generations[0].outcomes.items():
        for metric, items in row.items():
            if len(generations) == 1 or items.statistic == "mean":
                columns = [generation.outcomes[item][metric].sets[0][0] for generation in generations]
                average = Items.of(items.statistic, np.mean(columns, axis=0), scale=items.scale)
                outcomes[item][f"{prefix}{metric}"] = average
    return dict(outcomes)


def _scores(generations: Sequence[SetScores], item: str, metric: str) -> list[float]:
    return [generation.metrics[item][metric] for generation in generations]


def mean_and_sd(metric: str, scores: Sequence[float]) -> dict[str, float]:
    """The mean as ``metric``, and of several scores the standard deviation (n - 1) as ``sd_<metric>``."""
    return {metric: mean(scores)} | ({f"sd_{metric}": stdev(scores)} if len(scores) > 1 else {})


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
