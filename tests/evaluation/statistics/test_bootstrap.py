"""Interval of a difference, by hand and by the formula of its standard error."""

import math

import pytest

from xsent.evaluation.statistics.bootstrap import paired_bootstrap, percentage

RIGHT, WRONG = [True] * 50, [False] * 50


@pytest.mark.parametrize(
    ("before", "after", "interval"),
    [
        ([RIGHT + WRONG], [RIGHT + WRONG], (0, 0)),  # the same answers: no doubt
        ([WRONG], [RIGHT], (100, 100)),
        ([RIGHT, WRONG], [WRONG, WRONG], (-50, -50)),  # the mean of two sets
    ],
)
def test_a_change_that_all_items_share_has_no_spread(
    before: list[list[bool]], after: list[list[bool]], interval: tuple[float, float]
) -> None:
    assert paired_bootstrap(before, after, pooled=False) == pytest.approx(interval)


def test_the_width_is_that_of_the_standard_error_of_paired_differences() -> None:
    # 100 of 1,000 items become right, none wrong: +10, standard error 100 sqrt(0.1 * 0.9 / 1000).
    before, after = [False] * 1000, [True] * 100 + [False] * 900
    low, high = paired_bootstrap([before], [after], pooled=False)
    error = 100 * math.sqrt(0.1 * 0.9 / 1000)
    assert (low, high) == pytest.approx((10 - 1.96 * error, 10 + 1.96 * error), abs=0.2)


def test_a_set_twice_is_no_more_evidence_than_once() -> None:
    before, after = [False] * 200, [True] * 30 + [False] * 170
    once = paired_bootstrap([before], [after], pooled=False)
    assert paired_bootstrap([before] * 2, [after] * 2, pooled=False) == pytest.approx(once)


def test_sets_of_different_sizes_count_by_set_or_by_item() -> None:
    before, after = [[False] * 10, [False] * 30], [[True] * 10, [False] * 30]
    assert paired_bootstrap(before, after, pooled=False) == pytest.approx((50, 50))
    assert paired_bootstrap(before, after, pooled=True) == pytest.approx((25, 25))
    assert (percentage(after, pooled=False), percentage(after, pooled=True)) == (50, 25)


def test_other_items_are_refused() -> None:
    with pytest.raises(ValueError, match=r"outcomes of the same items, found \[50\] and \[100\]"):
        paired_bootstrap([RIGHT], [RIGHT + WRONG], pooled=False)
