"""``cont``: expansion and contraction."""

from __future__ import annotations

from random import Random

import pytest

from xsent.text.noise.contractions import Contractions, toggle_contractions
from xsent.text.noise.lexicons import bundled


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
        ("", ""),
    ],
)
def test_contractions_are_written_out_or_else_made(sentence: str, expected: str) -> None:
    assert toggle_contractions(sentence, Random(0), lexicon=bundled().cont) == expected


def test_letters_that_only_match_without_case_stay() -> None:
    assert toggle_contractions("iſn't it", Random(0), lexicon=bundled().cont) == "iſn't it"


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
