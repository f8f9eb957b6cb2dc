"""Distinct sentences of a file, with counts of the dropped lines."""

import gzip
import random
from pathlib import Path

import numpy as np
import pytest

from xsent.jobs.mining import sentences as module
from xsent.jobs.mining.sentences import Sentences, read_sentences
from xsent.jobs.work_folder import WorkFolder

CONTENT = "\ufeffone\r\ntwo\n\n one \nthr\u2028ee\n   \ttwo\n\u3000\nfour".encode()


def read(path: Path, work: Path) -> Sentences:
    return read_sentences(path, WorkFolder(work), "source", rejects=path.with_name("rejects.tsv"))


def all_texts(sentences: Sentences) -> list[str]:
    return sentences.texts(0, len(sentences))


@pytest.mark.parametrize("name", ["text.en", "text.en.gz"])
def test_the_first_of_equal_lines_stands_for_all_and_empty_ones_are_counted(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(CONTENT) if name.endswith(".gz") else CONTENT)
    result = read(tmp_path / name, tmp_path / "work")
    assert all_texts(result) == ["one", "two", "thr\u2028ee", "four"]
    assert result.line_numbers().tolist() == [1, 2, 5, 8]
    assert result.counts() == (8, 0, 2, 2, 4)
    assert result[3] == "four"
    assert result.texts(1, 3) == ["two", "thr\u2028ee"]
    assert not (tmp_path / "rejects.tsv").exists()


def test_lines_that_are_not_utf8_go_to_the_ledger(tmp_path: Path) -> None:
    (tmp_path / "text.en").write_bytes(b"good\nb\xffd\nfine\n")
    result = read(tmp_path / "text.en", tmp_path / "work")
    assert all_texts(result) == ["good", "fine"]
    assert result.line_numbers().tolist() == [1, 3]
    assert result.counts().rejected == 1
    ledger = (tmp_path / "rejects.tsv").read_text().split("\n")
    assert ledger[1].split("\t")[1:] == ["2", "broken UTF-8", "byte 0xff at position 1"]


@pytest.mark.parametrize(
    ("content", "result"),
    [(b"", "0 lines, 0 distinct"), (b"\n \n\xff\n", "3 lines, 0 distinct sentences .*2 empty, 1 not UTF-8")],
)
def test_a_file_without_a_sentence_is_an_error_with_counts(tmp_path: Path, content: bytes, result: str) -> None:
    (tmp_path / "text.en").write_bytes(content)
    with pytest.raises(ValueError, match=rf"text\.en: expected one sentence per line, found {result}"):
        read(tmp_path / "text.en", tmp_path / "work")


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.gz").write_bytes(gzip.compress(CONTENT * 100)[:-20])
    with pytest.raises(ValueError, match=r"text\.gz: expected a complete gzip file"):
        read(tmp_path / "text.gz", tmp_path / "work")


def test_parts_and_chunks_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(0)
    lines = [f"line {rng.randrange(400)}" for _ in range(1500)]
    (tmp_path / "text.en").write_text("\n".join(lines))
    monkeypatch.setattr(module, "PART", 100)
    monkeypatch.setattr(module, "BUFFER", 64)
    result = read(tmp_path / "text.en", tmp_path / "work")
    assert all_texts(result) == list(dict.fromkeys(lines))
    assert [lines[number - 1] for number in result.line_numbers().tolist()] == all_texts(result)


def test_digests_that_share_a_half_are_not_the_same() -> None:
    digests = np.array([[1, 2], [1, 3], [2, 2], [1, 2]], dtype=np.uint64)
    assert module._is_first(digests).tolist() == [True, True, True, False]
