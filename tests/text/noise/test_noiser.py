"""The mixture and its plans, the streams behind them, the replay of the released script, and processes."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helpers import ROOT
from xsent.text import words
from xsent.text.noise import MIX_ALL, TRANSFORMATIONS, Applied, Noised, Noiser, noise_all

SENTENCES = [
    "Luckily nothing happened to me, but I saw a macabre scene, as people tried to break windows in order to get out.",
    "I am sure they are not coming on Monday, they're busy until Sept. 5 because it is my birthday.",
    "We definitely received it the day before yesterday.",
]
ODD = [
    "",
    " ",
    "\t",
    "x",
    "😀🎉👩‍👩‍👧",
    "مرحبا بالعالم",
    "你好，世界。",
    "one\u2028two",
    "a\tb",
    "I",
    "'",
    "...",
    "\u00a0",
]


def noiser(**changes: Any) -> Noiser:
    """With the values of the config."""
    values = yaml.safe_load((ROOT / "conf" / "noise" / "default.yaml").read_text(encoding="utf-8"))
    del values["_target_"]
    return Noiser(**values | {"seed": 0} | changes)


@pytest.fixture(scope="module")
def reference(fixtures_dir: Path) -> dict[str, Any]:
    fixture: dict[str, Any] = json.loads((fixtures_dir / "rolaser.json").read_text(encoding="utf-8"))
    return fixture


# ---- the mixture


def test_as_many_transformations_are_applied_as_twelve_coins_say() -> None:
    mixture = noiser().mixture
    size = 40_000
    applied = [mixture.plan(0, key) for key in range(size)]
    counts = Counter(map(len, applied))
    for count in range(5):
        expected = math.comb(12, count) * 0.1**count * 0.9 ** (12 - count)
        assert abs(counts[count] / size - expected) < 5 * math.sqrt(expected / size)
    for name in TRANSFORMATIONS:
        found = sum(name == step.name for steps in applied for step in steps)
        assert abs(found / size - 0.1) < 5 * math.sqrt(0.1 * 0.9 / size)


def test_transformations_are_selected_independently_and_in_any_order() -> None:
    mixture = noiser(selection=0.5).mixture
    applied = [[step.name for step in mixture.plan(0, key)] for key in range(20_000)]
    both = [names for names in applied if "abr1" in names and "spac" in names]
    assert abs(len(both) / len(applied) - 0.25) < 5 * math.sqrt(0.25 * 0.75 / len(applied))
    first = sum(names.index("abr1") < names.index("spac") for names in both)
    assert abs(first / len(both) - 0.5) < 5 * math.sqrt(0.25 / len(both))


def test_parameters_are_near_their_defaults_each_drawn_alone() -> None:
    mixture = noiser(selection=1.0).mixture
    size = 8_000
    spac = Counter(step.parameters for key in range(size) for step in mixture.plan(0, key) if step.name == "spac")
    weights = {0.5: 0.25, 1.0: 0.5, 1.5: 0.25}
    expected = {(0.1 * a, 0.05 * b): weights[a] * weights[b] for a in weights for b in weights}
    assert spac.keys() == expected.keys()
    for parameters, share in expected.items():
        assert abs(spac[parameters] / size - share) < 5 * math.sqrt(share / size)


def test_what_was_applied_reads_as_in_the_released_log() -> None:
    steps = (Applied("fing", (0.05 * 0.5,)), Applied("cont", ()), Applied("spac", (0.1 * 1.5, 0.05)))
    assert ";".join(map(str, steps)) == "fing,0.025;cont;spac,0.15,0.05"


def test_none_selected_leaves_all_and_all_selected_leaves_none() -> None:
    assert all(noiser(selection=0.0)(one, 7) == Noised(one, ()) for one in SENTENCES)
    steps = noiser(selection=1.0)(SENTENCES[0], 7).applied
    assert sorted(step.name for step in steps) == sorted(TRANSFORMATIONS)


# ---- streams


@pytest.mark.parametrize("transform", ["fing", "leet", "spac", "spel"])
def test_equal_sentences_get_other_noise_with_another_key_or_seed(transform: str) -> None:
    made = noiser(transform=transform)
    sentence = " ".join(SENTENCES)
    assert len({made(sentence, key).text for key in range(20)}) == 20
    assert len({made.with_seed(seed)(sentence, 1).text for seed in range(20)}) == 20
    assert made(sentence, 3) == noiser(transform=transform)(sentence, 3)


def test_another_seed_or_transformation_reads_no_word_list_again(shared_data: Path) -> None:
    made = noiser(resources=str(shared_data / "nlaugmenter"))
    assert made.with_seed(3).with_transform("spel").lexicons is made.lexicons
    assert made.with_seed(3).digest() == noiser(resources=str(shared_data / "nlaugmenter"), seed=3).digest()


def test_a_transformation_draws_the_same_alone_and_in_the_mixture() -> None:
    mixture = noiser()
    keys = [key for key in range(3_000) if mixture(SENTENCES[0], key).applied == (Applied("fing", (0.05,)),)]
    assert keys
    assert [mixture(SENTENCES[0], key) for key in keys] == [noiser(transform="fing")(SENTENCES[0], key) for key in keys]


def test_neither_the_order_nor_the_hash_seed_nor_another_sentence_matters() -> None:
    made = noiser()
    sentences = SENTENCES * 100
    forward = list(made.noised(sentences, range(300)))
    backward = list(made.noised(reversed(sentences), reversed(range(300))))
    assert forward == backward[::-1]
    code = (
        "from tests.text.noise.test_noiser import SENTENCES, noiser\n"
        "import sys; sys.stdout.buffer.write(repr(list(noiser().noised(SENTENCES * 100, range(300)))).encode())"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True,
            check=True,
        )  # fmt: skip
        assert done.stdout.decode() == repr(forward)


def test_any_number_of_processes_gives_the_same() -> None:
    sentences = [f"{number}. {SENTENCES[number % 3]}" for number in range(6_000)]
    keys = range(100, 6_100)
    made = noiser()
    alone = list(made.noised(sentences, keys))
    assert noise_all(made, sentences, keys, workers=1) == alone
    assert noise_all(made, sentences, keys, workers=3) == alone
    replay = noiser(reference_rng=True)
    assert noise_all(replay, sentences, keys, workers=3) == list(replay.noised(sentences, keys))
    assert noise_all(made, [], [], workers=4) == []


def test_a_process_that_cannot_begin_is_an_error_that_says_so() -> None:
    code = (
        "from tests.text.noise.test_noiser import noiser\nfrom xsent.text.noise import noise_all\n"
        "noise_all(noiser(), ['a'] * 5000, range(5000), workers=2)"
    )  # a script on standard input is no file that another process could begin with
    done = subprocess.run([sys.executable, "-"], input=code, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert "ChildProcessError: a process that makes noise ended early" in done.stderr


# ---- the released script


def test_plans_are_those_of_the_released_script(reference: dict[str, Any]) -> None:
    fixture = reference["mix_all_plan"]
    made = noiser(seed=fixture["seed"], reference_rng=True)
    found = [one.applied for one in made.noised(["..."] * 12, range(12))]
    assert [[step.name for step in steps] for steps in found] == [
        [name for name, *_ in plan] for plan in fixture["first_12_sentences"]
    ]
    for steps, plan in zip(found, fixture["first_12_sentences"], strict=True):
        for step, (_, *parameters) in zip(steps, plan, strict=True):
            assert step.parameters == pytest.approx(tuple(parameters))


@pytest.mark.parametrize(
    ("case", "transform"),
    [
        ("fing prob=0.05 seed=4", "fing"),
        ("leet max_leet=0.05 seed=8", "leet"),
        ("spac remove=0.1 add=0.05 seed=11", "spac"),
    ],
)
def test_single_transformations_replay_the_released_ones(reference: dict[str, Any], case: str, transform: str) -> None:
    pairs = reference["ugc_reference_outputs"]["cases"][case]
    made = noiser(transform=transform, reference_rng=True)  # their seeds are 0 + 4, 8 and 11
    assert [one.text for one in made.noised([pair["in"] for pair in pairs], range(3))] == [
        pair["out"] for pair in pairs
    ]


@pytest.mark.parametrize(
    ("case", "transform"), [("spel prob=0.2 seed=9", "spel"), ("week", "week"), ("cont (first output used)", "cont")]
)
def test_released_word_lists_replay_the_released_transformations(
    reference: dict[str, Any], shared_data: Path, case: str, transform: str
) -> None:
    pairs = reference["ugc_reference_outputs"]["cases"][case]
    made = noiser(transform=transform, reference_rng=True, resources=str(shared_data / "nlaugmenter"))
    assert [one.text for one in made.noised([pair["in"] for pair in pairs], range(3))] == [
        pair["out"] for pair in pairs
    ]


def test_the_replay_has_its_typos_at_the_same_places_and_begins_anew_at_every_call() -> None:
    made = noiser(transform="fing", reference_rng=True)
    texts = [one.text for one in made.noised(["aaaa " * 20, "aaaa " * 20], [1, 2])]
    assert texts[0] == texts[1] != "aaaa " * 20
    mixed = noiser(reference_rng=True)
    assert list(mixed.noised(SENTENCES * 9, range(27))) == list(mixed.noised(SENTENCES * 9, range(27)))


def test_one_sentence_alone_cannot_be_replayed() -> None:
    with pytest.raises(ValueError, match="reference_rng=true draws one sequence over all sentences"):
        noiser(reference_rng=True)("Hello", 0)


# ---- odd sentences


@pytest.mark.parametrize("transform", [MIX_ALL, *TRANSFORMATIONS])
@pytest.mark.parametrize("sentence", ODD)
def test_odd_sentences_stay_sentences(transform: str, sentence: str) -> None:
    made = noiser(transform=transform)
    for key in range(30):
        text = made(sentence, key).text
        assert bool(text.strip()) == bool(sentence.strip())
        assert "\n" not in text
        if not sentence.strip():
            assert text == sentence


@pytest.mark.parametrize("transform", [name for name in TRANSFORMATIONS if name not in ("spac", "abr1")])
@pytest.mark.parametrize("sentence", ["😀🎉👩‍👩‍👧", "مرحبا بالعالم", "你好，世界。"])
def test_other_scripts_pass_unless_white_space_is_meant(transform: str, sentence: str) -> None:
    assert noiser(transform=transform)(sentence, 0).text == sentence


@pytest.mark.parametrize("transform", TRANSFORMATIONS)
def test_ten_thousand_words_are_done(transform: str) -> None:
    sentence = " ".join(["because", "you", "are", "not", "there", "on", "Monday", "morning"] * 1_250)
    assert len(noiser(transform=transform)(sentence, 0).text) > 10_000


def test_line_breaks_at_the_ends_go_and_others_become_spaces() -> None:
    assert noiser(selection=0.0)("one\ntwo\r\n", 0).text == "one two"


# ---- values


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"transform": "fingers"},
            "noise.transform 'fingers': expected mix_all or one of abr1, abr2, abr3, fing, homo, ",
        ),
        ({"selection": 1.1}, "selection=1.1: expected a value from 0 to 1"),
        ({"selection": float("nan")}, "selection=nan: expected a value from 0 to 1"),
        ({"factors": [0.5, 1.0, 3.0]}, "parameters.homo.probability=0.5 times the factor 3.0=1.5: expected a value"),
        ({"selection": None}, "noise.selection=None: expected a number from 0 to 1"),
        ({"selection": "0.1"}, "noise.selection='0.1': expected a number from 0 to 1"),
        ({"selection": True}, "noise.selection=True: expected a number from 0 to 1"),
        ({"factors": None}, "noise.factors=None: expected a list of numbers"),
        ({"factors": 1.0}, "noise.factors=1.0: expected a list of numbers"),
        ({"factors": ["a", 1.0, 1.0]}, "noise.factors=['a', 1.0, 1.0]: expected numbers, found 'a'"),
        ({"factor_weights": "abc"}, "noise.factor_weights='abc': expected a list of numbers"),
        ({"factor_weights": [0.5, None, 0.5]}, "noise.factor_weights=[0.5, None, 0.5]: expected numbers, found None"),
        ({"parameters": None}, "noise.parameters=None: expected values by transformation"),
        ({"seed": None}, "noise.seed=None: expected a whole number"),
        ({"seed": 1.5}, "noise.seed=1.5: expected a whole number"),
        ({"seed": True}, "noise.seed=True: expected a whole number"),
        ({"seed": -1, "reference_rng": True}, "noise.seed=-1: expected 0 to 2^32 - 1 with reference_rng=true"),
        ({"seed": 2**32, "reference_rng": True}, "noise.seed=4294967296: expected 0 to 2^32 - 1"),
        ({"factors": [1.0]}, "expected a weight >= 0 for each of 1 factors"),
        ({"factor_weights": [0.5, 0.5, 0.5]}, "expected a sum of 1, found 1.5"),
    ],
)
def test_values_that_cannot_be_are_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match="expected") as error:
        noiser(**changes)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("fing", {"probability": -0.1}, "parameters.fing.probability=-0.1: expected a value from 0 to 1"),
        ("fing", {"probability": None}, "noise.parameters.fing.probability=None: expected a number from 0 to 1"),
        ("fing", {"probability": True}, "noise.parameters.fing.probability=True: expected a number from 0 to 1"),
        ("fing", 0.1, "noise.parameters.fing=0.1: expected values by name"),
        ("spac", {"remove": 0.1}, "parameters.spac: expected ['remove', 'add'], found ['remove']"),
        ("cont", {"probability": 0.1}, "parameters.cont: expected [], found ['probability']"),
        ("typo", {"probability": 0.1}, "parameters of ['typo']: expected one of abr1, "),
    ],
)
def test_parameters_that_cannot_be_are_named(name: str, values: Any, said: str) -> None:
    parameters = yaml.safe_load((ROOT / "conf" / "noise" / "default.yaml").read_text(encoding="utf-8"))["parameters"]
    with pytest.raises(ValueError, match="expected") as error:
        noiser(parameters=parameters | {name: values})
    assert said in str(error.value)


def test_a_single_transformation_takes_any_probability_and_the_mixture_what_its_factors_leave() -> None:
    path = ROOT / "conf" / "noise" / "default.yaml"
    parameters = yaml.safe_load(path.read_text(encoding="utf-8"))["parameters"]
    certain = parameters | {"homo": {"probability": 1}}
    alone = noiser(transform="homo", parameters=certain)
    assert alone("to", 0).text != "to"
    with pytest.raises(ValueError, match=r"noise.parameters.homo.probability=1 times the factor 1.5=1.5: expected"):
        alone.with_transform(MIX_ALL)


def test_a_seed_may_be_any_whole_number_without_the_replay() -> None:
    sentence = " ".join(SENTENCES)
    assert len({noiser(transform="fing", seed=seed)(sentence, 0).text for seed in (-1, 0, 2**32)}) == 3


def test_a_misspelt_transformation_is_named_by_with_transform_too() -> None:
    with pytest.raises(ValueError, match="transform 'mixall': expected mix_all or one of abr1"):
        noiser().with_transform("mixall")


def test_the_digest_changes_with_whatever_changes_the_noise(tmp_path: Path) -> None:
    made = noiser()
    others = [made.with_seed(1), made.with_transform("fing"), noiser(selection=0.2), noiser(reference_rng=True)]
    assert len({one.digest() for one in [made, *others]}) == 5
    assert made.with_seed(1).with_seed(0).digest() == made.digest() == noiser().digest()
    assert made.with_seed(1)(SENTENCES[0], 1) == noiser(seed=1)(SENTENCES[0], 1)


@pytest.mark.parametrize("name", ["keyboard", "leet", "tokenizer", "grammar", "verbs"])
def test_the_digest_changes_with_the_tables_of_the_code(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = noiser().digest()
    folder = tmp_path / "words"
    shutil.copytree(ROOT / "xsent" / "assets" / "words", folder)
    with (folder / f"{name}.txt").open("a", encoding="utf-8") as file:
        file.write("\n[qwerty]\nq w\n")
    monkeypatch.setattr(words, "_FOLDER", folder)
    words.sections.cache_clear()
    try:
        assert noiser().digest() != before
    finally:
        words.sections.cache_clear()


def test_the_digest_changes_with_the_version_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    before = noiser().digest()
    monkeypatch.setattr("xsent.text.noise.noiser.NOISE_VERSION", 0)
    assert noiser().digest() != before


def test_the_digest_changes_with_the_word_lists(shared_data: Path) -> None:
    assert noiser(resources=str(shared_data / "nlaugmenter")).digest() != noiser().digest()
