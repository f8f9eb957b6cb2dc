import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.data.readers.flores import ENGLISH, write, write_flores
from xsent.data.test_sets.xsimpp import AugmentedFlores
from xsent.jobs.synthesis.augment import augment_file


@pytest.fixture
def flores(tmp_path: Path) -> Path:
    return write_flores(tmp_path)


def make(source: Path, prefix: Path, **changes: Any) -> Any:
    options: dict[str, Any] = {"seed": 1, "per_number": 2, "per_entity": 3, "max_per_sentence": None}
    return augment_file(source, prefix, **{**options, **changes})


def test_the_output_is_readable_as_xsimpp_data(flores: Path) -> None:
    summary = make(flores / "eng_Latn.dev", flores / "made" / "eng_Latn")
    assert summary.augmented == flores / "made" / "eng_Latn_augmented.dev"
    assert summary.error_types == flores / "made" / "eng_Latn_errtype.dev.json"
    assert sorted(path.name for path in (flores / "made").iterdir()) == [
        summary.augmented.name,
        summary.error_types.name,
    ]
    read = AugmentedFlores(augmented=str(summary.augmented), error_types=str(summary.error_types))
    (bitext,) = read(str(flores), None)
    assert summary.sentences == 3
    assert summary.augmentations.total() == len(bitext.augmented) == len(set(bitext.augmented))
    # "Two" and 1990 twice each, Paris three times, and "was not".
    assert dict(summary.augmentations) == {
        "number_replacement": 4, "entity_mention_replacement": 3, "causality_alternation": 1,
    }  # fmt: skip
    assert not set(bitext.augmented) & set(ENGLISH)
    assert str(summary).startswith("8 hard negatives of 3 sentences, 2.7 each")


def test_the_output_depends_on_the_seed_but_not_on_the_order_of_lines(flores: Path) -> None:
    once, again, other_seed = (make(flores / "eng_Latn.dev", flores / name, seed=seed) for name, seed in
                          [("a", 1), ("b", 1), ("c", 2)])  # fmt: skip
    assert once.augmented.read_bytes() == again.augmented.read_bytes() != other_seed.augmented.read_bytes()
    assert once.error_types.read_bytes() == again.error_types.read_bytes()
    backwards = make(write(flores / "back.dev", *ENGLISH[::-1]), flores / "d")
    assert sorted(backwards.augmented.read_text().split("\n")) == sorted(once.augmented.read_text().split("\n"))


def test_no_negative_is_a_line_of_the_source_and_a_line_is_augmented_once(tmp_path: Path) -> None:
    source = write(tmp_path / "x.txt", "He was here.", "He was not here.", "He was here.", "")
    with pytest.raises(ValueError, match=r"x\.txt: none of 3 sentences has a number, a name or a word to be changed"):
        make(source, tmp_path / "x")
    assert list(tmp_path.iterdir()) == [source]


def test_a_gzip_source_is_read_and_the_cap_is_applied(tmp_path: Path) -> None:
    source = tmp_path / "x.en.gz"
    source.write_bytes(gzip.compress("\n".join(ENGLISH).encode()))
    summary = make(source, tmp_path / "x", max_per_sentence=1)
    assert summary.augmented.name == "x_augmented.en"
    entries = json.loads(summary.error_types.read_text())
    assert [entry["src"] for entry in entries.values()] == ENGLISH[:2]


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_a_source_without_text_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.txt").write_text(content)
    with pytest.raises(ValueError, match=r"x\.txt: expected at least 1 sentence, found none"):
        make(tmp_path / "x.txt", tmp_path / "x")
    with pytest.raises(FileNotFoundError, match=r"none\.txt"):
        make(tmp_path / "none.txt", tmp_path / "x")


def test_flores_gives_a_number_of_negatives_like_the_papers(shared_data: Path, tmp_path: Path) -> None:
    # 44,033 of 1,012 sentences in the published files, 43.5 each, nine in ten of them entities.
    source = shared_data / "flores200/dev/eng_Latn.dev"
    summary = make(source, tmp_path / "eng_Latn", per_number=4, per_entity=100)
    assert 35 < summary.augmentations.total() / 997 < 50
    assert 0.8 < summary.augmentations["entity_mention_replacement"] / summary.augmentations.total() < 0.95
