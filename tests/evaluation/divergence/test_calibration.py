"""Calibration error and clean pairs lost by length, by hand."""

import numpy as np
import pytest

from tests.evaluation.divergence.test_evaluator import judged, make_evaluator, pairs_of
from xsent.batch import WordPair
from xsent.evaluation.charts import Curve
from xsent.evaluation.divergence.calibration import calibration_error, reliability_bins


def test_the_calibration_error_weighs_bins_by_their_pairs() -> None:
    # Bin 0.9 to 1: mean 0.95, 1 of 2 equivalent. Bin 0.2 to 0.3: mean 0.25, 0 of 1. Bin 0 to 0.1: mean 0, 0 of 1.
    probabilities, equivalent = np.array([1.0, 0.9, 0.25, 0.0]), np.array([True, False, False, False])
    assert calibration_error(probabilities, equivalent) == pytest.approx(100 * (0.45 * 2 + 0.25) / 4)
    predicted, observed, counts = reliability_bins(probabilities, equivalent)
    assert predicted.tolist() == pytest.approx([0, 0.25, 0.95])
    assert observed.tolist() == [0, 0, 0.5]
    assert counts.tolist() == [1, 1, 2]


def test_the_evaluator_reports_the_share_of_clean_pairs_that_is_lost_by_length() -> None:
    words = [("a",) * length for length in (1, 5, 5, 6, 40, 6)]
    pairs = pairs_of(["same"] * 5 + ["far"], pairs=[WordPair(source, ("b", ".")) for source in words])
    evaluation = make_evaluator(pairs).score_pairs(judged([3, -3, 3, 3, 0, -3]), threshold=0.0)
    assert evaluation.metrics["div/set/clean_divergent_1_5"] == pytest.approx(100 / 3)
    assert evaluation.metrics["div/set/clean_divergent_6_up"] == 50  # the score 0 is not above 0
    diagram = next(chart for chart in evaluation.charts if isinstance(chart, Curve))
    assert diagram.lines["set"].y.tolist() == pytest.approx([0.5, 1, 1])


def test_bands_without_clean_pairs_have_no_figure() -> None:
    evaluation = make_evaluator(pairs_of(["same", "far"])).score_pairs(judged([3, -3]), threshold=0.0)
    assert evaluation.metrics["div/set/clean_divergent_1_5"] == 0
    assert "div/set/clean_divergent_6_up" not in evaluation.metrics
