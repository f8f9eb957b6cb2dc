import random

import pytest

from xsent.text.codeswitch import switch_words

DICTIONARY = {"hund": ["dog", "hound"], "der": ["the"], "katze": ["cat"], "homme": ["man"], "كتاب": ["book"]}


def switched(
    sentence: str, *, rate: float = 1.0, force_one: bool = True, casing: str = "keep", seed: int = 0
) -> str | None:
    return switch_words(sentence, DICTIONARY, rate=rate, force_one=force_one, casing=casing, rng=random.Random(seed))


def test_known_words_are_replaced_and_punctuation_spaces_and_unknown_words_stay() -> None:
    assert switched("„Der  Xyz, die Katze!“") == "„The  Xyz, die Cat!“"
    assert switched("l'homme") == "l'man"
    assert switched("Der-Katze") == "The-Cat"
    assert switched("كتاب، قلم") == "book، قلم"
    assert switched("Xyz, 123!") is None
    # The casing follows the replaced word or not.
    assert switched("Der KATZE katze") == "The CAT cat"
    assert switched("Der KATZE katze", casing="lower") == "the cat cat"
    # One word at least when it is forced.
    assert switched("der katze", rate=0) in ("the katze", "der cat")
    assert switched("der katze", rate=0, force_one=False) == "der katze"


def test_words_are_replaced_at_the_rate_and_translations_drawn_evenly() -> None:
    # 4,000 draws: the standard deviation of a share is at most 0.8 %, five of them are 4 %.
    words = (switched("hund " * 4000, rate=0.5) or "").split()
    assert words.count("hund") / 4000 == pytest.approx(0.5, abs=0.04)
    drawn = 4000 - words.count("hund")
    assert words.count("dog") / drawn == pytest.approx(0.5, abs=0.06)
    assert words.count("dog") + words.count("hound") == drawn


def test_the_generator_decides_everything() -> None:
    long = "der hund katze " * 10
    assert switched(long, rate=0.5, seed=3) == switched(long, rate=0.5, seed=3)
    assert switched(long, rate=0.5, seed=3) != switched(long, rate=0.5, seed=4)
