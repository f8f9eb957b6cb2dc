"""Interval of a difference by hand and by the formula of its standard error; statistics as scipy and scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, spearmanr
from sklearn.metrics import f1_score, precision_score, roc_auc_score

from xsent.evaluation.statistics.bootstrap import paired_bootstrap
from xsent.evaluation.statistics.items import Items, mean_over, pooled
from xsent.evaluation.statistics.measures import STATISTICS
from xsent.evaluation.statistics.paired_test import mcnemar, sign_test
from xsent.evaluation.statistics.thresholds import equal_error_rate, roc_curve

RIGHT, WRONG = Items.percentage([True] * 50), Items.percentage([False] * 50)


@pytest.mark.parametrize(
    ("before", "after", "interval"),
    [
        ([RIGHT, WRONG], [RIGHT, WRONG], (0, 0)),  # the same answers: no doubt
        ([WRONG], [RIGHT], (100, 100)),
        ([RIGHT, WRONG], [WRONG, WRONG], (-50, -50)),  # the mean of two sets
    ],
)
def test_a_change_that_all_items_share_has_no_spread(
    before: list[Items], after: list[Items], interval: tuple[float, float]
) -> None:
    assert paired_bootstrap(mean_over(before), mean_over(after)) == pytest.approx(interval)


def test_the_width_is_that_of_the_standard_error_of_paired_differences() -> None:
    # 100 of 1,000 items become right, none wrong: +10, standard error 100 sqrt(0.1 * 0.9 / 1000).
    before, after = Items.percentage([False] * 1000), Items.percentage([True] * 100 + [False] * 900)
    error = 100 * math.sqrt(0.1 * 0.9 / 1000)
    assert paired_bootstrap(before, after) == pytest.approx((10 - 1.96 * error, 10 + 1.96 * error), abs=0.2)


def test_a_set_twice_is_no_more_evidence_than_once() -> None:
    before, after = Items.percentage([False] * 200), Items.percentage([True] * 30 + [False] * 170)
    once = paired_bootstrap(before, after)
    assert paired_bootstrap(mean_over([before] * 2), mean_over([after] * 2)) == pytest.approx(once)
    assert mcnemar(mean_over([before] * 2), mean_over([after] * 2)) == mcnemar(before, after)


def test_sets_of_different_sizes_count_by_set_or_by_item() -> None:
    before = [Items.percentage([False] * 10), Items.percentage([False] * 30)]
    after = [Items.percentage([True] * 10), Items.percentage([False] * 30)]
    assert paired_bootstrap(mean_over(before), mean_over(after)) == pytest.approx((50, 50))
    assert paired_bootstrap(pooled(before), pooled(after)) == pytest.approx((25, 25))
    assert (mean_over(after).value(), pooled(after).value()) == (50, 25)


def test_other_items_are_refused() -> None:
    with pytest.raises(ValueError, match=r"outcomes of the same items, found \[50\] and \[50, 50\]"):
        paired_bootstrap(RIGHT, pooled([RIGHT, WRONG]))
    with pytest.raises(ValueError, match="expected one statistic"):
        paired_bootstrap(RIGHT, RIGHT._replace(statistic="percentile_5"))
    with pytest.raises(ValueError, match="right or wrong"):
        mcnemar(Items.of("mean", [0.5]), Items.of("mean", [1.0]))


def test_statistics_of_all_items_are_those_of_scipy_and_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    scores, gold = rng.integers(20, size=200) / 20, rng.integers(6, size=200)  # with ties
    labels, predicted = gold > 2, scores > 0.4
    truth = {
        "spearman": ((scores, gold), spearmanr(scores, gold).statistic),
        "pearson": ((scores, gold), np.corrcoef(scores, gold)[0, 1]),
        "percentile_5": ((scores,), np.percentile(scores, 5)),
        "roc_auc": ((scores, labels), roc_auc_score(labels, scores)),
        "eer": ((scores, labels), equal_error_rate(roc_curve(scores, labels))),
        "weighted_f1": ((predicted, labels), f1_score(labels, predicted, average="weighted")),
        "weighted_precision": ((predicted, labels), precision_score(labels, predicted, average="weighted")),
        "ratio": ((2 * (predicted & labels), 0 + predicted + labels), f1_score(labels, predicted)),
        "r2": (([1.0, 2.0], [4.0, 8.0]), 0.75),
        "mean": ((scores,), scores.mean()),
    }
    assert truth.keys() == STATISTICS.keys()
    for name, (columns, value) in truth.items():
        assert Items.of(name, *columns).value() == pytest.approx(value), name


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=9))
def test_a_weight_counts_an_item_that_many_times(rows: list[tuple[int, int, int]]) -> None:
    scores, labels, counts = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    if not counts.any():
        return
    columns = {"mean": (scores,), "percentile_5": (scores,), "weighted_f1": (scores > 2, labels)}
    for name in STATISTICS:
        of_item = [np.asarray(column, dtype=np.float64) for column in columns.get(name, (scores, labels))]
        if name in {"roc_auc", "eer"} and not 0 < (labels * counts).sum() < counts.sum():
            continue
        repeated = [np.repeat(column, counts.astype(int)) for column in of_item]
        weighted = STATISTICS[name](counts[None], *of_item)[0]
        expected = STATISTICS[name](np.ones((1, len(repeated[0]))), *repeated)[0]
        assert weighted == pytest.approx(expected, nan_ok=True), name


def test_an_interval_of_a_correlation_is_that_of_fisher() -> None:
    # Pairs with correlation 0.6 against unrelated ones; z = atanh(r) has standard error 1 / sqrt(N - 3).
    rng = np.random.default_rng(2)
    gold = rng.normal(size=2000)
    related = 0.6 * gold + 0.8 * rng.normal(size=2000)
    nothing = Items.of("pearson", gold, gold)  # correlation 1 in every sample
    low, high = paired_bootstrap(nothing, Items.of("pearson", related, gold))
    z = math.atanh(np.corrcoef(related, gold)[0, 1])
    fisher = [math.tanh(z + sign * 1.96 / math.sqrt(1997)) - 1 for sign in (-1, 1)]
    assert (low, high) == pytest.approx(fisher, abs=0.005)


def test_mcnemar_is_the_binomial_test_of_items_that_changed() -> None:
    # By hand: 8 items become right, 2 wrong: 2 * (1 + 10 + 45) / 2^10.
    before = Items.percentage([0] * 8 + [1] * 2 + [1] * 90)
    after = Items.percentage([1] * 8 + [0] * 2 + [1] * 90)
    assert mcnemar(before, after) == pytest.approx(2 * 56 / 1024)
    assert mcnemar(before, before) == 1
    for gained, lost in ((13, 1), (40, 60), (5, 5), (0, 6)):
        assert sign_test(gained, lost) == pytest.approx(binomtest(gained, gained + lost).pvalue)


def test_an_item_of_both_directions_counts_once_by_its_net_change() -> None:
    before = mean_over([Items.percentage([0, 0, 1, 0]), Items.percentage([0, 0, 1, 1])])
    after = mean_over([Items.percentage([1, 1, 0, 1]), Items.percentage([1, 0, 1, 0])])
    # Net changes +2, +1, -1 and 0: two gained, one lost.
    assert mcnemar(before, after) == sign_test(2, 1) == 1
