import math
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helpers import ROOT
from xsent.text import word_lists as words
from xsent.text.noise import MIX_ALL, TRANSFORMATIONS, Noiser, NoisySentence, Step, noise_sentences, parallel

SENTENCES = [
    "Luckily nothing happened to me, but I saw a macabre scene, as people tried to break windows in order to get out.",
    "I am sure they are not coming on Monday, they're busy until Sept. 5 because it is my birthday.",
    "We definitely received it the day before yesterday.",
]
ODD = ["", " ", "\t", "x", "😀🎉👩‍👩‍👧", "مرحبا بالعالم", "你好，世界。"]
ODD += ["one\u2028two", "a\tb", "I", "'", "...", "\u00a0"]


VALUES = yaml.safe_load((ROOT / "conf/job/noise/default.yaml").read_text(encoding="utf-8")) | {"seed": 0}
del VALUES["_target_"]


def noiser(**changes: Any) -> Noiser:
    """With the values of the config."""
    return Noiser(**VALUES | changes)


def test_the_number_of_transformations_is_binomial() -> None:
    mixture = noiser().mixture
    size = 40_000
    applied = [mixture.plan(0, key) for key in range(size)]
    counts = Counter(map(len, applied))
    for count in range(5):
        expected = math.comb(12, count) * 0.1**count * 0.9 ** (12 - count)
        assert abs(counts[count] / size - expected) < 5 * math.sqrt(expected / size)
    for name in TRANSFORMATIONS:
        selected = sum(name == step.name for steps in applied for step in steps)
        assert abs(selected / size - 0.1) < 5 * math.sqrt(0.1 * 0.9 / size)


def test_step_counts_are_those_of_apply() -> None:
    keys = range(len(SENTENCES))
    for changes in ({}, {"reference_rng": True}, {"transform": "leet"}):
        mixed = noiser(selection=0.5, **changes)
        assert mixed.step_counts(keys) == [len(noisy.applied) for noisy in mixed.apply(SENTENCES, keys)]


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


def test_steps_are_printed_as_in_the_released_log() -> None:
    steps = (Step("fing", (0.05 * 0.5,)), Step("cont", ()), Step("spac", (0.1 * 1.5, 0.05)))
    assert ";".join(map(str, steps)) == "fing,0.025;cont;spac,0.15,0.05"


def test_none_selected_leaves_all_and_all_selected_leaves_none() -> None:
    assert all(noiser(selection=0.0)(text, 7) == NoisySentence(text, ()) for text in SENTENCES)
    assert noiser(selection=0.0)("one\ntwo\r\n", 0).text == "one two"  # a line has no line breaks
    steps = noiser(selection=1.0)(SENTENCES[0], 7).applied
    assert sorted(step.name for step in steps) == sorted(TRANSFORMATIONS)


@pytest.mark.parametrize("transform", ["fing", "leet", "spac", "spel"])
def test_equal_sentences_get_other_noise_with_another_key_or_seed(transform: str) -> None:
    generator = noiser(transform=transform)
    sentence = " ".join(SENTENCES)
    assert len({generator(sentence, key).text for key in range(20)}) == 20
    assert len({generator.with_seed(seed)(sentence, 1).text for seed in range(20)}) == 20
    assert generator(sentence, 3) == noiser(transform=transform)(sentence, 3)


def test_another_seed_or_transformation_reads_no_word_list_again(shared_data: Path) -> None:
    generator = noiser(resources=str(shared_data / "nlaugmenter"))
    assert generator.with_seed(3).with_transform("spel").lexicons is generator.lexicons
    assert generator.with_seed(3).digest() == noiser(resources=str(shared_data / "nlaugmenter"), seed=3).digest()


def test_a_transformation_draws_the_same_alone_and_in_the_mixture() -> None:
    mixture = noiser()
    keys = [key for key in range(3_000) if mixture(SENTENCES[0], key).applied == (Step("fing", (0.05,)),)]
    assert keys
    assert [mixture(SENTENCES[0], key) for key in keys] == [noiser(transform="fing")(SENTENCES[0], key) for key in keys]


def test_neither_the_order_nor_another_sentence_matters() -> None:
    generator = noiser()
    sentences = SENTENCES * 100
    forward = list(generator.apply(sentences, range(300)))
    backward = list(generator.apply(reversed(sentences), reversed(range(300))))
    assert forward == backward[::-1]


