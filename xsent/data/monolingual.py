"""Readers of sentences of one language: each yields them and sends what it cannot use to the ledger."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from xsent.data.lines import numbered_lines, open_bytes
from xsent.data.rejects import RejectLedger
from xsent.languages import to_iso639_3

ENDINGS = (".txt", ".tsv", ".txt.gz", ".tsv.gz")  # of the files of a folder


class Sentence(NamedTuple):
    """A sentence and where it is from."""

    text: str
    lang: str  # ISO 639-3
    file: str
    line: int  # from 1


def read_sentences(
    ledger: RejectLedger, root: str, *, lang: str, column: int, common: str, common_share: float
) -> Iterator[Sentence]:
    """A sentence a line, or in one column of TSV; a file, or all ``.txt`` and ``.tsv`` of a folder by name.

    Args:
        ledger: of rejected lines: without that column, empty, or of other characters than expected.
        root: file or folder, each file plain or gzipped.
        lang: of all sentences, in any code.
        column: of the sentence, from 0; the others are not read.
        common: characters that are expected, as in ``[...]`` of a regular expression.
        common_share: least share of a sentence's characters that are among them; 0 keeps all.

    Raises:
        FileNotFoundError: no such file, or a folder without any.
        ValueError: a column below 0, or a share outside [0, 1].
    """
    if column < 0:
        raise ValueError(f"data.reader.column={column}: expected 0 for the first, or more")
    if not 0 <= common_share <= 1:
        raise ValueError(f"data.reader.common_share={common_share}: expected a share in [0, 1]")
    language, others = to_iso639_3(lang), _others(common)
    for path in _files(root):
        name = str(path)
        with open_bytes(path) as file:
            for number, line in numbered_lines(file, name, ledger):
                columns = line.split("\t")
                if len(columns) <= column:
                    ledger.add(name, number, f"expected at least {column + 1} columns", f"{len(columns)} columns")
                    continue
                text = columns[column].strip()
                if not text:
                    ledger.add(name, number, "no sentence", "an empty one")
                elif common_share and len(text) - len(others.findall(text)) < common_share * len(text):
                    ledger.add(name, number, f"expected {common_share:.0%} common characters", text[:60])
                else:
                    yield Sentence(text, language, name, number)


def _others(common: str) -> re.Pattern[str]:
    try:
        return re.compile(f"[^{common}]")
    except re.error as error:
        raise ValueError(f"data.reader.common={common!r}: expected characters as in [...], found {error}") from None


def _files(root: str) -> list[Path]:
    path = Path(root)
    if path.is_file():
        return [path]
    found = sorted(file for file in path.glob("*") if file.name.endswith(ENDINGS)) if path.is_dir() else []
    if not found:
        raise FileNotFoundError(f"{path}: expected a text file, or a folder of {', '.join(ENDINGS)}, found none")
    return found
