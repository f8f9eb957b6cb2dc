from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random

import pytest

from xsent.text.noise.characters import butter_fingers, leet_letters, perturb_whitespace

TRANSFORMATIONS: dict[str, Callable[[str, Random], str]] = {
    "fing": partial(butter_fingers, probability=0.05),
    "leet": partial(leet_letters, share=0.05),
    "spac": partial(perturb_whitespace, remove=0.1, add=0.05),
}


@pytest.mark.parametrize(("probability", "rate"), [(0.025, 0.03), (0.05, 0.06), (0.075, 0.08), (0.2, 0.21)])
def test_letters_are_hit_at_the_released_rate_and_may_hit_themselves(probability: float, rate: float) -> None:
    # A typo on q is q itself once in 8 times, one on e once in 14: the lengths of the lists of keys.
    for letter, keys in (("q", 8), ("e", 14)):
        size = 200_000
        typed = butter_fingers(letter * size, Random(1), probability=probability)
        expected = rate * (1 - 1 / keys)
        deviation = (expected * (1 - expected) / size) ** 0.5
        assert abs(sum(key != letter for key in typed) / size - expected) < 5 * deviation


def test_neighbours_are_drawn_evenly() -> None:
    drawn = Counter(butter_fingers("q" * 80_000, Random(2), probability=0.99))
    # int(99) is 99: every letter is hit. 10,000 of each of "qwasedzx"; five standard deviations are 470.
    assert drawn.keys() == set("qwasedzx")
    assert all(abs(count - 10_000) < 470 for count in drawn.values())


def test_typos_keep_the_case_and_change_letters_only() -> None:
    typed = butter_fingers("QUERTY 123, éß! " * 500, Random(3), probability=1.0)
    assert len(typed) == len("QUERTY 123, éß! " * 500)
    assert typed[6:16] == " 123, éß! "
    assert typed == typed.replace("ß", "§").upper().replace("§", "ß").replace("É", "é")


def test_at_most_the_share_of_the_characters_turns_to_leet() -> None:
    sentence = "some of these letters have a digit " * 20
    changed = sum(a != b for a, b in zip(sentence, leet_letters(sentence, Random(0), share=0.05), strict=True))
    # 35 draws among some 300 places: with replacement a few fall together.
    assert 25 <= changed <= 35
    assert leet_letters("eee", Random(0), share=0.3) == "eee"  # int(0.9) is 0
    assert leet_letters("N!", Random(0), share=1.0) in ("11!", "N1", "111")
    # Theta, epsilon and omega, as in the reference; of the capitals theta alone.
    assert "".join(leet_letters(letter, Random(0), share=1) for letter in "ΘεωΕΩθαβγ") == "033ΕΩθαβγ"


def test_white_space_is_deleted_and_inserted_at_its_rates() -> None:
    sentence = "a " * 100_000
    written = perturb_whitespace(sentence, Random(0), remove=0.1, add=0.05)
    # Of 100,000 spaces 10,000 go (standard deviation 95), after 100,000 letters 5,000 come (69).
    added = sum(count - 1 for count in map(len, written.split("a")[1:]) if count == 2)
    assert written.count("a") == 100_000
    assert abs(written.count(" ") - 95_000) < 5 * 118
    assert 3_500 < added < 5_500
    assert perturb_whitespace("a b", Random(0), remove=1.0, add=0.0) == "ab"
    assert perturb_whitespace("ab", Random(0), remove=0.0, add=1.0) == "a b "
    assert perturb_whitespace(" ", Random(0), remove=1.0, add=0.0) == " "  # never empty
    assert perturb_whitespace("   ", Random(0), remove=1.0, add=1.0) == "   "


def test_rate_0_changes_nothing_except_the_released_typos() -> None:
    assert leet_letters("the end", Random(0), share=0.0) == "the end"
    assert perturb_whitespace("the end", Random(0), remove=0.0, add=0.0) == "the end"
    # One whole number of 100 is at most 0. 10,000 letters, 7 of 8 typos show: 87.5, standard deviation 9.3.
    assert 40 < sum(key != "q" for key in butter_fingers("q" * 10_000, Random(0), probability=0.0)) < 135


@pytest.mark.parametrize("name", TRANSFORMATIONS)
@pytest.mark.parametrize(
    "sentence", ["", "x", "é", "😀🎉👩‍👩‍👧", "مرحبا بالعالم", "你好，世界。", "one\u2028two", "a\tb", "İẞΩ"]
)
def test_any_text_gives_a_text_of_about_its_length(name: str, sentence: str) -> None:
    for seed in range(50):
        noisy = TRANSFORMATIONS[name](sentence, Random(seed))
        assert bool(noisy) == bool(sentence)
        assert len(sentence.replace(" ", "")) <= len(noisy.replace(" ", "")) + 1  # a tab or U+2028 may go
        assert len(noisy) <= 2 * len(sentence)


@pytest.mark.parametrize("sentence", ["😀🎉👩‍👩‍👧", "مرحبا بالعالم", "你好，世界。", "İẞΩ"])
def test_other_scripts_have_no_typos_and_no_leet(sentence: str) -> None:
    assert butter_fingers(sentence, Random(0), probability=1.0) == sentence
    assert leet_letters(sentence, Random(0), share=1.0) == sentence
