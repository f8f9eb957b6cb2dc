"""SwissGov-RSD: what is read, and what is refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from xsent.batch import WordPair
from xsent.data.test_sets.swissgov import read_swissgov

PAGE = {"text_a": "A page .", "text_b": "Eine Seite", "labels_a": [0.0, 0.4, -1.0], "labels_b": [1, 0], "id": "de_0"}


def write(folder: Path, *records: dict[str, Any], name: str = "dev.de.jsonl") -> str:
    (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(folder)


def test_a_page_has_words_and_labels_of_both_sides(tmp_path: Path) -> None:
    (documents,) = read_swissgov(write(tmp_path, PAGE), None, part="dev")
    assert documents.pairs == [WordPair(("A", "page", "."), ("Eine", "Seite"))]
    assert documents.labels == [((0.0, 0.4, -1.0), (1.0, 0.0))]
    assert (documents.source, documents.target) == (["A page ."], ["Eine Seite"])
    assert (documents.name, documents.source_lang, documents.target_lang) == ("deu", "eng", "deu")


def test_languages_and_parts_are_those_of_the_file_names(tmp_path: Path) -> None:
    for name in ("dev.de.jsonl", "dev.fr.jsonl", "test.it.jsonl"):
        write(tmp_path, PAGE, name=name)
    (tmp_path / "dev.it.jsonl.gz").write_bytes(gzip.compress(json.dumps(PAGE).encode()))
    assert [found.name for found in read_swissgov(str(tmp_path), None, part="dev")] == ["deu", "fra", "ita"]
    assert [found.name for found in read_swissgov(str(tmp_path), ["it"], part="test")] == ["ita"]
    with pytest.raises(FileNotFoundError, match=r"no test\.<language>\.jsonl for deu; there are ita$"):
        read_swissgov(str(tmp_path), ["deu"], part="test")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels_a": [0, 0]}, "labels_a: expected a number for each of 3 words, found 2"),
        ({"labels_b": "0 0"}, "labels_b: expected a number for each of 2 words, found '0 0'"),
        ({"labels_b": [0, 1.2]}, r"labels_b: expected numbers from 0 to 1, or -1 for no label, found 1\.2"),
        ({"labels_b": [0, True]}, "labels_b: expected numbers from 0 to 1, or -1 for no label, found True"),
        ({"text_b": " "}, "expected text in text_b, found ' '"),
        ({"text_a": 7}, "expected text in text_a, found '7'"),
    ],
)
def test_a_wrong_page_is_an_error_with_file_and_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=rf"dev\.de\.jsonl:2: {message}$"):
        read_swissgov(write(tmp_path, PAGE, {**PAGE, **change}), None, part="dev")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": expected at least 1 line, found an empty file"),
        ("[1]\n", ":1: expected an object with text_a, text_b, labels_a, labels_b, found"),
        ("{\n", ":1: expected a JSON object, found "),
    ],
)
def test_a_file_without_pages_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "dev.de.jsonl").write_text(text)
    with pytest.raises(ValueError, match=rf"dev\.de\.jsonl{message}"):
        read_swissgov(str(tmp_path), None, part="dev")
