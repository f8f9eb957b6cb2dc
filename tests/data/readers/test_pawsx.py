import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.helpers import existing
from xsent.data.readers.labelled import LabelledRow
from xsent.data.readers.pawsx import read_pawsx
from xsent.data.readers.rejects import RejectLedger

HEADER = "id\tsentence1\tsentence2\tlabel"


def released(folder: Path, files: Mapping[str, list[str]]) -> Path:
    """Files such as ``de/dev_2k.tsv``, their header added; a dev file, if only test files are given."""
    if all("test" in name for name in files):
        files = {"en/dev_2k.tsv": ["1\tx\ty\t1"], **files}
    for name, lines in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([HEADER, *lines]) + "\n")
    return folder


def xtreme(folder: Path, files: Mapping[str, list[str]]) -> Path:
    """Files such as ``dev-de.tsv``, as above; their lines end as the published ones may, with a carriage return."""
    if all("test" in name for name in files):
        files = {"dev-en.tsv": ["x\ty\t1"], **files}
    folder.mkdir(exist_ok=True)
    for name, lines in files.items():
        (folder / name).write_bytes("".join(f"{line}\r\n" for line in lines).encode())
    return folder


def read(folder: Path, part: str = "valid", *, only_dev: bool = False) -> list[LabelledRow]:
    return read_pawsx(RejectLedger(strict=False), str(folder), only_dev=only_dev)[part]()


# ---- the two forms


def test_the_released_form_is_read_with_its_ids(tmp_path: Path) -> None:
    folder = released(
        tmp_path,
        {
            "en/train.tsv": ['7\tone "a\ttwo\t1'],
            "de/translated_train.tsv": ["7\teins\tzwei\t1"],
            "en/dev_2k.tsv": ["7\tthree\tfour\t0"],
            "de/dev_2k.tsv": ["7\tdrei\tvier\t0"],
            "en/test_2k.tsv": ["9\tfive\tsix\t1"],
        },
    )
    parts = read_pawsx(RejectLedger(strict=True), str(folder), only_dev=False)
    assert set(parts) == {"train", "valid", "test"}
    german, english = parts["train"]()
    assert (english.item, english.source, english.target, english.label) == ("7", 'one "a', "two", 1)
    assert (german.source, german.source_lang, german.target_lang) == ("eins", "deu", "deu")
    assert (german.file, german.line) == (str(folder / "de/translated_train.tsv"), 2)
    assert [row.label for row in parts["valid"]()] == [0, 0]
    assert [row.item for row in parts["test"]()] == ["9"]


def test_the_xtreme_form_numbers_its_rows_and_drops_a_carriage_return_after_the_label(tmp_path: Path) -> None:
    files = {"dev-en.tsv": ["a\tb\t1", "c\td\t0"], "dev-zh.tsv": ["甲\t乙\t1", "丙\t丁\t0"]}
    rows = read(xtreme(tmp_path, files), "train", only_dev=True)
    assert [(row.item, row.source, row.source_lang, row.label) for row in rows] == [
        ("1", "a", "eng", 1),
        ("2", "c", "eng", 0),
        ("1", "甲", "zho", 1),
        ("2", "丙", "zho", 0),
    ]


def test_dev_files_alone_are_refused_unless_they_are_said_to_be_all(tmp_path: Path) -> None:
    folder = xtreme(tmp_path, {"dev-en.tsv": ["a\tb\t1"]})
    with pytest.raises(FileNotFoundError, match=r"dev files of PAWS-X and no others; data=pawsx_dev"):
        read(folder)
    parts = read_pawsx(RejectLedger(strict=True), str(folder), only_dev=True)
    assert list(parts) == ["train"]


@pytest.mark.parametrize(
    ("available", "missing", "parts"),
    [
        (["train", "dev"], "test", "train, valid"),
        (["train", "test"], "dev", "test, train"),
        (["train"], "dev and test", "train"),
    ],
)
def test_rows_cut_off_the_training_files_never_stand_for_dev_or_test_files(
    tmp_path: Path, available: list[str], missing: str, parts: str
) -> None:
    folder = xtreme(tmp_path, {f"{part}-en.tsv": ["a\tb\t1"] for part in available})
    with pytest.raises(FileNotFoundError, match=f"expected {missing} files .*, there are those of {parts}; XTREME's"):
        read(folder)


def test_both_forms_in_one_folder_are_an_error(tmp_path: Path) -> None:
    released(tmp_path, {"en/dev_2k.tsv": ["1\ta\tb\t1"]})
    xtreme(tmp_path, {"dev-en.tsv": ["a\tb\t1"]})
    with pytest.raises(ValueError, match="one format of PAWS-X"):
        read(tmp_path)


def test_a_folder_without_such_files_says_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("x")
    with pytest.raises(FileNotFoundError, match=r"dev_2k\.tsv or dev-de\.tsv, found readme\.txt"):
        read(tmp_path)
    with pytest.raises(FileNotFoundError, match="no such folder"):
        read(tmp_path / "nowhere")


