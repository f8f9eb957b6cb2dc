"""Thresholds, ROC, AUC and EER: by hand, brute force, reference numbers."""

import json
import math
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from xsent.evaluation.statistics.thresholds import (
    CRITERIA,
    area_under,
    best_threshold,
    decision_quality,
    equal_error_rate,
    roc_curve,
)


@pytest.fixture(scope="module")
def reference(fixtures_dir: Path) -> dict[str, Any]:
    return json.loads((fixtures_dir / "paraphrase_losses.json").read_text())["paws_threshold"]


def judge(scores: list[float], labels: list[int], threshold: float) -> tuple[float, float]:
    return decision_quality(np.array(scores) >= threshold, np.array(labels) == 1)


def test_accuracy_and_f1_equal_the_reference(reference: dict[str, Any]) -> None:
    dev = reference["dev_scores"], reference["dev_labels"]
    threshold = best_threshold(roc_curve(*dev), "accuracy")
    assert threshold == pytest.approx(reference["sentence_transformers_threshold(midpoint)"], abs=1e-12)
    assert judge(*dev, threshold)[0] == pytest.approx(reference["sentence_transformers_best_accuracy"])
    accuracy, _ = judge(reference["test_scores"], reference["test_labels"], threshold)
    assert accuracy == pytest.approx(reference["test_accuracy_with_midpoint"])
    f1, _, _, expected = reference["sentence_transformers_best_f1(f1,precision,recall,threshold)"]
    threshold = best_threshold(roc_curve(*dev), "f1")
    assert threshold == pytest.approx(expected, abs=1e-12)
    assert judge(*dev, threshold)[1] == pytest.approx(f1)


def test_the_eer_threshold_accepts_the_pairs_of_the_reference(reference: dict[str, Any]) -> None:
    # The reference gives the lowest accepted score, and the gap of the two error rates there: 3/13 and 4/17.
    gap, lowest = reference["eer_threshold_closest"]
    scores, labels = np.array(reference["dev_scores"]), np.array(reference["dev_labels"])
    threshold = best_threshold(roc_curve(scores, labels), "eer")
    assert scores[scores >= threshold].min() == lowest
    false_positives = (scores[labels == 0] >= threshold).mean()
    false_negatives = (scores[labels == 1] < threshold).mean()
    assert abs(false_positives - false_negatives) == pytest.approx(gap, abs=1e-9)
    # The curve crosses on the step from there to the next positive, where 3 of 13 are false positives.
    assert equal_error_rate(roc_curve(scores, labels)) == pytest.approx(3 / 13)
    # That of a perfect order is 0, of its reverse 1.
    assert equal_error_rate(roc_curve([0.9, 0.8, 0.2, 0.1], [1, 1, 0, 0])) == 0
    assert equal_error_rate(roc_curve([0.9, 0.8, 0.2, 0.1], [0, 0, 1, 1])) == 1


def test_thresholds_by_hand() -> None:
    # The points accept 0.9, then 0.7 (two pairs), then 0.4, then 0.2.
    scores, labels = [0.2, 0.7, 0.9, 0.7, 0.4], [0, 0, 1, 1, 1]
    roc = roc_curve(scores, labels)
    assert roc.scores.tolist() == [0.9, 0.7, 0.4, 0.2]
    assert roc.positives.tolist() == [0, 1, 2, 3, 3]
    assert roc.negatives.tolist() == [0, 0, 1, 1, 2]
    assert best_threshold(roc, "accuracy") == pytest.approx(0.3)  # right: 2, 3, 3, 4, 3 of 5
    assert best_threshold(roc, "f1") == pytest.approx(0.3)  # 0, 2/4, 4/6, 6/7, 6/8
    assert best_threshold(roc, "eer") == pytest.approx(0.55)  # gaps 1, 2/3, 1/6, 1/2, 1


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([1, 0, 1, 0], 0.7),  # right: 2, 3, 2, 3, 2 of 4; of equally good thresholds the highest is chosen
        ([0, 1, 0, 1], 0.5),  # right: 2 (nothing), 1, 2 (between 0.6 and 0.4), 1, 2 (all); not one of the ends
    ],
)
def test_of_equally_good_thresholds_the_highest_between_scores_is_chosen(labels: list[int], expected: float) -> None:
    assert best_threshold(roc_curve([0.8, 0.6, 0.4, 0.2], labels), "accuracy") == pytest.approx(expected)


