"""What figures of one definition may differ by, and which are another's: on paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

from xsent.evaluation.mteb_compare import REASONS, Compared, average_precision, orders


def compared(mteb: float, ours: float, **more: object) -> Compared:
    return Compared("eng", "accuracy", mteb, "accuracy", ours, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("mteb", "why"), [(50.0, "same"), (50.00004, "same"), (50.001, None), (49.0, None)])
def test_one_definition_is_equal_to_the_digits_that_are_written_or_not_explained(mteb: float, why: str | None) -> None:
    assert compared(mteb, 50.0).why == why


@pytest.mark.parametrize(("mteb", "is_explained"), [(48.0, True), (51.0, True), (51.1, False), (47.9, False)])
def test_ties_explain_a_difference_as_far_as_they_go(mteb: float, is_explained: bool) -> None:
    assert (compared(mteb, 50.0, within=(48.0, 51.0)).why is not None) == is_explained


def test_another_definition_is_named_even_where_the_figures_agree() -> None:
    assert compared(50.0, 50.0, reason="f1").why == REASONS["f1"]


def test_what_is_undefined_with_us_is_said() -> None:
    assert compared(0.0, math.nan).why == REASONS["constant"]


def test_average_precision_by_hand() -> None:
    # Labels 1 0 1 from the top: (1 + 2/3) / 2.
    assert average_precision(np.array([0.9, 0.5, 0.1]), [True, False, True]) == pytest.approx((1 + 2 / 3) / 2)
    # Of three equal scores all are taken at once, two thirds of them right.
    assert average_precision(np.array([0.5, 0.5, 0.5]), [True, False, True]) == pytest.approx(2 / 3)


def test_average_precision_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(0)
    labels, scores = random.random(500) < 0.3, random.random(500).round(2)  # with ties
    expected = metrics.average_precision_score(labels, scores)
    assert average_precision(scores, labels) == pytest.approx(expected, rel=1e-12)


def test_only_scores_within_rounding_change_places() -> None:
    scores, gold = np.array([0.3, 0.1, 0.1 + 5e-7, 0.1 + 1e-6, 0.2]), np.array([1, 1, 0, 1, 0])
    worst, best = orders(scores, gold)
    # 0.1 and its two neighbours follow each other by half a millionth: one group, the lowest.
    assert worst.argsort(kind="stable").tolist() == [1, 3, 2, 4, 0]
    assert best.argsort(kind="stable").tolist() == [2, 1, 3, 4, 0]
