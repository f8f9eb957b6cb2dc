"""What several generations of noise say together: means, spread, and whether two encoders differ by chance alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import mean, stdev

from xsent.evaluation.noisy_sets import Scored
from xsent.evaluation.significance import two_sample_p

STUDENT, TEACHER = "student", "teacher"  # the encoder that is scored, and the one it is compared with
TESTED = ("cosine_distance", "xsim", "xsimpp")  # what the t-test compares


def summary(generations: Mapping[str, Sequence[Scored]]) -> dict[str, dict[str, float]]:
    """Figures of a set, by item (the set or a bitext) and metric.

    Args:
        generations: of the set, one or more, by whose vectors they were scored with.
    """
    figures: dict[str, dict[str, float]] = defaultdict(dict)
    for whose, several in generations.items():
        prefix = "" if whose == STUDENT else f"{whose}_"
        for item, metric in ((item, metric) for item, row in several[0].figures.items() for metric in row):
            figures[item] |= mean_and_sd(f"{prefix}{metric}", _scores(several, item, metric))
    if TEACHER in generations and len(generations[TEACHER]) > 1:
        for item in figures:
            for metric in TESTED:
                if metric in figures[item]:
                    samples = (_scores(generations[whose], item, metric) for whose in (STUDENT, TEACHER))
                    figures[item][f"p_{metric}"] = two_sample_p(*samples)
    return dict(figures)


def _scores(several: Sequence[Scored], item: str, metric: str) -> list[float]:
    return [one.figures[item][metric] for one in several]


def mean_and_sd(metric: str, scores: Sequence[float]) -> dict[str, float]:
    """The mean under the metric's name, and with several scores their standard deviation (n - 1) as ``sd_<metric>``."""
    return {metric: mean(scores)} | ({f"sd_{metric}": stdev(scores)} if len(scores) > 1 else {})


def ratio_summary(noisy: Sequence[float], standard: Sequence[float]) -> dict[str, float]:
    """Figures of the type-token ratios of N noisy texts and of what they stand for."""
    ratio = mean(a / b for a, b in zip(noisy, standard, strict=True))
    figures = mean_and_sd("ttr", noisy) | {"ttr_standard": mean(standard), "ttr_ratio": ratio}
    return figures | ({"p_ttr": two_sample_p(noisy, standard)} if len(noisy) > 1 else {})