def test_accepting_all_or_nothing_can_be_best() -> None:
    # One positive, below all negatives: accepting nothing has 3 of 4 right, thresholds in between at most 2.
    scores, labels = [0.8, 0.6, 0.4, 0.2], [0, 0, 0, 1]
    threshold = best_threshold(roc_curve(scores, labels), "accuracy")
    assert 0.8 < threshold < 0.8 + 1e-15
    assert judge(scores, labels, threshold)[0] == 3 / 4
    # With reversed labels accepting all has 3 of 4.
    threshold = best_threshold(roc_curve(scores, [0, 1, 1, 1]), "accuracy")
    assert threshold == 0.2
    assert judge(scores, [0, 1, 1, 1], threshold)[0] == 3 / 4


def test_a_threshold_above_0_is_not_subnormal() -> None:
    scores, labels = [0.0, 0.0, -0.5], [0, 0, 1]
    torch.set_flush_denormal(True)
    try:
        threshold = best_threshold(roc_curve(scores, labels), "accuracy")
        assert judge(scores, labels, threshold)[0] == 2 / 3
    finally:
        torch.set_flush_denormal(False)
    assert threshold == sys.float_info.min


def test_equal_scores_are_all_accepted_or_all_rejected() -> None:
    assert best_threshold(roc_curve([0.5] * 5, [1, 1, 1, 0, 0]), "accuracy") == 0.5
    assert best_threshold(roc_curve([0.5] * 5, [1, 1, 0, 0, 0]), "accuracy") > 0.5
    assert area_under(roc_curve([0.5] * 5, [1, 1, 0, 0, 0])) == 0.5
    assert equal_error_rate(roc_curve([0.5] * 5, [1, 1, 0, 0, 0])) == 0.5


def test_between_neighbouring_floats_the_threshold_separates_them() -> None:
    low = 0.5
    high = math.nextafter(low, 1)
    threshold = best_threshold(roc_curve([low, high], [0, 1]), "accuracy")
    assert low < threshold <= high


@pytest.mark.parametrize(("criterion", "seed"), list(product(CRITERIA, range(20))))
def test_no_threshold_is_better(criterion: str, seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.integers(0, 8, 12) / 8  # with ties
    labels = np.append(generator.integers(0, 2, 10), [0, 1])

    def quality(threshold: float) -> float:
        accepted = scores >= threshold
        if criterion == "eer":
            return -abs(float(accepted[labels == 0].mean()) - float((~accepted[labels == 1]).mean()))
        return getattr(decision_quality(accepted, labels == 1), criterion)

    result = best_threshold(roc_curve(scores, labels), criterion)
    assert quality(result) == pytest.approx(max(quality(t) for t in [*(np.arange(9) / 8), 2.0]), abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_equals_sentence_transformers_where_scores_are_distinct(seed: int) -> None:
    package = pytest.importorskip("sentence_transformers.evaluation")
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 2, 60)
    scores = generator.normal(labels, 1.0)
    peer = package.BinaryClassificationEvaluator
    _, by_accuracy = peer.find_best_acc_and_threshold(scores, labels, True)
    *_, by_f1 = peer.find_best_f1_and_threshold(scores, labels, True)
    roc = roc_curve(scores, labels)
    assert best_threshold(roc, "accuracy") == pytest.approx(by_accuracy, abs=1e-12)
    assert best_threshold(roc, "f1") == pytest.approx(by_f1, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_auc_is_the_share_of_pairs_in_the_right_order(seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores, labels = generator.integers(0, 6, 40) / 6, np.append(generator.integers(0, 2, 38), [0, 1])
    wins = [(p > n) + 0.5 * (p == n) for p in scores[labels == 1] for n in scores[labels == 0]]
    roc = roc_curve(scores, labels)
    assert area_under(roc) == pytest.approx(float(np.mean(wins)), abs=1e-12)
    assert area_under(roc) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)


def test_accuracy_and_f1_by_hand() -> None:
    accepted, labels = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert decision_quality(accepted, labels) == (0.5, 0.5)
    nothing = np.zeros(2, dtype=bool)
    accuracy, f1 = decision_quality(nothing, nothing)
    assert accuracy == 1
    assert math.isnan(f1)


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([0.1, 0.2], [1, 1], "expected pairs of both classes, found 2 positive and 0 negative"),
        ([0.1, 0.2], [0, 0], "expected pairs of both classes, found 0 positive and 2 negative"),
        ([], [], "expected pairs of both classes, found 0 positive and 0 negative"),
        ([0.1, math.nan], [0, 1], "1 of 2 scores are NaN"),
        ([0.1, 0.2], [0], r"expected a label for each score, found \(1,\) labels for \(2,\) scores"),
    ],
)
def test_invalid_scores_or_labels_are_errors(scores: list[float], labels: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        roc_curve(scores, labels)


def test_the_error_of_an_unknown_criterion_names_the_choices() -> None:
    with pytest.raises(ValueError, match="criterion 'auc': expected one of accuracy, f1, eer"):
        best_threshold(roc_curve([0.1, 0.2], [0, 1]), "auc")
