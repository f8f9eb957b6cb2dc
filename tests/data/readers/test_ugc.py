"""Readers of noisy sentences beside their standard forms, and the hard negatives of the latter."""

import json
import logging
from pathlib import Path

import pytest

from xsent.data.readers.ugc import ROCSMT_NOISY, ROCSMT_STANDARD, read_lexnorm, read_rocsmt
from xsent.data.test_sets.ugc import GeneratedNegatives
from xsent.data.test_sets.xsimpp import AugmentedFlores
from xsent.jobs.synthesis.augment import augment_file

# ---- RoCS-MT

NOISY = ["c u 2morrow", "gr8 idea", "Fine."]
STANDARD = ["See you tomorrow.", "Great idea.", "Fine."]
FRENCH = ["À demain.", "Bonne idée.", "Bien."]


def rocsmt(folder: Path, *, noisy: list[str], standard: list[str], tree: bool = False) -> str:
    sources, references = (folder / "src", folder / "ref") if tree else (folder, folder)
    for sub in (sources, references):
        sub.mkdir(parents=True, exist_ok=True)
    (sources / ROCSMT_NOISY).write_text("\n".join(noisy) + "\n")
    (sources / ROCSMT_STANDARD).write_text("\n".join(standard) + "\n")
    # The released translations end in TAB.
    (references / "RoCS-MT.ref.fr").write_text("".join(f"{line}\t\n" for line in FRENCH))
    return str(folder)


@pytest.mark.parametrize("tree", [False, True])
def test_a_folder_of_files_and_the_released_tree_are_read_alike(tmp_path: Path, tree: bool) -> None:
    element = read_rocsmt(rocsmt(tmp_path, noisy=NOISY, standard=STANDARD, tree=tree))
    assert (element.name, element.seed, element.language) == ("rocsmt", None, "eng")
    assert (element.noisy, element.standard) == (NOISY, STANDARD)
    assert element.translations == {"fra": FRENCH}


def test_pairs_with_an_empty_side_are_left_out_and_counted_and_equal_pairs_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = rocsmt(tmp_path, noisy=[NOISY[0], " ", "Fine."], standard=STANDARD)
    with caplog.at_level(logging.INFO):
        element = read_rocsmt(root)
    assert (element.noisy, element.standard) == ([NOISY[0], "Fine."], [STANDARD[0], "Fine."])
    assert element.translations == {"fra": [FRENCH[0], FRENCH[2]]}
    assert "1 of 3 pairs have an empty side" in caplog.text


def test_files_of_different_length_are_an_error_with_both_counts(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{ROCSMT_STANDARD} has 2 lines, .*{ROCSMT_NOISY} has 3"):
        read_rocsmt(rocsmt(tmp_path, noisy=NOISY, standard=STANDARD[:2]))
    with pytest.raises(ValueError, match=r"RoCS-MT.ref.fr has 3 lines, .* has 2"):
        read_rocsmt(rocsmt(tmp_path, noisy=NOISY[:2], standard=STANDARD[:2]))


def test_an_empty_translation_is_an_error_with_its_line(tmp_path: Path) -> None:
    root = rocsmt(tmp_path, noisy=NOISY, standard=STANDARD)
    (tmp_path / "RoCS-MT.ref.de").write_text("Bis morgen.\n\t\nGut.\n")
    with pytest.raises(ValueError, match=r"RoCS-MT.ref.de:2: expected a translation"):
        read_rocsmt(root)


def test_a_missing_file_or_folder_and_a_set_without_text_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"evaluator.read.rocsmt"):
        read_rocsmt(str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=ROCSMT_NOISY):
        read_rocsmt(str(tmp_path))
    with pytest.raises(ValueError, match="found none of 3"):
        read_rocsmt(rocsmt(tmp_path, noisy=["", "", ""], standard=STANDARD))


def test_the_first_half_of_the_release_is_read(shared_data: Path) -> None:
    element = read_rocsmt(str(shared_data / "rocsmt"))
    assert len(element.noisy) == len(element.standard) == 961  # shared_data's own description
    assert set(element.translations) == {"ces", "deu", "fra", "rus", "ukr"}
    # The sentence of the paper's Figure 2.
    assert element.noisy[128] == "I then lost interest in her bc her IG wasn't that interesting."
    assert not any(line.endswith("\t") for lines in element.translations.values() for line in lines)


# ---- LexNorm


def tweets(path: Path, *entries: object) -> str:
    path.write_text(json.dumps(list(entries)))
    return str(path)


def test_words_are_joined_and_those_that_others_took_in_disappear(tmp_path: Path) -> None:
    element = read_lexnorm(
        tweets(
            tmp_path / "a.json",
            {"input": ["LMK", "Screen", "shot", "pls"], "output": ["let me know", "screenshot", "", "please"]},
        ),
        lower_case=True,
        language="eng",
    )
    assert (element.name, element.noisy, element.standard) == (
        "lexnorm",
        ["lmk screen shot pls"],
        ["let me know screenshot please"],
    )


