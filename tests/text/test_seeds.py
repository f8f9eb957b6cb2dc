from __future__ import annotations

import math
import random
from typing import Any

import pytest

from xsent.text.seeds import Noise, NoiseFilter, best, differ, numeric_share, word_distance

ENGLISH = [f"e{number}" for number in range(25)]
FRENCH = [f"f{number}" for number in range(25)]


def paper(**changed: Any) -> NoiseFilter:
    values: dict[str, Any] = {"min_words": 10, "max_words": 50, "min_distance": 20, "max_numeric_share": 0.15}
    return NoiseFilter(**(values | changed))


def test_a_clean_pair_is_kept() -> None:
    assert paper().noise(ENGLISH, FRENCH) is None


@pytest.mark.parametrize(("words", "reason"), [(10, Noise.SHORT), (11, None), (49, None), (50, Noise.LONG)])
def test_both_sides_are_strictly_between_10_and_50_words(words: int, reason: Noise | None) -> None:
    side = [f"w{number}" for number in range(words)]
    assert paper().noise(side, FRENCH) == reason
    assert paper().noise(ENGLISH, side) == reason


@pytest.mark.parametrize(("copied", "reason"), [(5, None), (6, Noise.ALIKE), (25, Noise.ALIKE)])
def test_20_words_have_to_differ(copied: int, reason: Noise | None) -> None:
    # Of 25 words in their places, the copied ones need no edit.
    assert paper().noise(ENGLISH, ENGLISH[:copied] + FRENCH[copied:]) == reason


def test_a_pair_of_fewer_words_than_have_to_differ_never_passes() -> None:
    assert paper().noise(ENGLISH[:19], FRENCH[:19]) is Noise.ALIKE
    assert paper().noise(ENGLISH[:20], FRENCH[:20]) is None


@pytest.mark.parametrize(("numbers", "reason"), [(2, None), (3, Noise.NUMERIC)])
def test_fewer_than_15_in_100_words_of_the_source_are_numbers(numbers: int, reason: Noise | None) -> None:
    words = ["1998,"] * numbers + ENGLISH[: 20 - numbers]  # 3 of 20 are 15 %
    assert paper().noise(words, FRENCH) == reason
    assert paper().noise(FRENCH, words) is None
    assert paper(max_numeric_share=None).noise(words, FRENCH) is None


def test_a_number_has_digits_and_no_letter() -> None:
    assert numeric_share(["1998,", "3-4", "50%", "1st", "B2", "%", "two", "½x"]) == 3 / 8


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("a b c", "a b c", 0), ("a b c", "", 3), ("a b c", "b c d", 2), ("a b c d", "a x c", 2), ("b a", "a b", 2)],
)
def test_the_distance_counts_replaced_added_and_removed_words(one: str, other: str, distance: int) -> None:
    assert word_distance(one.split(), other.split()) == distance
    assert word_distance(other.split(), one.split()) == distance


def test_the_bounds_never_change_the_answer() -> None:
    rng = random.Random(0)
    for _ in range(300):
        one, other = (rng.choices("abcdefgh", k=rng.randint(1, 12)) for _ in range(2))
        limit = rng.randint(0, 12)
        assert differ(one, other, limit) == (word_distance(one, other) >= limit)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"min_words": 50}, "expected room between min_words and max_words, found 50, 50"),
        ({"max_numeric_share": 15}, "filter.max_numeric_share=15: expected above 0, at most 1, or null"),
    ],
)
def test_a_filter_that_no_pair_passes_is_refused(changed: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        paper(**changed)


def test_the_best_come_first_and_equal_ones_in_their_own_order() -> None:
    assert best([1.0, 1.2, 0.5, 1.2], 3).tolist() == [1, 3, 0]
    assert best([1.0, 1.2, 0.5], None).tolist() == [1, 0, 2]
    assert best([0.0, 0.0], 5).tolist() == [0, 1]


def test_a_score_that_is_no_number_is_named() -> None:
    with pytest.raises(ValueError, match="found none in row 1"):
        best([1.0, math.nan], 1)
