"""Explained and unexplained differences between mteb's metrics and ours, by hand."""

import math

import numpy as np
import pytest

from xsent.evaluation.mteb.compare import REASONS, Comparison, orders


def compared(mteb: float, ours: float, **options: object) -> Comparison:
    return Comparison("eng", "accuracy", mteb, "accuracy", ours, **options)


@pytest.mark.parametrize(("mteb", "reason"), [(50.0, "same"), (50.00004, "same"), (50.001, None), (49.0, None)])
def test_metrics_of_one_definition_are_equal_up_to_rounding_or_unexplained(mteb: float, reason: str | None) -> None:
    assert compared(mteb, 50.0).why == reason


@pytest.mark.parametrize(("mteb", "is_explained"), [(48.0, True), (51.0, True), (51.1, False), (47.9, False)])
def test_ties_explain_differences_within_their_range(mteb: float, is_explained: bool) -> None:
    assert (compared(mteb, 50.0, within=(48.0, 51.0)).why is not None) == is_explained


def test_different_definitions_are_named_even_if_the_metrics_are_equal() -> None:
    assert compared(50.0, 50.0, reason="f1").why == REASONS["f1"]


def test_our_undefined_metrics_are_explained() -> None:
    assert compared(0.0, math.nan).why == REASONS["constant"]


def test_only_scores_within_rounding_are_reordered() -> None:
    scores, gold = np.array([0.3, 0.1, 0.1 + 5e-7, 0.1 + 1e-6, 0.2]), np.array([1, 1, 0, 1, 0])
    worst, best = orders(scores, gold)
    # The gaps between 0.1 and the next two scores are 5e-7: one group, the lowest.
    assert worst.argsort(kind="stable").tolist() == [1, 3, 2, 4, 0]
    assert best.argsort(kind="stable").tolist() == [2, 1, 3, 4, 0]