def test_any_number_of_processes_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "CHUNK", 50)
    sentences = [f"{number}. {SENTENCES[number % 3]}" for number in range(330)]
    keys = range(100, 430)
    generator = noiser()
    alone = list(generator.apply(sentences, keys))
    assert noise_sentences(generator, sentences, keys, workers=1) == alone
    assert noise_sentences(generator, sentences, keys, workers=2) == alone
    replay = noiser(reference_rng=True)
    assert noise_sentences(replay, sentences, keys, workers=2) == list(replay.apply(sentences, keys))
    assert noise_sentences(generator, [], [], workers=4) == []


def test_a_process_that_cannot_start_is_an_error() -> None:
    code = (
        "from tests.text.noise.test_noiser import noiser\nfrom xsent.text.noise import noise_sentences\n"
        "noise_sentences(noiser(), ['a'] * 5000, range(5000), workers=2)"
    )  # a script on standard input is no file that another process could begin with
    process = subprocess.run([sys.executable, "-"], input=code, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert "ChildProcessError: a process that makes noise ended early" in process.stderr


def test_plans_are_those_of_the_released_script(reference: dict[str, Any]) -> None:
    fixture = reference["mix_all_plan"]
    replay = noiser(seed=fixture["seed"], reference_rng=True)
    plans = [sentence.applied for sentence in replay.apply(["..."] * 12, range(12))]
    assert [[step.name for step in steps] for steps in plans] == [
        [name for name, *_ in plan] for plan in fixture["first_12_sentences"]
    ]
    for steps, plan in zip(plans, fixture["first_12_sentences"], strict=True):
        for step, (_, *parameters) in zip(steps, plan, strict=True):
            assert step.parameters == pytest.approx(tuple(parameters))


def test_the_replay_has_its_typos_at_the_same_places_and_begins_anew_at_every_call() -> None:
    generator = noiser(transform="fing", reference_rng=True)
    texts = [sentence.text for sentence in generator.apply(["aaaa " * 20, "aaaa " * 20], [1, 2])]
    assert texts[0] == texts[1] != "aaaa " * 20
    mixed = noiser(reference_rng=True)
    assert list(mixed.apply(SENTENCES * 9, range(27))) == list(mixed.apply(SENTENCES * 9, range(27)))
    with pytest.raises(ValueError, match="reference_rng=true draws one sequence over all sentences"):
        mixed("Hello", 0)  # one sentence alone cannot be replayed


@pytest.mark.parametrize("transform", [MIX_ALL, *TRANSFORMATIONS])
@pytest.mark.parametrize("sentence", ODD)
def test_odd_sentences_stay_sentences(transform: str, sentence: str) -> None:
    generator = noiser(transform=transform)
    for key in range(30):
        text = generator(sentence, key).text
        assert bool(text.strip()) == bool(sentence.strip())
        assert "\n" not in text
        if not sentence.strip():
            assert text == sentence


@pytest.mark.parametrize("transform", [name for name in TRANSFORMATIONS if name not in ("spac", "abr1")])
@pytest.mark.parametrize("sentence", ODD[4:7])
def test_other_scripts_pass_unless_white_space_is_meant(transform: str, sentence: str) -> None:
    assert noiser(transform=transform)(sentence, 0).text == sentence


@pytest.mark.parametrize("transform", TRANSFORMATIONS)
def test_ten_thousand_words_are_done(transform: str) -> None:
    sentence = " ".join(["because", "you", "are", "not", "there", "on", "Monday", "morning"] * 1_250)
    assert len(noiser(transform=transform)(sentence, 0).text) > 10_000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"transform": "fingers"},
            "noise.transform 'fingers': expected mix_all, social or one of abr1, abr2, ",
        ),
        ({"selection": 1.1}, "selection=1.1: expected a number from 0 to 1"),
        ({"selection": float("nan")}, "selection=nan: expected a number from 0 to 1"),
        ({"factors": [0.5, 1.0, 3.0]}, "parameters.homo.probability=0.5 times the factor 3.0=1.5: expected a number"),
        ({"selection": None}, "noise.selection=None: expected a number from 0 to 1"),
        ({"selection": "0.1"}, "noise.selection='0.1': expected a number from 0 to 1"),
        ({"selection": True}, "noise.selection=True: expected a number from 0 to 1"),
        ({"factors": None}, "noise.factors=None: expected a list of numbers"),
        ({"factors": 1.0}, "noise.factors=1.0: expected a list of numbers"),
        ({"factors": ["a", 1.0, 1.0]}, "noise.factors=['a', 1.0, 1.0]: expected a list of numbers"),
        ({"factor_weights": "abc"}, "noise.factor_weights='abc': expected a list of numbers"),
        ({"factor_weights": [0.5, None, 0.5]}, "noise.factor_weights=[0.5, None, 0.5]: expected a list of numbers"),
        ({"parameters": None}, "noise.parameters=None: expected values by transformation"),
        ({"seed": None}, "noise.seed=None: expected a whole number"),
        ({"seed": 1.5}, "noise.seed=1.5: expected a whole number"),
        ({"seed": True}, "noise.seed=True: expected a whole number"),
        ({"seed": -1, "reference_rng": True}, "noise.seed=-1: expected 0 to 2^32 - 1 with reference_rng=true"),
        ({"seed": 2**32, "reference_rng": True}, "noise.seed=4294967296: expected 0 to 2^32 - 1"),
        ({"factors": [1.0]}, "expected a weight >= 0 for each of 1 factors"),
        ({"factor_weights": [0.5, 0.5, 0.5]}, "a sum of 1, found 1.5"),
        ({"fing": {"probability": -0.1}}, "parameters.fing.probability=-0.1: expected a number from 0 to 1"),
        ({"fing": {"probability": None}}, "noise.parameters.fing.probability=None: expected a number from 0 to 1"),
        ({"fing": {"probability": True}}, "noise.parameters.fing.probability=True: expected a number from 0 to 1"),
        ({"fing": 0.1}, "noise.parameters.fing=0.1: expected values by name"),
        ({"spac": {"remove": 0.1}}, "parameters.spac: expected ['remove', 'add'], found ['remove']"),
        ({"cont": {"probability": 0.1}}, "parameters.cont: expected [], found ['probability']"),
        ({"typo": {"probability": 0.1}}, "parameters of ['typo']: expected one of abr1, "),
    ],
)
def test_invalid_values_are_reported(changes: dict[str, Any], message: str) -> None:
    (name,) = changes.keys() - {"reference_rng"}
    if name not in VALUES:  # of a transformation
        changes = {"parameters": VALUES["parameters"] | changes}
    with pytest.raises(ValueError, match=re.escape(message)):
        noiser(**changes)