# ---- untranslated sentences


def test_untranslated_rows_are_dropped_in_their_language_alone_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # The label of an untranslated row is 0 although the item's is 1: no conflict.
    folder = released(
        tmp_path,
        {
            "en/dev_2k.tsv": ["1\ta\tb\t1", "2\tc\td\t1"],
            "de/dev_2k.tsv": ["1\tNS\tB\t0", "2\tC\tNS\t0"],
            "fr/dev_2k.tsv": ["1\tNS\tNS\t0", "2\tNS, he said\td'\t1"],
            "en/test_2k.tsv": ["1\ta\tb\t1"],
        },
    )
    with caplog.at_level(logging.INFO):
        rows = read(folder)
    assert [(row.source_lang, row.item) for row in rows] == [("eng", "1"), ("eng", "2"), ("fra", "2")]
    assert "deu 2, fra 1" in caplog.text


def test_a_row_with_an_empty_side_goes_to_the_ledger_and_is_not_missed(tmp_path: Path) -> None:
    folder = released(tmp_path, {"en/test_2k.tsv": ["1\ta\tb\t1"], "de/test_2k.tsv": ["1\t \tB\t1"]})
    ledger = RejectLedger(strict=False)
    assert len(read_pawsx(ledger, str(folder), only_dev=False)["test"]()) == 1
    assert [(reject.line, reject.reason) for reject in ledger.rejects] == [(2, "empty side")]


# ---- what is wrong


@pytest.mark.parametrize(
    ("english", "german", "message"),
    [
        (["1\ta\tb\t1", "2\tc\td\t2"], None, r"en/test_2k\.tsv:3: expected label 0 .* or 1 .*, found '2'"),
        (
            ["1\ta\tb\t1", "8\tc\td\t0"],
            ["1\tA\tB\t1"],
            r"en/test_2k\.tsv:3: expected id 8 in other languages, too, .* in eng alone",
        ),
        (
            ["1\ta\tb\t1"],
            ["1\tA\tB\t0"],
            r"en/test_2k\.tsv:2: expected one label .*, found 1 in eng and 0 in deu \(.*de/test_2k\.tsv:2",
        ),
        (["1\ta\tb\t1", "1\tc\td\t1"], None, r"test_2k\.tsv:3: expected each id once, found id 1 in line 2"),
        (["1\ta\tb"], None, r"test_2k\.tsv:2: expected 4 columns by TAB, found 3"),
    ],
)
def test_a_wrong_row_is_an_error_with_file_and_line(
    tmp_path: Path, english: list[str], german: list[str] | None, message: str
) -> None:
    files = {"en/test_2k.tsv": english} | ({} if german is None else {"de/test_2k.tsv": german})
    with pytest.raises(ValueError, match=message):
        read(released(tmp_path, files), "test")


def test_an_id_whose_other_rows_are_untranslated_is_kept(tmp_path: Path) -> None:
    files = {"en/test_2k.tsv": ["1\ta\tb\t1"], "de/test_2k.tsv": ["1\tNS\tB\t0"]}
    assert [row.source_lang for row in read(released(tmp_path, files), "test")] == ["eng"]


def test_xtreme_files_of_different_length_are_an_error_with_both(tmp_path: Path) -> None:
    folder = xtreme(tmp_path, {"test-de.tsv": ["a\tb\t1"], "test-en.tsv": ["a\tb\t1", "c\td\t0"]})
    with pytest.raises(ValueError, match=r"test-de\.tsv has 1 rows, .*test-en\.tsv has 2"):
        read(folder, "test")


def test_a_missing_header_is_an_error(tmp_path: Path) -> None:
    released(tmp_path, {"en/test_2k.tsv": []})
    (tmp_path / "en/test_2k.tsv").write_text("1\ta\tb\t1\n")
    with pytest.raises(ValueError, match=r"test_2k\.tsv:1: expected the header 'id sentence1 sentence2 label'"):
        read(tmp_path, "test")


def test_a_test_file_of_xtreme_without_labels_says_where_they_are(tmp_path: Path) -> None:
    folder = xtreme(tmp_path, {"test-en.tsv": ["a\tb"]})
    with pytest.raises(ValueError, match=r"test-en\.tsv:1: expected 3 columns by TAB, found 2 \(XTREME's test files"):
        read(folder, "test")


# ---- real data


def test_the_dev_files_lose_their_untranslated_rows_and_no_others(shared_data: Path) -> None:
    folder = existing(shared_data / "pawsx")
    rows = read(folder, "train", only_dev=True)
    # The sizes of the translated dev files as the paper's data section gives them.
    published = {"fra": 1992, "spa": 1962, "deu": 1932, "zho": 1984, "jpn": 1980, "kor": 1965, "eng": 2000}
    assert Counter(row.source_lang for row in rows) == published
    labels: dict[str, set[int]] = {}
    for row in rows:
        labels.setdefault(row.item, set()).add(row.label)
    assert len(labels) == 2000
    assert all(len(item_labels) == 1 for item_labels in labels.values())
