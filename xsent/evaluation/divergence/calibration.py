"""Calibration of pair judges: expected calibration error, reliability diagram, clean pairs lost by length."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from xsent.evaluation.charts import Curve, Line
from xsent.evaluation.divergence.pairs import ScoredSet
from xsent.evaluation.statistics.thresholds import Bools, Floats

BINS = 10  # of the probability, equally wide


def calibration_error(probabilities: Floats, equivalent: Bools) -> float:
    """Expected calibration error in percent: mean distance of probability and share over bins, weighted by their pairs.

    Args:
        probabilities: (N,) of *equivalent*.
        equivalent: (N,).

    Source:
        Guo et al. 2017 (arXiv:1706.04599), equation 3, with 10 bins.
    """
    predicted, observed, counts = reliability_bins(probabilities, equivalent)
    return float(100 * (np.abs(predicted - observed) * counts).sum() / len(probabilities))


def reliability_bins(probabilities: Floats, equivalent: Bools) -> tuple[Floats, Floats, Floats]:
    """Mean probability, share of equivalent pairs, and number of pairs, of each of the bins that has pairs."""
    bins = np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(bins, minlength=BINS).astype(np.float64)
    used = counts > 0
    sums = (np.bincount(bins, weights=values, minlength=BINS)[used] for values in (probabilities, equivalent))
    predicted, observed = (total / counts[used] for total in sums)
    return predicted, observed, counts[used]


def probabilities_of(scores: Floats) -> Floats:
    """The sigmoid, without overflow for very low scores."""
    probabilities: Floats = 0.5 + 0.5 * np.tanh(scores / 2)
    return probabilities


def clean_divergent(scored: ScoredSet, threshold: float, bands: Sequence[int]) -> dict[str, float]:
    """Percent of the equivalent pairs that the threshold calls divergent, by number of source words.

    Args:
        scored: scores of pairs.
        bands: first length of each band; a band without equivalent pairs is left out.

    Returns:
        By metric: ``clean_divergent_1_5``, ..., ``clean_divergent_11_up``.
    """
    lengths = np.array([len(pair.source) for pair in scored.pairs.pairs])
    equivalent = np.array(scored.pairs.equivalent)
    metrics = {}
    for first, following in pairwise([*bands, None]):
        assert first is not None
        rows = equivalent & (lengths >= first)
        if following is not None:
            rows &= lengths < following
        if rows.any():
            name = f"clean_divergent_{first}_{'up' if following is None else following - 1}"
            metrics[name] = 100 * float((scored.values[rows] <= threshold).mean())
    return metrics


def reliability_diagram(name: str, title: str, sets: Sequence[ScoredSet]) -> Curve:
    """Share of equivalent pairs by their probability, a line per set."""
    lines = {}
    for scored in sets:
        probabilities, equivalent = probabilities_of(scored.values), np.array(scored.pairs.equivalent)
        predicted, observed, _ = reliability_bins(probabilities, equivalent)
        note = f"error {calibration_error(probabilities, equivalent):.1f} %"
        lines[scored.pairs.name] = Line(predicted, observed, None, note)
    return Curve(name, title, "probability of equivalence", "share of equivalent pairs", "", lines, "calibrated")
