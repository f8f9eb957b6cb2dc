"""LASER2 against vectors, pieces and texts of the reference implementation."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from xsent.models.encoders.laser import LaserEncoder
from xsent.models.encoders.laser_normalization import normalize_laser


@pytest.fixture(scope="module")
def folder(fixtures_dir: Path) -> Path:
    return fixtures_dir / "laser2"


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return content


def load(folder: Path, **options: Any) -> LaserEncoder:
    plain: dict[str, Any] = {"name": "laser2", "path": str(folder), "max_length": None, "normalize": False}
    return LaserEncoder.load(**plain | options)


@pytest.mark.parametrize("token_budget", [1, 40, 10_000])
def test_vectors_equal_the_reference_in_any_batch(folder: Path, expected: dict[str, Any], token_budget: int) -> None:
    encoder = load(folder)
    encoder.cpu_token_budget = token_budget
    vectors = encoder.encode(expected["sentences"])
    torch.testing.assert_close(vectors, torch.tensor(expected["embeddings"]), rtol=0, atol=1e-5)


def test_padding_never_changes_a_vector(folder: Path, expected: dict[str, Any]) -> None:
    encoder = load(folder)
    tokens = encoder.collate(encoder.tokenize(expected["sentences"]))
    with torch.no_grad():
        torch.testing.assert_close(encoder(tokens), torch.tensor(expected["embeddings"]), rtol=0, atol=1e-5)


def test_pieces_equal_the_reference(folder: Path, expected: dict[str, Any]) -> None:
    encoder = load(folder)
    names = {id_: piece for piece, id_ in encoder.dictionary.items()}
    for ids, pieces in zip(encoder.tokenize(expected["sentences"]), expected["pieces"], strict=True):
        expected_pieces = [piece if piece in encoder.dictionary else "<unk>" for piece in pieces.split()]
        assert [names[id_] for id_ in ids] == [*expected_pieces, "</s>"]
    assert encoder.to_pieces(expected["sentences"]) == [pieces.split() for pieces in expected["pieces"]]


def test_text_is_prepared_as_the_reference_does(fixtures_dir: Path) -> None:
    content = json.loads((fixtures_dir / "rolaser.json").read_text(encoding="utf-8"))
    for case in content["laser_preprocessing"]["cases"]:
        assert normalize_laser(case["in"]) == case["out"].strip()


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        ("He said “Yes”.", 'he said "yes."'),
        ("a\u00a0: b\u00a0!", "a: b!"),
        ("(x) .", "(x)."),
        ("&amp;", "&amp;"),
        ("", ""),
    ],
)
def test_punctuation_rules_by_hand(text: str, prepared: str) -> None:
    assert normalize_laser(text) == prepared


def test_empty_sentences_are_zero_and_counted(folder: Path) -> None:
    encoder = load(folder)
    assert encoder.encode(["", "\u200b", "A"]).abs().sum(dim=1).gt(0).tolist() == [False, False, True]
    assert encoder.empty_sentences == 2


def test_bfloat16_is_near(folder: Path, expected: dict[str, Any]) -> None:
    vectors = load(folder).encode(expected["sentences"], precision="bfloat16")
    torch.testing.assert_close(vectors, torch.tensor(expected["embeddings"]), rtol=0, atol=2e-2)


def test_length_and_normalisation_are_options_and_in_the_digest(folder: Path) -> None:
    plain, unit, short = load(folder), load(folder, normalize=True), load(folder, max_length=3)
    assert unit.encode(["Hello world!"]).norm().item() == pytest.approx(1.0)
    assert [len(ids) for ids in short.tokenize(["Hello world!", "A"])] == [3, 2]
    assert short.tokenize(["Hello world!"])[0][-1] == 2
    assert len({plain.digest(), unit.digest(), short.digest(), load(folder).digest()}) == 3


def test_a_dictionary_beside_the_weights_is_read(folder: Path, tmp_path: Path, expected: dict[str, Any]) -> None:
    stored = torch.load(folder / "laser2_tiny.pt", weights_only=True)
    pieces = sorted(stored.pop("dictionary").items(), key=lambda item: item[1])[4:]
    torch.save(stored, tmp_path / "laser2.pt")
    shutil.copy(folder / "laser2_tiny.spm", tmp_path / "laser2.spm")
    with pytest.raises(FileNotFoundError, match=r"expected laser2\.cvocab"):
        load(tmp_path)
    lines = "".join(f"{piece} 1\n" for piece, _ in pieces)
    (tmp_path / "laser2.cvocab").write_text(lines, encoding="utf-8")
    torch.testing.assert_close(
        load(tmp_path).encode(expected["sentences"]), torch.tensor(expected["embeddings"]), rtol=0, atol=1e-5
    )
    (tmp_path / "laser2.cvocab").write_text(lines + "no count\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"laser2\.cvocab:\d+: expected a piece and its count"):
        load(tmp_path)


def test_missing_or_foreign_files_are_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"fetch laser2\.pt.*encoder\.path="):
        LaserEncoder.load(name="laser2", path=None, max_length=None, normalize=False)
    with pytest.raises(FileNotFoundError, match=r"expected laser2\.pt or a single \*\.pt, found none"):
        load(tmp_path)
    torch.save({"weights": torch.zeros(1)}, tmp_path / "laser2.pt")
    with pytest.raises(ValueError, match="expected params and model of a LASER2 encoder"):
        load(tmp_path)
