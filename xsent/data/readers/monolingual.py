"""Reader of monolingual sentences from text and TSV files."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from xsent.data.readers.lines import open_bytes
from xsent.data.readers.rejects import RejectLedger
from xsent.languages import to_iso639_3
from xsent.text.text_lines import numbered_lines

SUFFIXES = (".txt", ".tsv", ".txt.gz", ".tsv.gz")  # of the files that are read from a folder


class Sentence(NamedTuple):
    """A sentence and its location."""

    text: str
    lang: str  # ISO 639-3
    file: str
    line: int  # from 1


def read_sentences(
    ledger: RejectLedger, root: str, *, lang: str, column: int, common: str, common_share: float
) -> Iterator[Sentence]:
    """Read one sentence per line, or one column of TSV (from 0), of a file or of a folder's files in sorted order.

    The ledger gets lines without that column, without text, or with a smaller share of common characters (as in
    ``[...]`` of a regular expression) than ``common_share``; 0 keeps all sentences.

    Raises:
        FileNotFoundError: no such file, or a folder without such files.
        ValueError: a column below 0, or a share outside [0, 1].
    """
    if column < 0:
        raise ValueError(f"data.reader.column={column}: expected 0 for the first, or more")
    if not 0 <= common_share <= 1:
        raise ValueError(f"data.reader.common_share={common_share}: expected a share in [0, 1]")
    try:
        uncommon = re.compile(f"[^{common}]")
    except re.error as error:
        raise ValueError(f"data.reader.common={common!r}: expected characters as in [...], found {error}") from None
    language = to_iso639_3(lang)
    for path in _find_files(root):
        name = str(path)
        if not path.stat().st_size:
            raise ValueError(f"{name}:1: expected a sentence, found an empty file")
        with open_bytes(path) as file:
            for number, line in numbered_lines(ledger.limited(file), name, ledger):
                columns = line.split("\t")
                if len(columns) <= column:
                    ledger.add(name, number, f"expected at least {column + 1} columns", f"{len(columns)} columns")
                    continue
                text = columns[column].strip()
                if not text:
                    ledger.add(name, number, "no sentence", "an empty one")
                elif common_share and len(text) - len(uncommon.findall(text)) < common_share * len(text):
                    ledger.add(name, number, f"expected {common_share:.0%} common characters", text[:60])
                else:
                    yield Sentence(text, language, name, number)


def _find_files(root: str) -> list[Path]:
    path = Path(root)
    if path.is_file():
        return [path]
    files = sorted(file for file in path.glob("*") if file.name.endswith(SUFFIXES)) if path.is_dir() else []
    if not files:
        raise FileNotFoundError(f"{path}: expected a text file, or a folder of {', '.join(SUFFIXES)}, found none")
    return files
