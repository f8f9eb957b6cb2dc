"""The t-test of two samples of scores."""

import math

import pytest

from xsent.evaluation.noise.aggregation import two_sample_p


def test_a_textbook_case_of_two_samples_of_six() -> None:
    # Weights of screws from two factories, the usual example of Student's test: t = 1.959, 10 degrees of freedom.
    a = [30.02, 29.99, 30.11, 29.97, 30.01, 29.99]
    b = [29.89, 29.93, 29.72, 29.98, 30.02, 29.98]
    assert two_sample_p(a, b) == pytest.approx(0.07857, abs=1e-5)


def test_two_samples_of_two_by_hand() -> None:
    # Means 0.5 and 2.5, pooled variance 0.5: t = -2 / sqrt(0.5) with 2 degrees of freedom, and there
    # p = 1 - |t| / sqrt(t^2 + 2) = 1 - sqrt(8 / 10).
    assert two_sample_p([0, 1], [2, 3]) == pytest.approx(1 - math.sqrt(0.8))
    assert two_sample_p([2, 3], [0, 1]) == two_sample_p([0, 1], [2, 3])


def test_constant_samples_have_p_1_if_equal_and_otherwise_0() -> None:
    assert two_sample_p([0.3] * 10, [0.3] * 10) == 1
    assert two_sample_p([0.3] * 10, [0.3 + 1e-15] * 10) == 1  # rounding
    assert two_sample_p([0.3] * 10, [0.4] * 10) == 0


def test_one_sample_may_be_constant() -> None:
    # Means 1 and 0, pooled variance 1: t = 1 with 2 degrees of freedom.
    assert two_sample_p([1 - 1, 1 + 1], [0, 0]) == pytest.approx(1 - 1 / math.sqrt(3))


def test_a_single_score_has_p_nan() -> None:
    assert math.isnan(two_sample_p([1], [2, 3]))
