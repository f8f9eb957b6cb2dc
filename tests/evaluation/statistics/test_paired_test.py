"""Paired t-test, by hand."""

import math

import pytest

from xsent.evaluation.statistics.paired_test import paired_p


def test_three_seeds_have_the_p_value_of_two_degrees_of_freedom() -> None:
    # Differences 1, 2, 3: t = 2 sqrt(3). With 2 degrees of freedom P(|T| > t) = 1 - t / sqrt(2 + t^2).
    t = 2 * math.sqrt(3)
    assert paired_p([5.0, 5.0, 5.0], [6.0, 7.0, 8.0]) == pytest.approx(1 - t / math.sqrt(2 + t * t), rel=1e-9)


def test_the_sign_of_the_difference_and_what_the_seeds_share_play_no_part() -> None:
    before, after = [1.0, 4.0, 2.0, 8.0], [2.0, 4.5, 4.0, 8.25]
    p = paired_p(before, after)
    assert paired_p(after, before) == pytest.approx(p)
    shift = [10.0 * seed for seed in range(4)]
    shifted = ([a + b for a, b in zip(scores, shift, strict=True)] for scores in (before, after))
    assert paired_p(*shifted) == pytest.approx(p)


def test_equal_differences_have_the_limit_of_small_deviations() -> None:
    assert paired_p([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == 1.0
    assert paired_p([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]) == 0.0


def test_fewer_than_three_seeds_have_no_p_value() -> None:
    assert paired_p([1.0, 2.0], [3.0, 5.0]) is None
    with pytest.raises(ValueError, match="argument"):
        paired_p([1.0, 2.0, 3.0], [3.0, 5.0])
