import gzip
import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from xsent.data.readers.parallel import (
    SentencePair,
    read_hub,
    read_jsonl,
    read_moses,
    read_opus_zip,
    read_parquet,
    read_tables,
)
from xsent.data.readers.rejects import RejectLedger

PATTERN = r"(?P<source>[a-z]{2,3})-(?P<target>[a-z]{2,3})\.(tsv|csv|jsonl)(\.gz)?"
OPTIONS: dict[str, Any] = {"columns": None, "source_lang": None, "target_lang": None}
SIDES = [("one", "eins"), ('a "stray quote', "line\u2028separator"), ("three", "drei")]


def ledger() -> RejectLedger:
    return RejectLedger(strict=False)


def tables(ledger: RejectLedger, root: str, **options: Any) -> Iterator[SentencePair]:
    return read_tables(ledger, root, pattern=PATTERN, **{**OPTIONS, **options})


def sides(pairs: Iterator[SentencePair]) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs]


def rejects(book: RejectLedger) -> list[tuple[int, str]]:
    return [(reject.line, reject.reason) for reject in book.rejects]


def tsv(folder: Path, name: str = "en-de.tsv", *, text: str | bytes | None = None) -> Path:
    if text is None:
        text = "".join(f"{source}\t{target}\tmade-up\n" for source, target in SIDES)
    raw = text if isinstance(text, bytes) else text.encode()
    (folder / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return folder


# ---- tab-separated


@pytest.mark.parametrize("name", ["en-de.tsv", "en-de.tsv.gz", "eng-deu.tsv"])
def test_tsv_gives_pairs_with_languages_origin_and_place(tmp_path: Path, name: str) -> None:
    pairs = list(tables(ledger(), str(tsv(tmp_path, name))))
    assert [(pair.source, pair.target) for pair in pairs] == SIDES
    assert pairs[2] == SentencePair("three", "drei", "eng", "deu", "made-up", str(tmp_path / name), 3)


def test_tsv_without_origins_is_read_too(tmp_path: Path) -> None:
    tsv(tmp_path, text="one\teins\ntwo\tzwei\n")
    pairs = list(tables(ledger(), str(tmp_path)))
    assert [(pair.target, pair.origin) for pair in pairs] == [("eins", ""), ("zwei", "")]


def test_tsv_sends_unusable_lines_to_the_ledger_and_keeps_the_rest(tmp_path: Path) -> None:
    rows = [
        b"a\tb\tx",
        b"two\tcolumns",
        b"\tempty\tx",
        b"c\t \xc2\xa0\tx",
        b"\xff\tb\tx",
        b"",
        b"d\te\tf\tg",
        b"y\tz\tx",
    ]
    tsv(tmp_path, text=b"\r\n".join(rows))
    book = ledger()
    assert sides(tables(book, str(tmp_path))) == [("a", "b"), ("y", "z")]
    assert rejects(book) == [
        (2, "expected 3 columns"),
        (3, "empty side"),
        (4, "empty side"),
        (5, "broken UTF-8"),
        (6, "expected 3 columns"),
        (7, "expected 3 columns"),
    ]
    assert book.lines == 8


def test_strict_tsv_stops_at_file_and_line(tmp_path: Path) -> None:
    tsv(tmp_path, text="a\tb\tx\nonly one\n")
    with pytest.raises(ValueError, match=r"en-de\.tsv:2: expected 3 columns, found 1 columns"):
        list(tables(RejectLedger(strict=True), str(tmp_path)))


def test_a_folder_without_fitting_files_says_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(FileNotFoundError, match=r"expected files .* found notes\.txt"):
        list(tables(ledger(), str(tmp_path)))


def test_a_file_of_an_unknown_language_is_an_error(tmp_path: Path) -> None:
    tsv(tmp_path, "en-de.tsv")
    with pytest.raises(ValueError, match=r"en-xx\.tsv: unknown language 'xx'.*; rename the file"):
        next(tables(ledger(), str(tsv(tmp_path, "en-xx.tsv"))))


def test_a_table_of_a_folder_whose_name_does_not_fit_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tsv(tmp_path, "en-de.tsv")
    tsv(tmp_path, "english-german.tsv")
    assert len(list(tables(ledger(), str(tmp_path)))) == len(SIDES)
    assert "not read, since the name is not like en-de.tsv: english-german.tsv" in caplog.text


# ---- line-aligned files


def moses(folder: Path, stem: str = "corpus.en-de", *, source: bytes | None = None) -> Path:
    _, languages = stem.rsplit(".", maxsplit=1)
    source_code, target_code = languages.split("-")
    raw = "".join(f"{source}\n" for source, _ in SIDES).encode() if source is None else source
    (folder / f"{stem}.{source_code}").write_bytes(raw)
    (folder / f"{stem}.{target_code}").write_bytes("".join(f"{target}\n" for _, target in SIDES).encode())
    return folder


def test_moses_files_are_paired_by_line(tmp_path: Path) -> None:
    pairs = list(read_moses(ledger(), str(moses(tmp_path, "news-commentary-v16.de-en"))))
    assert [(pair.source, pair.target) for pair in pairs] == SIDES
    assert {(pair.source_lang, pair.target_lang) for pair in pairs} == {("deu", "eng")}


def test_a_folder_of_tatoeba_test_files_is_read_as_moses(tmp_path: Path) -> None:
    pairs = list(read_moses(ledger(), str(moses(tmp_path, "tatoeba.cmn-eng"))))
    assert {(pair.source_lang, pair.target_lang) for pair in pairs} == {("zho", "eng")}


def test_moses_sides_of_different_length_are_an_error_with_both_counts(tmp_path: Path) -> None:
    moses(tmp_path, source=b"one\ntwo\n")
    with pytest.raises(ValueError, match=r"corpus\.en-de\.en has 2 lines, .*corpus\.en-de\.de has 3"):
        list(read_moses(ledger(), str(tmp_path)))


@pytest.mark.parametrize("broken", [0, 1, 2])
def test_a_broken_moses_line_takes_its_partner_along_and_nothing_moves(tmp_path: Path, broken: int) -> None:
    lines = [source.encode() for source, _ in SIDES]
    lines[broken] = b"\xff"
    moses(tmp_path, source=b"\n".join(lines))
    book = ledger()
    assert sides(read_moses(book, str(tmp_path))) == [pair for i, pair in enumerate(SIDES) if i != broken]
    assert rejects(book) == [(broken + 1, "broken UTF-8")]


def test_a_missing_moses_side_is_named(tmp_path: Path) -> None:
    moses(tmp_path)
    (tmp_path / "corpus.en-de.de").unlink()
    with pytest.raises(FileNotFoundError, match=r"holds corpus\.en-de\.en, expected corpus\.en-de\.de"):
        list(read_moses(ledger(), str(tmp_path)))


def test_an_opus_zip_gives_what_its_moses_files_give(tmp_path: Path) -> None:
    moses(tmp_path)
    with zipfile.ZipFile(tmp_path / "corpus.zip", "w") as archive:
        for name in ("corpus.en-de.en", "corpus.en-de.de"):
            archive.write(tmp_path / name, name)
        archive.writestr("README", "a corpus")
    assert sides(read_opus_zip(ledger(), str(tmp_path / "corpus.zip"))) == SIDES


def test_an_opus_zip_that_is_no_zip_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "corpus.zip").write_text("not one")
    with pytest.raises(ValueError, match="expected a complete zip file"):
        list(read_opus_zip(ledger(), str(tmp_path / "corpus.zip")))