def test_the_noisy_side_may_keep_its_case(tmp_path: Path) -> None:
    file = tweets(tmp_path / "a.json", {"input": ["U", "OK"], "output": ["you", "ok"]})
    assert read_lexnorm(file, lower_case=False, language="eng").noisy == ["U OK"]


@pytest.mark.parametrize(
    ("tweet", "message"),
    [
        (
            {"input": ["a"], "output": ["b", "c"]},
            r"entry 2: expected as many words of output as of input \(1\), found 2",
        ),
        ({"input": ["a"]}, "entry 2: expected an object with lists of words"),
        ({"input": [1], "output": ["a"]}, "entry 2: expected an object with lists of words"),
        ("words", "entry 2: expected an object with lists of words"),
    ],
)
def test_a_damaged_tweet_is_an_error_with_its_number(tmp_path: Path, tweet: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_lexnorm(
            tweets(tmp_path / "a.json", {"input": ["a"], "output": ["a"]}, tweet), lower_case=True, language="eng"
        )


def test_broken_json_is_an_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[\n{]")
    with pytest.raises(ValueError, match=r"a.json:2: expected JSON"):
        read_lexnorm(str(tmp_path / "a.json"), lower_case=True, language="eng")


def test_norm_files_have_words_of_many_of_one_and_of_none(tmp_path: Path) -> None:
    (tmp_path / "a.norm").write_text("ima\ti am going to\nscreen\tscreenshot\nshot\t\n\n\nok\tok\n")
    element = read_lexnorm(str(tmp_path / "a.norm"), lower_case=True, language="eng")
    assert element.noisy == ["ima screen shot", "ok"]
    assert element.standard == ["i am going to screenshot", "ok"]


def test_a_norm_line_without_its_tab_is_an_error_with_its_number(tmp_path: Path) -> None:
    (tmp_path / "a.norm").write_text("u\tyou\nok\n")
    with pytest.raises(ValueError, match=r"a.norm:2: expected raw TAB normalised, found 1 columns"):
        read_lexnorm(str(tmp_path / "a.norm"), lower_case=True, language="eng")


def test_a_missing_file_and_one_of_another_kind_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"evaluator.read.lexnorm"):
        read_lexnorm(str(tmp_path / "a.json"), lower_case=True, language="eng")
    (tmp_path / "a.csv").write_text("x")
    with pytest.raises(ValueError, match=r"expected .json .* found .csv"):
        read_lexnorm(str(tmp_path / "a.csv"), lower_case=True, language="eng")


def test_the_training_tweets_of_the_shared_task_are_read(shared_data: Path) -> None:
    element = read_lexnorm(str(shared_data / "lexnorm2015" / "train_data.json"), lower_case=True, language="eng")
    assert len(element.noisy) == 2950  # shared_data's own description
    assert not any("  " in text for text in (*element.noisy, *element.standard))


# ---- negatives

ENGLISH = ["It is not good.", "There were 12 of them in London.", "There were 12 of them in London.", "Hm."]


def test_made_negatives_are_those_that_the_command_writes(tmp_path: Path) -> None:
    options = {"seed": 1, "per_number": 2, "per_entity": 2, "max_per_sentence": 3}
    generated = GeneratedNegatives(**options)(ENGLISH)
    (tmp_path / "eng.dev").write_text("\n".join(ENGLISH) + "\n")
    written = augment_file(tmp_path / "eng.dev", tmp_path / "eng", **options)
    assert generated.augmented == written.augmented.read_text().splitlines()
    entries = json.loads(written.error_types.read_text())
    assert generated.made_from == {text: (negative["src"], negative["errtype"]) for text, negative in entries.items()}
    assert 0 < len(generated.augmented) <= 6  # two sentences can be changed, three times at most

    published = AugmentedFlores(augmented=str(written.augmented), error_types=str(written.error_types))
    published.check_sources(set(ENGLISH), "eng.dev")
    assert published.files == generated


def test_published_negatives_of_other_sentences_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("It is good.\n")
    (tmp_path / "b").write_text(json.dumps({"It is good.": {"src": "It is not good.", "errtype": "x"}}))
    published = AugmentedFlores(augmented=str(tmp_path / "a"), error_types=str(tmp_path / "b"))
    with pytest.raises(ValueError, match=r"no English line in eng.dev"):
        published.check_sources({"Something else."}, "eng.dev")


def test_a_number_of_negatives_below_zero_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"evaluator.read.negatives.per_number=-1"):
        GeneratedNegatives(seed=1, per_number=-1, per_entity=0, max_per_sentence=None)
