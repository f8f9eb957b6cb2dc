from random import Random
from typing import Any

import pytest

from xsent.text.noise.lexicons import Lexicons
from xsent.text.noise.mixtures import REGISTRY


def apply(name: str, sentence: str, seed: int, lexicons: Lexicons, **parameters: float) -> str:
    transformation = REGISTRY[name]
    lexicon = {"lexicon": getattr(lexicons, name)} if transformation.has_lexicon else {}
    return transformation.function(sentence, Random(seed), **parameters, **lexicon)


@pytest.mark.parametrize(
    ("case", "parameters", "seed"),
    [
        ("fing prob=0.05 seed=4", {"probability": 0.05}, 4),
        ("fing prob=0.025 seed=4", {"probability": 0.025}, 4),
        ("leet max_leet=0.05 seed=8", {"share": 0.05}, 8),
        ("spac remove=0.1 add=0.05 seed=11", {"remove": 0.1, "add": 0.05}, 11),
        ("spel prob=0.2 seed=9", {"probability": 0.2}, 9),
        ("week", {}, 0),
        ("cont (first output used)", {}, 0),
    ],
)
def test_outputs_equal_those_of_the_released_transformations(
    reference: dict[str, Any], nl_augmenter: Lexicons, case: str, parameters: dict[str, float], seed: int
) -> None:
    for pair in reference["ugc_reference_outputs"]["cases"][case]:
        assert apply(case[:4], pair["in"], seed, nl_augmenter, **parameters) == pair["out"]


PARAMETERS = {"abr1": {"probability": 0.5}, "fing": {"probability": 0.05}, "leet": {"share": 0.5}}
PARAMETERS |= {"spac": {"remove": 0.1, "add": 0.05}}


@pytest.mark.parametrize("name", ["abr1", "abr2", "abr3", "fing", "cont", "dysl", "leet", "slng", "week", "spac"])
def test_the_published_test_cases_pass(reference: dict[str, Any], nl_augmenter: Lexicons, name: str) -> None:
    cases = reference["nl_augmenter_test_cases"]["cases"][name]
    assert cases
    for case in cases:
        assert apply(name, case["in"], 0, nl_augmenter, **PARAMETERS.get(name, {})) == case["out"][0]


def test_the_published_misspellings_are_made_word_by_word(reference: dict[str, Any], nl_augmenter: Lexicons) -> None:
    # These cases are older: the transformation was seeded for every word, not for every sentence.
    for case in reference["nl_augmenter_test_cases"]["cases"]["spel"]:
        for seed, expected in enumerate(case["out"]):
            words = [apply("spel", word, seed, nl_augmenter, probability=0.2) for word in case["in"].split()]
            assert " ".join(words) == expected
