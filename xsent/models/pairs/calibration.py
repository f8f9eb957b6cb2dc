"""Calibration of pair scores: a threshold by length, and slopes that turn scores into log odds."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

KNOTS = 8  # lengths at which the threshold is fitted; each has about the same number of clean dev pairs
STEEPEST, FLATTEST = 10.0, 0.01  # slopes, where the dev pairs leave them open


class Calibration(NamedTuple):
    """Maps a score s of a pair of length n to the log odds ``slope * (s - threshold(n))``.

    The threshold is linear in log n between the knots and constant beyond them.
    """

    log_lengths: Tensor  # (KNOTS,) float32, ascending
    thresholds: Tensor  # (KNOTS,) score at the knots where equivalent and divergent are equally likely
    slopes: Tensor  # (2,) below and above the threshold

    @classmethod
    def identity(cls) -> Self:
        return cls(torch.arange(KNOTS).float(), torch.zeros(KNOTS), torch.ones(2))

    def log_odds(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """Log odds (N,) of *equivalent* from scores (N,) and numbers (N,) of words of both sides."""
        x = lengths.to(self.log_lengths).log()
        right = torch.searchsorted(self.log_lengths.contiguous(), x).clamp(1, len(self.log_lengths) - 1)
        start, end = self.log_lengths[right - 1], self.log_lengths[right]
        share = ((x - start) / (end - start)).clamp(0, 1)
        threshold = torch.lerp(self.thresholds[right - 1], self.thresholds[right], share)
        difference = scores.float() - threshold.float()
        return difference * self.slopes[(difference > 0).long()].float()


def fit_calibration(
    scores: Sequence[float] | Floats, equivalent: Bools, lengths: NDArray[np.int64], *, clean_divergent: float
) -> Calibration:
    """Fit to dev pairs of both classes.

    Args:
        scores: (N,), higher means more likely equivalent.
        equivalent: (N,).
        lengths: (N,) words of both sides.
        clean_divergent: share of the equivalent pairs of any length that the threshold calls divergent.

    Returns:
        Slopes by maximum likelihood, both classes weighing the same.

    Raises:
        ValueError: there is only one class.
    """
    values, x = np.asarray(scores, dtype=np.float64), np.log(lengths)
    if equivalent.all() or not equivalent.any():
        raise ValueError("a probability needs equivalent and divergent dev pairs, found one class")
    edges = np.unique(np.quantile(x[equivalent], np.linspace(0, 1, KNOTS + 1)))
    bins = np.searchsorted(edges[1:-1], x, side="right")  # pairs of one length are in one bin
    knots: dict[float, float] = {}
    for number in np.unique(bins[equivalent]):
        rows = equivalent & (bins == number)
        knots[float(x[rows].mean())] = float(np.quantile(values[rows], clean_divergent))
    positions = list(knots)
    while len(positions) < KNOTS:  # dev pairs of few lengths
        positions.append(positions[-1] + 1)
    thresholds = np.interp(positions, list(knots), list(knots.values()))
    differences = values - np.interp(x, positions, thresholds)
    weights = np.where(equivalent, 0.5 / equivalent.sum(), 0.5 / (~equivalent).sum())
    slopes = [
        _likeliest_slope(differences[side], equivalent[side], weights[side])
        for side in (differences <= 0, differences > 0)
    ]
    return Calibration(*(torch.tensor(column, dtype=torch.float32) for column in (positions, thresholds, slopes)))


def _likeliest_slope(differences: Floats, equivalent: Bools, weights: Floats) -> float:
    """The slope a that maximises the likelihood of log odds ``a * differences``, by bisection of its derivative."""
    low, high = np.log(FLATTEST), np.log(STEEPEST)
    for _ in range(40):
        middle = (low + high) / 2
        predicted = 0.5 + 0.5 * np.tanh(np.exp(middle) * differences / 2)
        if (weights * differences * (equivalent - predicted)).sum() > 0:
            low = middle
        else:
            high = middle
    return float(np.exp((low + high) / 2))
