"""Noise of social media: each kind by paper and pencil, probabilities of 0 and 1, and the draws."""

import re
from random import Random
from typing import Any

import pytest

from tests.text.noise.test_noiser import VALUES, noiser
from xsent.text.noise import MIXTURES, REGISTRY, TRANSFORMATIONS, Noiser
from xsent.text.noise.lexicons import bundled
from xsent.text.noise.social import Respellings

SOCIAL = tuple(name for name in REGISTRY if name not in TRANSFORMATIONS)
LEXICONS: dict[str, Any] = {
    "respelling": Respellings({"going to": ("gonna",), "tonight": ("2nite",), "to": ("2",), "don't know": ("dunno",)}),
    "emoticons": (":)",),
}


def make(name: str, sentence: str, *, seed: int = 0, **parameters: float) -> str:
    options: dict[str, Any] = dict(parameters)
    if REGISTRY[name].has_lexicon:
        options["lexicon"] = LEXICONS[name]
    return REGISTRY[name].function(sentence, Random(seed), **options)


@pytest.mark.parametrize(
    ("name", "sentence", "expected"),
    [
        ("respelling", "I'm going to see you to-night.", "I'm gonna see you 2-night."),
        ("respelling", "Tonight I don’t know, TO BE sure.", "2nite I dunno, 2 BE sure."),
        ("respelling", "Being kind during the evening brings a thing.", "Bein kind durin the evenin brings a thing."),
        ("respelling", "The king can't bring a string.", "The king can't bring a string."),  # "-ing" is the only vowel
        ("apostrophes", "Don't say it’s Jo's or 'tis the dogs' 90's.", "Dont say its Jos or 'tis the dogs' 90's."),
        ("vowels", "Please text people about an idea and us.", "Pls txt ppl abt an id and us."),
        ("vowels", "EASY: Naïve rhythm, don't 4ever", "ESY: Nïv rhythm, dn't 4ever"),
        ("emoticons", "I did it. Really?! It cost 3.50. ", "I did it :) Really?! :) It cost 3.50 :) "),
        ("emoticons", "no sign at the end", "no sign at the end :)"),
        ("hashtags", "The best day they're in: party-time, 2024!", "The #best day they're in: #party-#time, 2024!"),
    ],
)
def test_each_kind_by_paper_and_pencil(name: str, sentence: str, expected: str) -> None:
    assert make(name, sentence, probability=1.0) == expected
    assert make(name, sentence, probability=0.0) == sentence


def test_an_elongation_repeats_a_vowel_or_the_last_letter() -> None:
    words = ["so", "great", "a", "rhythm,", "YES"]
    for seed in range(50):
        longer = make("elongation", " ".join(words), seed=seed, probability=1.0).split()
        for word, changed in zip(words, longer, strict=True):
            if word == "a":  # of a single letter
                assert changed == word
            else:
                added = len(changed) - len(word)
                assert 1 <= added <= 5
                # Some vowel or the last letter, and nothing else, occurs `added` times more.
                assert any(
                    word[:i] + word[i] * (added + 1) + word[i + 1 :] == changed
                    for i in range(len(word))
                    if word[i].lower() in "aeiou" or i == len(word.rstrip(",")) - 1
                )
    assert make("elongation", " ".join(words), probability=0.0) == " ".join(words)


def test_shouting_takes_the_sentence_or_each_word() -> None:
    sentence = "we've won the cup, at last!"
    assert make("shouting", sentence, sentences=1.0, words=0.0) == "WE'VE WON THE CUP, AT LAST!"
    assert make("shouting", sentence, sentences=0.0, words=1.0) == "WE'VE WON THE CUP, AT LAST!"
    assert make("shouting", sentence, sentences=0.0, words=0.0) == sentence
    mixed = make("shouting", "one " * 2_000, sentences=0.0, words=0.25).split()
    assert abs(mixed.count("ONE") / 2_000 - 0.25) < 5 * (0.25 * 0.75 / 2_000) ** 0.5
    assert set(mixed) == {"one", "ONE"}


@pytest.mark.parametrize("name", [name for name in SOCIAL if name != "shouting"])
def test_probabilities_are_those_of_each_place(name: str) -> None:
    # 2,000 places: one word or sentence each.
    text, unchanged = {"apostrophes": ("it's ", "it's"), "emoticons": ("no! ", "no!"), "respelling": ("to ", "to")}.get(
        name, ("people ", "people")
    )
    changed = make(name, text * 2_000, seed=1, probability=0.3)
    kept = len(re.findall(rf"(?<!\S){unchanged}(?! :\))(?!\S)", changed))
    assert abs(kept / 2_000 - 0.7) < 5 * (0.3 * 0.7 / 2_000) ** 0.5


def test_the_social_mixture_has_the_papers_kinds_and_these() -> None:
    assert MIXTURES["social"] == TRANSFORMATIONS + SOCIAL
    everything = noiser(transform="social", selection=1.0)("Some of you don't know the people.", 5)
    assert sorted(step.name for step in everything.applied) == sorted(REGISTRY)
    plans = [noiser(transform="social").mixture.plan(0, key) for key in range(3_000)]
    share = sum(not plan for plan in plans) / len(plans)
    expected = 0.9 ** len(REGISTRY)
    assert abs(share - expected) < 5 * (expected * (1 - expected) / len(plans)) ** 0.5
    assert not {step.name for plan in map(noiser().mixture.plan, [0] * 3_000, range(3_000)) for step in plan} & set(
        SOCIAL
    )


@pytest.mark.parametrize("name", SOCIAL)
def test_noise_is_a_function_of_seed_and_sentence(name: str) -> None:
    generator = noiser(transform=name, parameters=VALUES["parameters"] | {"shouting": {"sentences": 0.0, "words": 0.3}})
    sentence = "Don't you know that some people are going to be late tonight, because they're looking? " * 9
    assert generator(sentence, 3) == Noiser(**{**VALUES, "transform": name, "parameters": generator.parameters})(
        sentence, 3
    )
    assert len({generator(sentence, key).text for key in range(10)}) == 10
    assert len({generator.with_seed(seed)(sentence, 3).text for seed in range(10)}) == 10


@pytest.mark.parametrize("transform", ["social", *SOCIAL])
def test_the_released_script_has_no_such_noise(transform: str) -> None:
    with pytest.raises(ValueError, match=rf"noise\.transform={transform}: the released script has no such noise"):
        noiser(transform=transform, reference_rng=True)


def test_respellings_differ_from_their_words() -> None:
    for word, spellings in bundled().respelling.spellings.items():
        assert word == word.lower()
        assert "’" not in word
        assert word not in spellings
        assert len(set(spellings)) == len(spellings), word