def test_only_the_mixture_limits_probabilities_times_factors() -> None:
    alone = noiser(transform="homo", parameters=VALUES["parameters"] | {"homo": {"probability": 1}})
    assert alone("to", 0).text != "to"
    with pytest.raises(ValueError, match=r"noise.parameters.homo.probability=1 times the factor 1.5=1.5: expected"):
        alone.with_transform(MIX_ALL)
    with pytest.raises(ValueError, match="transform 'mixall': expected mix_all, social or one of abr1"):
        alone.with_transform("mixall")


def test_a_seed_may_be_any_whole_number_without_the_replay() -> None:
    sentence = " ".join(SENTENCES)
    assert len({noiser(transform="fing", seed=seed)(sentence, 0).text for seed in (-1, 0, 2**32)}) == 3


def test_the_digest_changes_with_whatever_changes_the_noise(tmp_path: Path) -> None:
    generator = noiser()
    variants = [generator.with_seed(1), generator.with_transform("fing"), noiser(selection=0.2)]
    assert len({variant.digest() for variant in [generator, *variants, noiser(reference_rng=True)]}) == 5
    assert generator.with_seed(1).with_seed(0).digest() == generator.digest() == noiser().digest()
    assert generator.with_seed(1)(SENTENCES[0], 1) == noiser(seed=1)(SENTENCES[0], 1)


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
    words.load_sections.cache_clear()
    try:
        assert noiser().digest() != before
    finally:
        words.load_sections.cache_clear()


def test_the_digest_changes_with_the_version_of_the_code_and_the_word_lists(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = noiser().digest()
    assert noiser(resources=str(shared_data / "nlaugmenter")).digest() != before
    monkeypatch.setattr("xsent.text.noise.noiser.NOISE_VERSION", 0)
    assert noiser().digest() != before
