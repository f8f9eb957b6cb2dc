"""``homo``, ``dysl``, ``spel`` and ``week``: the released outputs, the published cases, rates and bounds."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from xsent.text.noise.lexicons import Lexicons, bundled
from xsent.text.noise.words import Confusions, dysl, homo, spel, week


@pytest.fixture(scope="module")
def reference(fixtures_dir: Path) -> dict[str, Any]:
    fixture: dict[str, Any] = json.loads((fixtures_dir / "rolaser.json").read_text(encoding="utf-8"))
    return fixture


def test_spel_gives_what_the_released_transformation_gives(reference: dict[str, Any], nl_augmenter: Lexicons) -> None:
    for case in reference["ugc_reference_outputs"]["cases"]["spel prob=0.2 seed=9"]:
        assert spel(case["in"], Random(9), probability=0.2, lexicon=nl_augmenter.spel) == case["out"]


def test_spel_passes_the_published_cases_word_by_word(reference: dict[str, Any], nl_augmenter: Lexicons) -> None:
    # They are of the time when the transformation was seeded again for every word, not for every sentence.
    for case in reference["nl_augmenter_test_cases"]["cases"]["spel"]:
        for seed, expected in enumerate(case["out"]):
            words = [
                spel(word, Random(seed), probability=0.2, lexicon=nl_augmenter.spel) for word in case["in"].split()
            ]
            assert " ".join(words) == expected


def test_spel_hits_a_word_more_in_a_hundred_than_it_says() -> None:
    changed = [spel("the", Random(seed), probability=0.2, lexicon={"the": ("teh",)}) == "teh" for seed in range(20_000)]
    assert sum(changed) / 20_000 == pytest.approx(0.21, abs=0.01)  # three standard errors: 0.009


def test_spel_finds_words_in_any_case_and_leaves_one_blank() -> None:
    assert spel(" THE  cat, ", Random(0), probability=1, lexicon={"the": ("teh",), "cat": ("kat",)}) == "teh cat,"


def test_week_gives_what_the_released_transformation_gives(reference: dict[str, Any], nl_augmenter: Lexicons) -> None:
    cases = reference["ugc_reference_outputs"]["cases"]["week"]
    published = [
        {"in": case["in"], "out": case["out"][0]} for case in reference["nl_augmenter_test_cases"]["cases"]["week"]
    ]
    for case in [*cases, *published]:
        assert week(case["in"], Random(0), lexicon=nl_augmenter.week) == case["out"]


def test_week_of_the_bundled_lists_spells_september_right() -> None:
    assert week("Sept. 5 and Tues.", Random(0), lexicon=bundled().week) == "September 5 and Tuesday"
    assert week("September, May and Mondays", Random(0), lexicon=bundled().week) == "Sep., May and Mondays"
    assert week("on monday", Random(0), lexicon=bundled().week) == "on monday"


def test_dysl_passes_the_published_cases(reference: dict[str, Any], nl_augmenter: Lexicons) -> None:
    for case in reference["nl_augmenter_test_cases"]["cases"]["dysl"]:
        assert dysl(case["in"], Random(0), lexicon=nl_augmenter.dysl) == case["out"][0]


def test_dysl_swaps_both_ways_and_the_pair_with_the_word_on_its_right_counts() -> None:
    lexicon = Confusions({"by": "buy", "bye": "by", "your": "you're"})
    assert dysl("By bye, buy!", Random(0), lexicon=lexicon) == "bye by, by!"
    assert dysl("your You're", Random(0), lexicon=lexicon) == "you're You're"


HOMOPHONES = {"their": ("there", "they're"), "a": ("ah",), "two": ("to",)}


def test_homo_replaces_listed_words_but_never_the_word_a() -> None:
    assert homo("Two, a x", Random(0), probability=1, lexicon=HOMOPHONES) == "to, a x"
    assert homo("Two, a x", Random(0), probability=0, lexicon=HOMOPHONES) == "Two, a x"
    found = {homo("their", Random(seed), probability=1, lexicon=HOMOPHONES) for seed in range(20)}
    assert found == {"there", "they're"}


def test_homo_draws_once_a_piece_and_once_more_for_a_replaced_one() -> None:
    rng, expected = Random(3), Random(3)
    homo("can't two x", rng, probability=1, lexicon=HOMOPHONES)  # "ca", "n't", "two", "x"
    for _ in range(3):
        expected.uniform(0, 1)
    expected.choice(("to",))
    expected.uniform(0, 1)
    assert rng.getstate() == expected.getstate()


def test_spel_makes_all_white_space_one_blank_in_any_script() -> None:
    # As in the reference, which splits and joins.
    assert spel("Привет,  мир!\t今日は", Random(0), probability=0, lexicon=bundled().spel) == "Привет, мир! 今日は"


@pytest.mark.parametrize("sentence", ["Привет, мир!", "今日は晴れ。", "😀🎉", "x", ""])
def test_other_scripts_pass_unchanged(sentence: str) -> None:
    lists = bundled()
    assert homo(sentence, Random(0), probability=1, lexicon=lists.homo) == sentence
    assert dysl(sentence, Random(0), lexicon=lists.dysl) == sentence
    assert spel(sentence, Random(0), probability=1, lexicon=lists.spel) == sentence
    assert week(sentence, Random(0), lexicon=lists.week) == sentence
