"""Agreement of annotators: Krippendorff's own worked example, and small cases by hand."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from xsent.evaluation.statistics.agreement import (
    agreement_table,
    alpha,
    nominal,
    ordinal,
    span_f1,
    spans,
    word_alpha,
    word_f1,
)

# Four observers, twelve units, values 1 to 5, missing ones as 0 (Krippendorff 2011, section C).
RELIABILITY = """
1 2 3 3 2 1 4 1 2 0 0 0
1 2 3 3 2 2 4 1 2 5 0 3
0 3 3 3 2 3 4 2 2 5 1 0
1 2 3 3 2 4 4 1 2 5 1 0
"""


def counts() -> np.ndarray:
    ratings = np.array([line.split() for line in RELIABILITY.strip().splitlines()], dtype=int)
    return np.array([np.bincount(unit, minlength=6)[1:] for unit in ratings.T])


def test_alpha_of_krippendorffs_example_is_his() -> None:
    # By hand, nominal: the last unit has one value and is left out, 40 values remain. Units 2, 6 and 8 disagree:
    # 6/3 + 12/3 + 6/3 = 8 against (40 * 39 - (9*8 + 13*12 + 10*9 + 5*4 + 3*2)) / 39 = 1216 / 39.
    assert alpha(counts(), nominal) == pytest.approx(1 - 8 / (1216 / 39), rel=1e-12)
    assert round(alpha(counts(), nominal), 3) == 0.743
    assert round(alpha(counts(), ordinal), 3) == 0.815


def test_alpha_of_full_agreement_of_disagreement_and_without_any_of_both() -> None:
    assert alpha([[3, 0], [0, 3]], nominal) == 1
    # Two units, each once 0 and once 1: 2/1 + 2/1 = 4 against (4 * 3 - 2 * 2) / 3 = 8/3.
    assert alpha([[1, 1], [1, 1]], nominal) == pytest.approx(1 - 4 / (8 / 3))
    # Equal values, or single annotators.
    assert math.isnan(alpha([[2, 0], [2, 0]], nominal))
    assert math.isnan(alpha([[1, 0], [0, 1]], nominal))


def test_ordinal_alpha_depends_on_the_distance_of_values() -> None:
    near, far = [[1, 1, 0], [0, 0, 2], [2, 0, 0], [0, 2, 0]], [[1, 0, 1], [0, 0, 2], [2, 0, 0], [0, 2, 0]]
    assert alpha(near, ordinal) > alpha(far, ordinal)


def test_alpha_of_words_is_that_of_highlighted_or_not() -> None:
    assert word_alpha([0, 3, 1], 3) == alpha([[3, 0], [0, 3], [2, 1]], nominal)


class Highlights(NamedTuple):
    pair: str
    annotator: str
    level: int
    source: tuple[int, ...]
    target: tuple[int, ...]


def highlights(annotator: str, source: str, target: str = "0", *, pair: str = "1", level: int = 1) -> Highlights:
    return Highlights(pair, annotator, level, tuple(map(int, source)), tuple(map(int, target)))


def test_spans_are_runs_of_one_side() -> None:
    assert spans(highlights("a", "0110111", "1")) == [{(0, 1), (0, 2)}, {(0, 4), (0, 5), (0, 6)}, {(1, 0)}]


def test_spans_match_if_they_share_more_than_half_of_the_union() -> None:
    # 2 of 4 words are half, 3 of 5 are more; spans of different sides never match.
    assert span_f1(highlights("a", "1111"), highlights("b", "0110")) == 0
    assert span_f1(highlights("a", "11110"), highlights("b", "01111")) == 1
    assert span_f1(highlights("a", "11", "00"), highlights("b", "00", "11")) == 0


def test_span_f1_counts_the_spans_of_both() -> None:
    # One of two spans matches the only span of the second annotator: 2 * 1 / (2 + 1).
    row, second = highlights("a", "110", "1"), highlights("b", "110", "0")
    assert span_f1(row, second) == span_f1(second, row) == pytest.approx(2 / 3)


def test_word_f1_pools_both_sides() -> None:
    # Two words in common, 3 + 4 highlighted.
    assert word_f1(highlights("a", "110", "10"), highlights("b", "111", "01")) == pytest.approx(2 * 2 / 7)


def test_f1_is_none_if_neither_highlighted_anything() -> None:
    neither = highlights("a", "00"), highlights("b", "00")
    assert span_f1(*neither) is word_f1(*neither) is None


def test_the_table_averages_over_pairs_and_then_over_annotators() -> None:
    annotations = [
        highlights("a", "10", pair="1"),
        highlights("b", "10", pair="1"),
        highlights("c", "01", pair="1"),
        highlights("a", "11", pair="2", level=2),
        highlights("b", "10", pair="2", level=2),
        highlights("a", "00", pair="3", level=0),
        highlights("b", "00", pair="3", level=0),
    ]
    result = agreement_table(annotations)
    # a and b: pair 1 agrees, pair 2 shares half of the span (no hit) and has word F1 2 * 1 / 3, pair 3 has nothing;
    # each of them and c: pair 1 alone, where they share nothing.
    assert result["span_f1"] == pytest.approx(100 * (0.5 + 0 + 0) / 3)
    assert result["word_f1"] == pytest.approx(100 * ((1 + 2 / 3) / 2) / 3)
    assert result["word_f1_sd"] == pytest.approx(100 * (5 / 6) / math.sqrt(3))  # of 5/6, 0, 0
    assert result["alpha_nominal"] == result["alpha_ordinal"] == 1


def test_a_table_of_two_annotators_has_no_deviation() -> None:
    result = agreement_table([highlights("a", "10", level=0), highlights("b", "10", level=1)])
    assert result["span_f1"] == 100
    assert math.isnan(result["span_f1_sd"])
    assert result["alpha_nominal"] == 0  # one unit: observed and expected disagreement are equal
