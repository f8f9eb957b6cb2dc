"""``homo``, ``dysl``, ``spel`` and ``week``: matches, rates and draws."""

from __future__ import annotations

from random import Random

import pytest

from xsent.text.noise.lexicons import bundled
from xsent.text.noise.word_substitutions import (
    Confusions,
    misspell_words,
    swap_confused_words,
    swap_homophones,
    toggle_date_forms,
)


def test_spel_hits_a_word_more_in_a_hundred_than_it_says() -> None:
    changed = [
        misspell_words("the", Random(seed), probability=0.2, lexicon={"the": ("teh",)}) == "teh"
        for seed in range(20_000)
    ]
    assert sum(changed) / 20_000 == pytest.approx(0.21, abs=0.01)  # three standard errors: 0.009


def test_spel_finds_words_in_any_case_and_leaves_one_blank() -> None:
    assert (
        misspell_words(" THE  cat, ", Random(0), probability=1, lexicon={"the": ("teh",), "cat": ("kat",)})
        == "teh cat,"
    )


def test_week_of_the_bundled_lists_spells_september_right() -> None:
    assert toggle_date_forms("Sept. 5 and Tues.", Random(0), lexicon=bundled().week) == "September 5 and Tuesday"
    assert toggle_date_forms("September, May and Mondays", Random(0), lexicon=bundled().week) == "Sep., May and Mondays"
    assert toggle_date_forms("on monday", Random(0), lexicon=bundled().week) == "on monday"


def test_dysl_swaps_both_ways_and_the_pair_with_the_word_on_its_right_counts() -> None:
    lexicon = Confusions({"by": "buy", "bye": "by", "your": "you're"})
    assert swap_confused_words("By bye, buy!", Random(0), lexicon=lexicon) == "bye by, by!"
    assert swap_confused_words("your You're", Random(0), lexicon=lexicon) == "you're You're"


HOMOPHONES = {"their": ("there", "they're"), "a": ("ah",), "two": ("to",)}


def test_homo_replaces_listed_words_but_never_the_word_a() -> None:
    assert swap_homophones("Two, a x", Random(0), probability=1, lexicon=HOMOPHONES) == "to, a x"
    assert swap_homophones("Two, a x", Random(0), probability=0, lexicon=HOMOPHONES) == "Two, a x"
    homophones = {swap_homophones("their", Random(seed), probability=1, lexicon=HOMOPHONES) for seed in range(20)}
    assert homophones == {"there", "they're"}


def test_homo_draws_once_a_piece_and_once_more_for_a_replaced_one() -> None:
    rng, expected = Random(3), Random(3)
    swap_homophones("can't two x", rng, probability=1, lexicon=HOMOPHONES)  # "ca", "n't", "two", "x"
    for _ in range(3):
        expected.uniform(0, 1)
    expected.choice(("to",))
    expected.uniform(0, 1)
    assert rng.getstate() == expected.getstate()


def test_spel_makes_all_white_space_one_blank_in_any_script() -> None:
    # As in the reference, which splits and joins.
    assert (
        misspell_words("Привет,  мир!\t今日は", Random(0), probability=0, lexicon=bundled().spel)
        == "Привет, мир! 今日は"
    )


@pytest.mark.parametrize("sentence", ["Привет, мир!", "今日は晴れ。", "😀🎉", "x", ""])
def test_other_scripts_pass_unchanged(sentence: str) -> None:
    lists = bundled()
    assert swap_homophones(sentence, Random(0), probability=1, lexicon=lists.homo) == sentence
    assert swap_confused_words(sentence, Random(0), lexicon=lists.dysl) == sentence
    assert misspell_words(sentence, Random(0), probability=1, lexicon=lists.spel) == sentence
    assert toggle_date_forms(sentence, Random(0), lexicon=lists.week) == sentence
