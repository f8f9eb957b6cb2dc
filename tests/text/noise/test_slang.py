from random import Random

import pytest

from xsent.text.noise.lexicons import bundled
from xsent.text.noise.slang import Slang, insert_slang

SLANG = Slang(
    nouns=(
        ("man", "bloke", "blokes"),
        ("walk", "wander", "wanders"),
        ("party", "bash", "bashes"),
        ("SUV", "tank", "tanks"),
        ("fool", "numpty", "numpties"),
        ("rubbish", "tat", "tat"),
    ),
    adjectives=(("tired", "knackered"), ("rubbish", "naff"), ("poor", "skint")),
    adverbs=(("totally", "totes"),),
)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The man saw two men.", "The bloke saw two blokes."),
        ("Parties! A party.", "Bashes! A bash."),  # a capital stays
        ("Mr. Man and his SUV", "Mr. Man and his Tank"),  # names stay, but for listed ones
        ("I walk to a walk", "I walk to a wander"),  # a verb stays
        ("They can't fool a fool", "They can't fool a numpty"),
        ("They walk; the walk was long", "They walk; the wander was long"),
        ("He was totally tired", "He was totes knackered"),
        ("a rubbish party in the rubbish", "a naff bash in the tat"),  # adjective before a noun, else a noun
        ("the poor", "the poor"),
        ("LOL MAN", "LOL MAN"),
        ("Человек и man", "Человек и bloke"),
        ("", ""),
    ],
)
def test_nouns_adjectives_and_adverbs_become_slang(sentence: str, expected: str) -> None:
    assert insert_slang(sentence, Random(0), lexicon=SLANG) == expected


def test_all_slang_words_of_a_word_come_up() -> None:
    lexicon = Slang((("man", "bloke", "blokes"), ("man", "dude", "dudes")), (), ())
    assert {insert_slang("a man", Random(seed), lexicon=lexicon) for seed in range(20)} == {"a bloke", "a dude"}


def test_a_replaced_word_draws_twice() -> None:
    rng, expected = Random(5), Random(5)
    insert_slang("the man", rng, lexicon=SLANG)
    expected.uniform(0, 1)
    expected.randint(0, 0)
    assert rng.getstate() == expected.getstate()


def test_plurals_of_the_bundled_nouns_are_found() -> None:
    assert {"children", "women", "teeth", "wives", "thieves", "houses", "parties"} <= bundled().slng.plural.keys()
