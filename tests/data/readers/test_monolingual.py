"""Sentences a line or in a column of TSV."""

import gzip
from pathlib import Path

import pytest

from xsent.data.readers.monolingual import Sentence, read_sentences
from xsent.data.readers.rejects import RejectLedger

ENGLISH = r"A-Za-z0-9 .,;:!?'\"()\-"


def read(
    root: Path, *, column: int = 0, share: float = 0.0, lang: str = "en", common: str = ENGLISH
) -> tuple[list[Sentence], RejectLedger]:
    ledger = RejectLedger(strict=False)
    options = {"lang": lang, "column": column, "common": common, "common_share": share}
    return list(read_sentences(ledger, str(root), **options)), ledger  # type: ignore[arg-type]


def test_a_folder_is_read_file_by_file_packed_or_not(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("Second file.\n")
    with gzip.open(tmp_path / "a.tsv.gz", "wt") as file:
        file.write("First file.\ttatoeba\n")
    (tmp_path / "README.md").write_text("no data\n")
    sentences, _ = read(tmp_path)
    assert [(sentence.text, sentence.lang, Path(sentence.file).name, sentence.line) for sentence in sentences] == [
        ("First file.", "eng", "a.tsv.gz", 1),
        ("Second file.", "eng", "b.txt", 1),
    ]


def test_lines_that_are_no_sentence_go_to_the_ledger(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"x\tgood\nonly one\ny\t \nz\t\xff\n")
    sentences, ledger = read(tmp_path / "a.tsv", column=1)
    assert [sentence.text for sentence in sentences] == ["good"]
    assert [(reject.line, reject.reason) for reject in ledger.rejects] == [
        (2, "expected at least 2 columns"),
        (3, "no sentence"),
        (4, "broken UTF-8"),
    ]


def test_sentences_of_other_characters_are_left_out_by_their_share(tmp_path: Path) -> None:
    # Of ten characters one, then two, are not among the common ones.
    (tmp_path / "a.txt").write_text("abcdefghi\u00e9\nabcdefgh\u00e9\u00e9\n\u65e5\u672c\n", encoding="utf-8")
    sentences, ledger = read(tmp_path / "a.txt", share=0.9)
    assert [sentence.line for sentence in sentences] == [1]
    assert ledger.rejects[0].reason == "expected 90% common characters"
    assert len(read(tmp_path / "a.txt", share=0.0, lang="ja")[0]) == 3


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"expected a text file, or a folder of \.txt"):
        read(tmp_path)
    (tmp_path / "a.txt").write_text("x\n")
    with pytest.raises(ValueError, match=r"data\.reader\.column=-1"):
        read(tmp_path / "a.txt", column=-1)
    with pytest.raises(ValueError, match=r"data\.reader\.common='z-a': expected characters"):
        read(tmp_path / "a.txt", common="z-a")
    with pytest.raises(ValueError, match=r"data\.reader\.common_share=90"):
        read(tmp_path / "a.txt", share=90)