# ---- records


def records() -> list[dict[str, str]]:
    return [
        {"source": source, "target": target, "source_lang": "en", "target_lang": "deu_Latn", "origin": "o"}
        for source, target in SIDES
    ]


def test_jsonl_takes_the_languages_from_the_record(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records()))
    pairs = list(read_jsonl(ledger(), str(path), **OPTIONS))
    assert [(pair.source, pair.target) for pair in pairs] == SIDES
    assert {pair[2:5] for pair in pairs} == {("eng", "deu", "o")}


def test_jsonl_lines_that_are_no_pair_go_to_the_ledger(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    rows = ["{", '{"source": "a"}', "[1]", '{"source": "a", "target": "\\ud800"}', '{"source": "", "target": "b"}']
    path.write_text("\n".join([*rows, '{"source": "a", "target": "b"}']))
    book = ledger()
    assert sides(read_jsonl(book, str(path), columns=None, source_lang="en", target_lang="de")) == [("a", "b")]
    assert [line for line, _ in rejects(book)] == [1, 2, 3, 4, 5]
    assert book.lines == 6


def test_jsonl_without_a_language_says_where(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"source": "a", "target": "b", "source_lang": "en"}')
    with pytest.raises(ValueError, match=r"pairs\.jsonl:1: expected source_lang and target_lang"):
        list(read_jsonl(ledger(), str(path), **OPTIONS))


def test_parquet_gives_what_jsonl_gives(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(records()), tmp_path / "pairs.parquet")
    book = ledger()
    pairs = list(read_parquet(book, str(tmp_path / "pairs.parquet"), **OPTIONS))
    assert [(pair.source, pair.target) for pair in pairs] == SIDES
    assert book.lines == 3


def hub(root: str) -> Iterator[SentencePair]:
    return read_hub(ledger(), root, subset=None, split="train", revision=None, **OPTIONS)


def test_a_data_set_by_id_gives_pairs_in_both_usual_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the extra hub")
    rows = [*records(), {"translation": {"en": "four", "de": "vier"}}]
    monkeypatch.setattr(datasets, "load_dataset", lambda *args, **kwargs: iter(rows))
    assert sides(hub("some/set")) == [*SIDES, ("four", "vier")]


def test_an_unreachable_hub_names_the_data_set_the_variables_and_the_local_way(monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the extra hub")

    def fail(*args: object, **kwargs: object) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr(datasets, "load_dataset", fail)
    with pytest.raises(OSError, match=r"some/set.*HF_ENDPOINT.*HF_HOME.*HF_HUB_OFFLINE.*data\.root="):
        list(hub("some/set"))


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match=r"xsent\[hub\]"):
        list(hub("some/set"))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "f.parquet").touch()
    with pytest.raises(ImportError, match=r"xsent\[parquet\]"):
        list(read_parquet(ledger(), str(tmp_path / "f.parquet"), **OPTIONS))


@pytest.mark.parametrize(
    "read",
    [
        lambda root: tables(ledger(), root),
        lambda root: read_moses(ledger(), root),
        lambda root: read_opus_zip(ledger(), root),
        lambda root: read_jsonl(ledger(), root, **OPTIONS),
        lambda root: read_parquet(ledger(), root, **OPTIONS),
    ],
)
def test_a_missing_file_or_folder_is_named(read: Callable[[str], Iterator[SentencePair]], tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"nowhere: no such (file|folder|file or folder); give one with data\.root="
    ):
        list(read(str(tmp_path / "nowhere")))
