from random import Random

import pytest

from xsent.text.noise.lexicons import bundled
from xsent.text.noise.word_substitutions import (
    Confusions,
    Contractions,
    misspell_words,
    swap_confused_words,
    swap_homophones,
    toggle_contractions,
    toggle_date_forms,
)


def test_spel_hits_a_word_more_in_a_hundred_than_it_says() -> None:
    changed = [
        misspell_words("the", Random(seed), probability=0.2, lexicon={"the": ("teh",)}) == "teh"
        for seed in range(20_000)
    ]
    assert sum(changed) / 20_000 == pytest.approx(0.21, abs=0.01)  # three standard errors: 0.009


def test_spel_finds_words_in_any_case_and_makes_all_white_space_one_blank_in_any_script() -> None:
    # As in the reference, which splits and joins.
    lexicon = {"the": ("teh",), "cat": ("kat",)}
    assert misspell_words(" THE  cat, ", Random(0), probability=1, lexicon=lexicon) == "teh cat,"
    russian = misspell_words("Привет,  мир!\t今日は", Random(0), probability=0, lexicon=bundled().spel)
    assert russian == "Привет, мир! 今日は"


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


@pytest.mark.parametrize("sentence", ["Привет, мир!", "今日は晴れ。", "😀🎉", "x", ""])
def test_other_scripts_pass_unchanged(sentence: str) -> None:
    lists = bundled()
    assert swap_homophones(sentence, Random(0), probability=1, lexicon=lists.homo) == sentence
    assert swap_confused_words(sentence, Random(0), lexicon=lists.dysl) == sentence
    assert misspell_words(sentence, Random(0), probability=1, lexicon=lists.spel) == sentence
    assert toggle_date_forms(sentence, Random(0), lexicon=lists.week) == sentence


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        # Both forms stand in it: only the contraction changes.
        ("It's fine, I am here now.", "It is fine, I am here now."),
        ("I am here and she is not.", "I'm here and she's not."),
        ("They will go. It is.", "They'll go. It is."),  # no blank follows the second
        ("WE'RE LATE", "We are LATE"),
        ("Won't you come?", "Will not you come?"),
        ("i can't've", "i cannot have"),  # the longest
        ("y'all're late", "you all are late"),
        ("I’m sure you don’t", "I am sure you do not"),
        ("Ain't it", "Is not it"),
        ("is not it", "isn't it"),  # and not "ain't"
        ("Ich bin’s nicht", "Ich bin’s nicht"),
        ("iſn't it", "iſn't it"),  # letters that only match without case stay
        ("", ""),
    ],
)
def test_contractions_are_written_out_or_else_made(sentence: str, expected: str) -> None:
    assert toggle_contractions(sentence, Random(0), lexicon=bundled().cont) == expected


@pytest.mark.parametrize(("short", "full"), bundled().cont.full.items())
def test_every_contraction_is_written_out_as_the_list_says(short: str, full: str) -> None:
    for written in (short, short.replace("'", "’")):
        assert toggle_contractions(f"x {written}, x", Random(0), lexicon=bundled().cont) == f"x {full}, x"
        capital = written[0].upper() + written[1:]
        assert toggle_contractions(capital, Random(0), lexicon=bundled().cont) == full[0].upper() + full[1:]


def test_the_released_list_is_searched_as_the_release_does() -> None:
    lexicon = Contractions({"can't": "cannot", "can't've": "cannot have", "ain't": "is not"}, as_released=True)
    assert toggle_contractions("i can't've", Random(0), lexicon=lexicon) == "i cannot've"  # the first of the list
    assert toggle_contractions("Ain't it", Random(0), lexicon=lexicon) == "As not it"  # the first letter stays
    assert toggle_contractions("I can’t", Random(0), lexicon=lexicon) == "I can’t"


def test_all_negations_and_pronouns_are_written_out() -> None:
    lexicon = bundled().cont
    verbs = ["are", "could", "did", "do", "does", "had", "has", "have", "is", "must", "should", "was", "were", "would"]
    for verb in verbs:
        assert toggle_contractions(f"{verb}n't", Random(0), lexicon=lexicon) == f"{verb} not"
    for pronoun in ["I", "you", "he", "she", "it", "we", "they"]:
        assert toggle_contractions(f"{pronoun}'ll", Random(0), lexicon=lexicon) == f"{pronoun} will"
        assert toggle_contractions(f"{pronoun}'d", Random(0), lexicon=lexicon) == f"{pronoun} would"
