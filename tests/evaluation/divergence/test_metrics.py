"""Divergence metrics of sentences, words and percentages: reference numbers and cases by hand."""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xsent.evaluation.divergence.metrics import (
    PercentRule,
    calibrate,
    ranking_metrics,
    rates,
    sentence_metrics,
    weighted,
)
from xsent.evaluation.divergence.pairs import coin_metrics, highlight_levels, percent_divergent, word_metrics


@pytest.fixture(scope="module")
def release(fixtures_dir: Path) -> dict[str, Any]:
    return json.loads((fixtures_dir / "divergent_mbert.json").read_text())


def percent(share: float) -> Any:
    return pytest.approx(100 * share, abs=1e-7)  # the fixtures have ten digits


# ---- against the reference


NAMES = {"P": "precision", "R": "recall", "F1": "f1"}
CLASSES = {"+": "_equivalent", "-": "_divergent", "": ""}


def test_the_sentence_table_is_that_of_scikit_learn(release: dict[str, Any]) -> None:
    table = release["sentence_table"]
    equivalent = np.array(table["gold(0=equivalent,1=divergent)"]) == 0
    # One score is exactly 0, which is divergent.
    result = sentence_metrics(np.array(table["scores_F"]) > 0, equivalent)
    expected = {NAMES[m] + end: percent(table["numpy"][m + sign]) for m in NAMES for sign, end in CLASSES.items()}
    assert result == expected


@pytest.mark.parametrize("level", ["union", "pairwise_union", "intersection"])
def test_the_word_table_is_that_of_the_reference(release: dict[str, Any], level: str) -> None:
    table = release["token_table"]
    predicted = np.array(table["predicted_DIV"]) == 1
    result = word_metrics(predicted, np.array(table["annotators_highlighting"]), highlight_levels(3)[level])
    of_level = table["table"][level]
    assert result == {f"f1_{m.lower()}": percent(of_level[f"F1-{m}"]) for m in ("DIV", "EQ", "Mul")}


def test_coin_metrics_equal_the_reference(release: dict[str, Any]) -> None:
    # Words of the 418 pairs with some meaning difference, highlighted by 0, 1, 2 and 3 (data/README of the release).
    highlighted = np.repeat([0, 1, 2, 3], [15147, 4464, 2987, 3491])
    for level, least in highlight_levels(3).items():
        expected = release["random_baseline_expected"][level]
        result = coin_metrics(highlighted, least)
        assert result == {f"f1_{m.lower()}": percent(expected[f"F1-{m}"]) for m in ("DIV", "EQ", "Mul")}


def test_random_predictions_are_near_their_expectation() -> None:
    rng = np.random.default_rng(0)
    highlighted = rng.integers(0, 4, 200_000)
    for least in (1, 2, 3):
        thrown = word_metrics(rng.random(len(highlighted)) < 0.5, highlighted, least)
        assert thrown == pytest.approx(coin_metrics(highlighted, least), abs=0.5)


def test_the_percentage_rule_gives_the_table_of_the_reference(release: dict[str, Any]) -> None:
    case = release["div_percent_threshold"]
    rule = PercentRule(above="UN", below="SD", percents=[10, 20, 30, 40], strict=True)
    result = rule(np.array(case["div_percent"]), case["gold"])
    for threshold, row in case["table"].items():
        for kind, label in (("above", "UN"), ("below", "SD")):
            values = [result[f"div{threshold}_{kind}_{metric}"] for metric in ("precision", "recall", "f1")]
            assert values == [percent(share) for share in row[label]]
        assert result[f"div{threshold}_f1"] == percent(row["weighted_F1"])


# ---- by hand


def test_a_pair_at_the_threshold_depends_on_strict() -> None:
    shares, kinds = np.array([10.0, 10.0]), ["a", "b"]
    strict = PercentRule(above="a", below="b", percents=[10], strict=True)(shares, kinds)
    lax = PercentRule(above="a", below="b", percents=[10], strict=False)(shares, kinds)
    assert (strict["div10_above_recall"], strict["div10_below_recall"]) == (0, 100)
    assert (lax["div10_above_recall"], lax["div10_below_recall"]) == (100, 0)


def test_the_percentage_pools_both_sides_and_is_0_without_words() -> None:
    empty = np.array([], dtype=bool)
    sides = (np.array([True]), np.array([False, False, False]))
    assert percent_divergent([sides, (empty, empty)]).tolist() == [25, 0]


def test_a_class_without_hits_has_0_and_an_absent_class_nan() -> None:
    none, all_ = np.zeros(3, dtype=bool), np.ones(3, dtype=bool)
    assert rates(none, all_) == (0, 0, 0)
    assert all(math.isnan(value) for value in rates(none, none))
    assert weighted(all_, all_) == (100, 100, 100)  # an absent class has weight 0


def test_one_annotator_has_one_level() -> None:
    assert highlight_levels(1) == {"union": 1}
    assert highlight_levels(3) == {"union": 1, "pairwise_union": 2, "intersection": 3}


# ---- thresholds


def test_the_calibrated_threshold_is_halfway_between_scores() -> None:
    threshold, f1 = calibrate(np.array([3.0, 2.0, 1.0, 0.0]), np.array([True, True, False, False]))
    assert (threshold, f1) == (1.5, 100)


def test_no_threshold_is_better_than_the_calibrated_one() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        scores = rng.integers(-3, 4, 12).astype(float)  # with ties
        equivalent = rng.random(12) < 0.4
        if equivalent.all() or not equivalent.any():
            continue
        result = calibrate(scores, equivalent)
        assert result.f1 == pytest.approx(weighted(scores > result.threshold, equivalent).f1)
        every = [weighted(scores > middle, equivalent).f1 for middle in np.arange(-4.5, 4.5)]
        assert result.f1 == pytest.approx(max(every))


def test_balanced_equals_repeating_the_rarer_pairs() -> None:
    rng = np.random.default_rng(2)
    scores, equivalent = rng.normal(size=15), np.arange(15) < 3
    repeated = np.concatenate([np.tile(scores[:3], 4), scores[3:]])  # 12 of each
    result = calibrate(scores, equivalent, balanced=True)
    assert result == pytest.approx(calibrate(repeated, np.arange(24) < 12))
    assert result.threshold != calibrate(scores, equivalent).threshold


def test_between_neighbouring_floats_the_threshold_separates_them() -> None:
    for low, high in itertools.pairwise([-1.0, math.nextafter(-1.0, 0), 0.0, 1.0, math.nextafter(1.0, 2)]):
        result = calibrate(np.array([high, low]), np.array([True, False]))
        assert low <= result.threshold < high


def test_classifying_all_alike_can_be_best() -> None:
    # The only divergent pair has the highest score: accepting nothing is best.
    scores, equivalent = np.array([4.0, 3.0, 2.0, 1.0]), np.array([False, True, True, True])
    assert (scores > calibrate(scores, equivalent).threshold).all()
    # The same with the only equivalent pair at the lowest score.
    assert not (scores > calibrate(scores, np.array([False, False, False, True])).threshold).any()


def test_ranking_metrics_by_hand() -> None:
    figures = ranking_metrics(np.array([3.0, 1.0, 2.0, 0.0]), np.array([True, True, False, False]))
    # Three of four (equivalent, divergent) pairs are in order. The best threshold, below 3 or 1, has one error:
    # equivalent F1 2/3, divergent 4/5, both with weight 1/2.
    assert figures == {"roc_auc": 75, "best_f1": pytest.approx(100 * (2 / 3 + 4 / 5) / 2)}
    assert all(math.isnan(value) for value in ranking_metrics(np.array([1.0]), np.array([True])).values())
