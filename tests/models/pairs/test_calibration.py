"""Calibration: thresholds that lose a share of the clean pairs of any length, and likeliest slopes."""

import math

import numpy as np
import pytest
import torch

from xsent.models.pairs.calibration import Calibration, fit_calibration


def dev_pairs(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Clean pairs score about the logarithm of their length, divergent ones 3 less, with unit variance."""
    rng = np.random.default_rng(seed)
    lengths = np.exp(rng.uniform(np.log(4), np.log(64), 2 * count)).astype(np.int64)
    equivalent = np.arange(2 * count) < count
    scores = rng.normal(size=2 * count) + np.log(lengths) - 3 * ~equivalent
    return scores, equivalent, lengths


def test_the_threshold_loses_the_same_share_of_clean_pairs_at_any_length() -> None:
    calibration = fit_calibration(*dev_pairs(20_000, 1), clean_divergent=0.1)
    scores, equivalent, lengths = dev_pairs(20_000, 2)
    odds = calibration.log_odds(torch.tensor(scores), torch.tensor(lengths)).numpy()
    for first in (4, 8, 16, 32):
        rows = equivalent & (lengths >= first) & (lengths < 2 * first)
        assert (odds[rows] <= 0).mean() == pytest.approx(0.1, abs=0.03)


def test_the_log_odds_rise_with_the_score() -> None:
    calibration = fit_calibration(*dev_pairs(500, 1), clean_divergent=0.1)
    for length in (1, 7, 1000):
        odds = calibration.log_odds(torch.linspace(-9, 9, 50), torch.full((50,), length))
        assert (odds.diff() > 0).all()


def test_slopes_are_the_likeliest() -> None:
    """Threshold 0; above, 3 of 4 pairs at score 1 are equivalent: log odds log 3. Below, 1 of 5: log odds -log 4."""
    scores = np.array([1.0] * 4 + [0.0] * 2 + [-1.0] * 5)
    equivalent = np.array([True] * 3 + [False] + [True, False] + [True] + [False] * 4)
    # Both classes have weight 1/2: 5 equivalent and 6 divergent pairs.
    lengths = np.full(11, 8)
    slopes = fit_calibration(scores, equivalent, lengths, clean_divergent=0.25).slopes
    assert slopes.tolist() == pytest.approx([math.log(4 / 6 * 5), math.log(3 / 5 * 6)], rel=1e-4)


def test_between_knots_the_threshold_is_linear_in_the_logarithm_of_the_length() -> None:
    knots = torch.log(torch.tensor([2.0, 4, 8, 16, 32, 64]))
    calibration = Calibration(knots, torch.tensor([0.0, 1, 3, 3, 3, 7]), torch.tensor([2.0, 0.5]))
    lengths = torch.tensor([1, 2, 4, 8, 64, 500])
    odds = calibration.log_odds(torch.full((6,), 3.0), lengths)
    assert odds.tolist() == pytest.approx([1.5, 1.5, 1.0, 0, -8, -8])
    middle = calibration.log_odds(torch.tensor([0.0]), torch.tensor([2.0]) * math.sqrt(2))
    assert middle.item() == pytest.approx(2 * -0.5)


def test_without_a_fit_scores_are_log_odds() -> None:
    scores = torch.tensor([-2.0, 0.0, 5.0])
    assert torch.equal(Calibration.identity().log_odds(scores, torch.tensor([1, 20, 300])), scores)


def test_pairs_of_one_length_and_of_one_class() -> None:
    scores, equivalent, _ = dev_pairs(50, 1)
    lengths = np.full(100, 9)
    calibration = fit_calibration(scores, equivalent, lengths, clean_divergent=0.1)
    odds = calibration.log_odds(torch.tensor(scores), torch.tensor(lengths))
    assert torch.isfinite(odds).all()
    with pytest.raises(ValueError, match="found one class"):
        fit_calibration(scores, np.ones(100, dtype=bool), lengths, clean_divergent=0.1)
