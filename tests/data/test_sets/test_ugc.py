"""The sets that evaluator=ugc reads and makes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import config
from xsent.data.test_sets.flores_languages import FloresLanguages
from xsent.data.test_sets.ugc import GeneratedNegatives, UgcSets
from xsent.run.config.build import build
from xsent.run.config.compose import plain
from xsent.text.noise import MIX_ALL, TRANSFORMATIONS, Noiser

CLEAN = [
    "The weather in London is not as good as it was on Monday.",
    "There are two hundred people who want to know because they are going to be late.",
    "Please tell your friends about the meeting in September.",
]


@pytest.fixture
def noise(tmp_path: Path) -> Noiser:
    noiser = build(plain(config("evaluate", tmp_path, "evaluator=ugc"))["evaluator"]["read"]["noise"], "noise")
    assert isinstance(noiser, Noiser)
    return noiser


def sets(noise: Noiser, **changes: Any) -> UgcSets:
    files = dict.fromkeys(("rocsmt", "lexnorm", "flores", "flores_augmented", "flores_error_types"))
    options = {"lexnorm_lower_case": True, "transforms": ["leet", MIX_ALL], "seeds": 2, "language": "eng"}
    return UgcSets(**{"noise": noise, "negatives": None, **files, **options, **changes})  # type: ignore[arg-type]


@pytest.fixture
def flores(tmp_path: Path) -> Path:
    folder = tmp_path / "flores"
    folder.mkdir()
    (folder / "eng_Latn.dev").write_text("\n".join(CLEAN) + "\n")
    (folder / "fra_Latn.dev").write_text("Un.\nDeux.\nTrois.\n")
    return folder


def test_every_generation_of_every_noise_is_a_set_and_equals_what_the_noiser_makes_of_each_line(
    noise: Noiser, flores: Path
) -> None:
    noisy_sets = sets(noise, flores=str(flores))(None, None)
    assert [(noisy_set.name, noisy_set.seed) for noisy_set in noisy_sets] == [
        ("flores_leet", 1),
        ("flores_leet", 2),
        ("flores_mix_all", 1),
        ("flores_mix_all", 2),
    ]
    for noisy_set in noisy_sets:
        noiser = noise.with_transform(noisy_set.name.removeprefix("flores_")).with_seed(int(noisy_set.seed or 0))
        assert noisy_set.noisy == [noiser(text, line).text for line, text in enumerate(CLEAN, start=1)]
        assert noisy_set.standard == CLEAN
    assert noisy_sets[0].noisy != noisy_sets[1].noisy
    assert noisy_sets[0].step_counts == [1, 1, 1]
    plans = [noise.with_seed(1)(text, line).applied for line, text in enumerate(CLEAN, start=1)]
    assert noisy_sets[2].step_counts == [len(plan) for plan in plans]


def test_conditions_name_the_word_lists_and_the_negatives(noise: Noiser, flores: Path, shared_data: Path) -> None:
    transforms = ["abr2", "homo", "leet", MIX_ALL]
    bundled = sets(noise, flores=str(flores), transforms=transforms, seeds=1)(None, None)
    assert [each.conditions["word_lists"] for each in bundled] == ["bundled", "bundled", "NL-Augmenter", "bundled"]
    assert {(each.conditions["negatives"], each.conditions["generations"]) for each in bundled} == {("none", "1")}
    theirs = replace(noise, resources=str(shared_data / "nlaugmenter"))
    lists = [
        each.conditions["word_lists"]
        for each in sets(theirs, flores=str(flores), transforms=transforms, seeds=1)(None, None)
    ]
    assert lists == ["NL-Augmenter", "bundled", "NL-Augmenter", "NL-Augmenter, bundled homophones"]


def test_languages_of_flores_are_beside_english_and_its_negatives(flores: Path) -> None:
    negatives = GeneratedNegatives(seed=0, per_number=1, per_entity=1, max_per_sentence=None)
    read = FloresLanguages(negatives=negatives, flores_augmented=None, flores_error_types=None)
    (french,) = read(str(flores), None)
    assert (french.name, french.noisy, french.standard) == ("fra", ["Un.", "Deux.", "Trois."], CLEAN)
    assert french.augmented == negatives(CLEAN).augmented
    assert french.conditions == {"negatives": "generated"}
    with pytest.raises(ValueError, match="belong together"):
        FloresLanguages(negatives=None, flores_augmented="a", flores_error_types=None)


def test_noise_does_not_follow_the_seed_of_the_run(noise: Noiser, flores: Path) -> None:
    assert sets(noise, flores=str(flores))(None, None) == sets(noise.with_seed(7), flores=str(flores))(None, None)


def test_a_file_is_read_as_its_folder_is(noise: Noiser, flores: Path) -> None:
    file = flores / "eng_Latn.dev"
    assert sets(noise, flores=str(file))(None, None) == sets(noise, flores=str(flores))(None, None)


def test_a_folder_with_two_english_files_or_none_asks_for_the_file(noise: Noiser, flores: Path) -> None:
    (flores / "eng_Latn.devtest").write_text("x\n")
    with pytest.raises(FileNotFoundError, match=r"eng_Latn.dev, eng_Latn.devtest; give the file"):
        sets(noise, flores=str(flores))(None, None)
    with pytest.raises(FileNotFoundError, match="found none; give the file"):
        sets(noise, flores=str(flores.parent))(None, None)


def test_generations_share_the_negatives_made_of_the_standard_side(noise: Noiser, flores: Path) -> None:
    negatives = GeneratedNegatives(seed=1, per_number=1, per_entity=1, max_per_sentence=2)
    noisy_sets = sets(noise, flores=str(flores), negatives=negatives)(None, None)
    assert noisy_sets[0].augmented
    assert all(noisy_set.augmented is noisy_sets[0].augmented for noisy_set in noisy_sets)
    assert {source for source, _ in noisy_sets[0].made_from.values()} <= set(CLEAN)


def test_published_negatives_take_the_place_of_made_ones(noise: Noiser, flores: Path, tmp_path: Path) -> None:
    (tmp_path / "augmented").write_text("Something else.\n")
    (tmp_path / "types").write_text(json.dumps({"Something else.": {"src": CLEAN[0], "errtype": "entity"}}))
    files = {"flores_augmented": str(tmp_path / "augmented"), "flores_error_types": str(tmp_path / "types")}
    negatives = GeneratedNegatives(seed=1, per_number=1, per_entity=1, max_per_sentence=2)
    noisy_sets = sets(noise, flores=str(flores), negatives=negatives, **files)(None, None)
    assert noisy_sets[0].augmented == ["Something else."]
    with pytest.raises(ValueError, match="expected both or neither"):
        sets(noise, flores=str(flores), flores_augmented=files["flores_augmented"])


def test_natural_sources_come_first_and_any_may_be_missing(noise: Noiser, flores: Path, shared_data: Path) -> None:
    lexnorm = str(shared_data / "lexnorm2015" / "train_data.json")
    noisy_sets = sets(noise, flores=str(flores), rocsmt=str(shared_data / "rocsmt"), lexnorm=lexnorm)(None, None)
    names = dict.fromkeys(noisy_set.name for noisy_set in noisy_sets)
    assert list(names) == ["rocsmt", "lexnorm", "flores_leet", "flores_mix_all"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"evaluator.read.rocsmt=FOLDER"),
        ({"flores": "x", "transforms": ["leat"]}, f"unknown leat; expected some of {', '.join(TRANSFORMATIONS)}"),
        ({"flores": "x", "seeds": 0}, r"evaluator.read.seeds=0"),
    ],
)
def test_options_that_cannot_be_are_refused(noise: Noiser, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sets(noise, **options)
