"""A ledger with ``max_lines``: every reader reads the beginning of each file as if the file ended there."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from xsent.data.readers.cldr import read_cldr
from xsent.data.readers.labelled import read_labelled
from xsent.data.readers.monolingual import read_sentences
from xsent.data.readers.msrp import HEADER, read_msrp
from xsent.data.readers.parallel import read_jsonl, read_moses, read_tables
from xsent.data.readers.pawsx import read_pawsx
from xsent.data.readers.rejects import RejectLedger

ROWS = 300  # more than the lines that tell the columns of a table
LINES = 200
TABLES = {"columns": None, "source_lang": "eng", "target_lang": "deu"}

Read = Callable[[RejectLedger, str], Iterable[Any]]


def pawsx(ledger: RejectLedger, root: str) -> Iterable[Any]:
    return read_pawsx(ledger, root, only_dev=True)["train"]()


def labelled(ledger: RejectLedger, root: str) -> Iterable[Any]:
    return read_labelled(ledger, f"{root}/train.csv", threshold=None, **TABLES)["train"]()


def tables(ledger: RejectLedger, root: str) -> Iterable[Any]:
    return read_tables(ledger, root, pattern=r"(?P<source>en)-(?P<target>de)\.tsv", **TABLES)


READERS: dict[str, tuple[Read, dict[str, Callable[[int], str]]]] = {
    "tables": (tables, {"en-de.tsv": lambda n: f"one {n}\teins {n}"}),
    "moses": (
        read_moses,
        {"a.en-de.en": lambda n: f"one {n}", "a.en-de.de": lambda n: f"eins {n}"},
    ),
    "jsonl": (
        lambda ledger, root: read_jsonl(ledger, f"{root}/a.jsonl", **TABLES),
        {"a.jsonl": lambda n: json.dumps({"source": f"one {n}", "target": f"eins {n}"})},
    ),
    "labelled": (labelled, {"train.csv": lambda n: f"one {n},eins {n},{n % 2}"}),
    "sentences": (
        lambda ledger, root: read_sentences(ledger, root, lang="eng", column=0, common="a-z", common_share=0),
        {"a.txt": lambda n: f"one {n}"},
    ),
    "pawsx": (pawsx, {f"dev-{code}.tsv": lambda n: f"one {n}\teins {n}\t{n % 2}" for code in ("de", "en")}),
    "msrp": (
        lambda ledger, root: read_msrp(ledger, root)["train"](),
        {"msr_paraphrase_train.txt": lambda n: f"{n % 2}\t{n}\t{n}\tone\teins" if n else "\t".join(HEADER)},
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_the_first_lines_are_read_as_a_file_that_ends_there(tmp_path: Path, name: str) -> None:
    read, files = READERS[name]
    rows = {}
    for folder, count, cap in (("long", ROWS, LINES), ("short", LINES, None)):
        (tmp_path / folder).mkdir()
        for file, line in files.items():
            text = "".join(f"{line(number)}\n" for number in range(count))
            (tmp_path / folder / file).write_text(text, encoding="utf-8")
        ledger = RejectLedger(strict=True, max_lines=cap)
        rows[folder] = [row._replace(file="") for row in read(ledger, str(tmp_path / folder))]
        assert ledger.lines == LINES * len(files)
    assert rows["long"] == rows["short"]


def test_a_cell_of_several_lines_that_is_cut_is_no_reject(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text('source,target,label\n"a\nb",c,1\n"d\ne",f,0\n', encoding="utf-8")
    (row,) = labelled(RejectLedger(strict=True, max_lines=4), str(tmp_path))
    assert (row.source, row.target) == ("a\nb", "c")


def test_emoji_count_as_lines() -> None:
    pairs = list(read_cldr(RejectLedger(strict=True, max_lines=50), None))
    assert max(pair.line for pair in pairs) <= 50
