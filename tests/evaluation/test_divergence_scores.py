"""Figures of sentences, words and percentages: the reference's numbers, and cases by hand."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xsent.evaluation.divergence_scores import (
    PercentRule,
    calibrate,
    coin_figures,
    levels,
    percent_divergent,
    ranking_figures,
    rates,
    sentence_figures,
    weighted,
    word_figures,
)


@pytest.fixture(scope="module")
def release(fixtures_dir: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((fixtures_dir / "divergent_mbert.json").read_text())
    return found


def percent(share: float) -> Any:
    return pytest.approx(100 * share, abs=1e-7)  # the fixtures have ten digits


# ---- against the reference


NAMES = {"P": "precision", "R": "recall", "F1": "f1"}
CLASSES = {"+": "_equivalent", "-": "_divergent", "": ""}


def test_the_sentence_table_is_that_of_scikit_learn(release: dict[str, Any]) -> None:
    table = release["sentence_table"]
    equivalent = np.array(table["gold(0=equivalent,1=divergent)"]) == 0
    # One score is exactly 0, and it is divergent.
    found = sentence_figures(np.array(table["scores_F"]) > 0, equivalent)
    expected = {NAMES[m] + end: percent(table["numpy"][m + sign]) for m in NAMES for sign, end in CLASSES.items()}
    assert found == expected


@pytest.mark.parametrize("level", ["union", "pairwise_union", "intersection"])
def test_the_word_table_is_that_of_the_reference(release: dict[str, Any], level: str) -> None:
    table = release["token_table"]
    said = np.array(table["predicted_DIV"]) == 1
    found = word_figures(said, np.array(table["annotators_highlighting"]), levels(3)[level])
    of_level = table["table"][level]
    assert found == {f"f1_{m.lower()}": percent(of_level[f"F1-{m}"]) for m in ("DIV", "EQ", "Mul")}


def test_a_fair_coin_can_expect_what_the_reference_derives(release: dict[str, Any]) -> None:
    # Words of the 418 pairs with some meaning difference, highlighted by 0, 1, 2 and 3 (data/README of the release).
    highlighted = np.repeat([0, 1, 2, 3], [15147, 4464, 2987, 3491])
    for level, least in levels(3).items():
        expected = release["random_baseline_expected"][level]
        found = coin_figures(highlighted, least)
        assert found == {f"f1_{m.lower()}": percent(expected[f"F1-{m}"]) for m in ("DIV", "EQ", "Mul")}


def test_a_real_coin_comes_near_what_it_can_expect() -> None:
    rng = np.random.default_rng(0)
    highlighted = rng.integers(0, 4, 200_000)
    for least in (1, 2, 3):
        thrown = word_figures(rng.random(len(highlighted)) < 0.5, highlighted, least)
        assert thrown == pytest.approx(coin_figures(highlighted, least), abs=0.5)


def test_the_percentage_rule_gives_the_table_of_the_reference(release: dict[str, Any]) -> None:
    case = release["div_percent_threshold"]
    rule = PercentRule(above="UN", below="SD", percents=[10, 20, 30, 40], strict=True)
    found = rule(np.array(case["div_percent"]), np.array(case["gold"]) == "UN")
    for threshold, row in case["table"].items():
        for kind, label in (("above", "UN"), ("below", "SD")):
            values = [found[f"div{threshold}_{kind}_{metric}"] for metric in ("precision", "recall", "f1")]
            assert values == [percent(share) for share in row[label]]
        assert found[f"div{threshold}_f1"] == percent(row["weighted_F1"])


# ---- by hand


def test_at_the_very_percent_strictness_decides() -> None:
    shares, is_above = np.array([10.0, 10.0]), np.array([True, False])
    strict = PercentRule(above="a", below="b", percents=[10], strict=True)(shares, is_above)
    lax = PercentRule(above="a", below="b", percents=[10], strict=False)(shares, is_above)
    assert (strict["div10_above_recall"], strict["div10_below_recall"]) == (0, 100)
    assert (lax["div10_above_recall"], lax["div10_below_recall"]) == (100, 0)


def test_the_percentage_pools_both_sides_and_a_pair_without_words_has_none() -> None:
    assert percent_divergent([np.array([True]), np.array([False, False, False])]) == 25
    assert percent_divergent([np.array([], dtype=bool), np.array([], dtype=bool)]) == 0


def test_a_class_that_is_never_right_has_0_and_one_that_does_not_occur_has_none() -> None:
    none, all_ = np.zeros(3, dtype=bool), np.ones(3, dtype=bool)
    assert rates(none, all_) == (0, 0, 0)
    assert all(math.isnan(value) for value in rates(none, none))
    assert weighted(all_, all_) == (100, 100, 100)  # the class that does not occur has no weight


def test_one_annotator_has_one_level() -> None:
    assert levels(1) == {"union": 1}
    assert levels(3) == {"union": 1, "pairwise_union": 2, "intersection": 3}


# ---- thresholds


def test_the_calibrated_threshold_is_halfway_between_the_scores_it_parts() -> None:
    threshold, f1 = calibrate(np.array([3.0, 2.0, 1.0, 0.0]), np.array([True, True, False, False]))
    assert (threshold, f1) == (1.5, 100)


def test_no_threshold_is_better_than_the_calibrated_one() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        scores = rng.integers(-3, 4, 12).astype(float)  # with ties
        equivalent = rng.random(12) < 0.4
        if equivalent.all() or not equivalent.any():
            continue
        found = calibrate(scores, equivalent)
        assert found.f1 == pytest.approx(weighted(scores > found.threshold, equivalent).f1)
        every = [weighted(scores > middle, equivalent).f1 for middle in np.arange(-4.5, 4.5)]
        assert found.f1 == pytest.approx(max(every))


def test_balanced_classes_weigh_as_if_the_rarer_pairs_were_repeated() -> None:
    rng = np.random.default_rng(2)
    scores, equivalent = rng.normal(size=15), np.arange(15) < 3
    repeated = np.concatenate([np.tile(scores[:3], 4), scores[3:]])  # 12 of each
    found = calibrate(scores, equivalent, balanced=True)
    assert found == pytest.approx(calibrate(repeated, np.arange(24) < 12))
    assert found.threshold != calibrate(scores, equivalent).threshold


def test_between_neighbouring_floats_the_threshold_still_parts_them() -> None:
    for low, high in itertools.pairwise([-1.0, math.nextafter(-1.0, 0), 0.0, 1.0, math.nextafter(1.0, 2)]):
        found = calibrate(np.array([high, low]), np.array([True, False]))
        assert low <= found.threshold < high


def test_calling_all_or_none_equivalent_can_be_best() -> None:
    # The only divergent pair is on top: to say it of all is better than any cut that leaves it above.
    scores, equivalent = np.array([4.0, 3.0, 2.0, 1.0]), np.array([False, True, True, True])
    assert (scores > calibrate(scores, equivalent).threshold).all()
    # Likewise when the only equivalent pair is at the bottom.
    assert not (scores > calibrate(scores, np.array([False, False, False, True])).threshold).any()


def test_the_area_and_the_best_f1_need_no_threshold() -> None:
    figures = ranking_figures(np.array([3.0, 1.0, 2.0, 0.0]), np.array([True, True, False, False]))
    # Of four (equivalent, divergent) pairs three are in order. The best cut, below 3 or below 1, is wrong once:
    # equivalent F1 2/3, divergent 4/5, both with weight 1/2.
    assert figures == {"roc_auc": 75, "best_f1": pytest.approx(100 * (2 / 3 + 4 / 5) / 2)}
    assert all(math.isnan(value) for value in ranking_figures(np.array([1.0]), np.array([True])).values())
