import math
from typing import Any

import pytest

from xsent.text.seed_selection import NoiseFilter, RejectReason, numeric_share, rank_rows

ENGLISH = [f"e{number}" for number in range(25)]
FRENCH = [f"f{number}" for number in range(25)]


def paper(**changed: Any) -> NoiseFilter:
    values: dict[str, Any] = {"min_words": 10, "max_words": 50, "min_distance": 20, "max_numeric_share": 0.15}
    return NoiseFilter(**(values | changed))


@pytest.mark.parametrize(
    ("words", "reason"), [(10, RejectReason.SHORT), (11, None), (49, None), (50, RejectReason.LONG)]
)
def test_both_sides_are_strictly_between_10_and_50_words(words: int, reason: RejectReason | None) -> None:
    side = [f"w{number}" for number in range(words)]
    assert paper().reject(side, FRENCH) == reason
    assert paper().reject(ENGLISH, side) == reason


@pytest.mark.parametrize(("copied", "reason"), [(5, None), (6, RejectReason.ALIKE), (25, RejectReason.ALIKE)])
def test_the_word_edit_distance_is_at_least_20(copied: int, reason: RejectReason | None) -> None:
    # Copied words in the same position need no edit.
    assert paper().reject(ENGLISH, ENGLISH[:copied] + FRENCH[copied:]) == reason


def test_a_pair_shorter_than_the_minimum_distance_never_passes() -> None:
    assert paper().reject(ENGLISH[:19], FRENCH[:19]) is RejectReason.ALIKE
    assert paper().reject(ENGLISH[:20], FRENCH[:20]) is None


@pytest.mark.parametrize(("numbers", "reason"), [(2, None), (3, RejectReason.NUMERIC)])
def test_fewer_than_15_in_100_words_of_the_source_are_numbers(numbers: int, reason: RejectReason | None) -> None:
    words = ["1998,"] * numbers + ENGLISH[: 20 - numbers]  # 3 of 20 are 15 %
    assert paper().reject(words, FRENCH) == reason
    assert paper().reject(FRENCH, words) is None
    assert paper(max_numeric_share=None).reject(words, FRENCH) is None


def test_a_number_has_digits_and_no_letter() -> None:
    assert numeric_share(["1998,", "3-4", "50%", "1st", "B2", "%", "two", "½x"]) == 3 / 8


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"min_words": 50}, "expected min_words < max_words - 1, found 50, 50"),
        ({"max_numeric_share": 15}, "filter.max_numeric_share=15: expected above 0, at most 1, or null"),
    ],
)
def test_a_filter_that_no_pair_passes_is_refused(changed: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paper(**changed)


def test_rows_are_ranked_by_score_and_a_nan_score_is_an_error() -> None:
    assert rank_rows([1.0, 1.2, 0.5, 1.2], 3).tolist() == [1, 3, 0]
    assert rank_rows([1.0, 1.2, 0.5], None).tolist() == [1, 0, 2]
    assert rank_rows([0.0, 0.0], 5).tolist() == [0, 1]  # ties keep their order
    with pytest.raises(ValueError, match="found none in row 1"):
        rank_rows([1.0, math.nan], 1)
