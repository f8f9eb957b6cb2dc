"""Tables of annotated swaps, as they were released with CLSD: a distractor a line, and what was changed in it."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from xsent.text.annotation import UNIVERSAL_TAGS
from xsent.text.swaps import ADDITION, SWAP

# Columns of the released tables, each of which has an order of its own.
LABELS = ("Dataset", "Operation", "Details", "POSTag", "SemanticallyEquivalent", "AdversarialExample", "RowIndex")
TEXTS = {"deu": "OriginalTextGerman", "fra": "OriginalTextFrench"}
CHANGED = "AdversarialText"
EQUIVALENT = {"0": 0, "1": 1, "": -1}
LANGUAGES = {"de": "deu", "fr": "fra"}
_DISTRACTOR = re.compile(r"(de|fr)_adv([1-9]\d*)")
BOM = "\ufeff"


class AnnotatedSwap(NamedTuple):
    """A line of a table; for all its name, it may be of an addition."""

    where: str  # file:line
    corpus: str  # "wmt19", in lower case
    corpus_row: str  # its index in the corpus
    number: int  # of the distractor, from 1
    target_lang: str  # of the distractor, ISO 639-3
    texts: Mapping[str, str]  # the original and its translation, by language
    changed: str  # the distractor
    operation: str  # swap or addition
    tag: str  # universal; "" of an addition
    equivalent: int  # 1: it means the same, 0: it does not, -1: not said
    details: str  # such as "Swap: 'ja' with 'nein'"

    @property
    def id(self) -> str:
        """``wmt19/188/2``."""
        return f"{self.corpus}/{self.corpus_row}/{self.number}"


def swap_tables(annotations: str | Sequence[str]) -> list[Path]:
    """The files that are given, and all ``.tsv`` files of the folders.

    Raises:
        FileNotFoundError: no such file, or a folder without any.
    """
    paths = [Path(annotations)] if isinstance(annotations, str) else [Path(one) for one in annotations]
    found: list[Path] = []
    for path in paths:
        there = sorted(path.glob("*.tsv")) if path.is_dir() else [path]
        if not there or not there[0].is_file():
            raise FileNotFoundError(f"{path}: expected a table of annotated swaps (.tsv), or a folder of some")
        found += there
    return found


def read_table(path: Path) -> Iterator[AnnotatedSwap]:
    """The lines of a table, UTF-8 or UTF-16, its columns in any order.

    Raises:
        ValueError: names file and line: columns that are missing, another number of them, a damaged encoding, an
            unknown operation, part of speech or distractor, an empty text, a distractor in the words of its original.
    """
    cells = _cells(path)
    where, header = next(cells, (f"{path}:1", []))
    names = [name.strip(BOM) for name in header]
    needed = [*LABELS, *TEXTS.values(), CHANGED]
    if missing := [name for name in needed if name not in names]:
        raise ValueError(f"{where}: expected columns {', '.join(needed)}, found none called {', '.join(missing)}")
    for where, columns in cells:
        if len(columns) != len(names):
            raise ValueError(f"{where}: expected {len(names)} columns by TAB, found {len(columns)}")
        # Byte-order marks stand before names of corpora, as if the table were pasted together from several files.
        yield _row(where, {name: cell.strip(BOM) for name, cell in zip(names, columns, strict=True)})


def _cells(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Where it is, and the cells of each line; a quoted cell may hold TABs and doubled quotes, and ends in its line."""
    for number, line in enumerate(_text(path).split("\n"), start=1):
        line = line.removesuffix("\r")
        if not line:
            continue
        try:
            yield f"{path}:{number}", next(csv.reader([line], delimiter="\t", strict=True))
        except csv.Error as error:
            raise ValueError(f"{path}:{number}: expected cells by TAB, quoted if need be: {error}") from None


def _text(path: Path) -> str:
    content = path.read_bytes()
    encoding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].decode(encoding, "ignore").count("\n") + 1
        raise ValueError(f"{path}:{line}: expected {encoding.upper()}, found broken text ({error.reason})") from None


def _row(where: str, cells: Mapping[str, str]) -> AnnotatedSwap:
    distractor = _DISTRACTOR.fullmatch(cells["AdversarialExample"])
    if distractor is None:
        raise ValueError(f"{where}: expected a distractor such as de_adv3, found {cells['AdversarialExample']!r}")
    language, operation = LANGUAGES[distractor[1]], cells["Operation"].lower()
    if operation not in (SWAP, ADDITION):
        raise ValueError(f"{where}: expected the operation Swap or Addition, found {cells['Operation']!r}")
    if operation == SWAP and cells["POSTag"] not in UNIVERSAL_TAGS:
        raise ValueError(f"{where}: expected a universal part of speech such as NOUN, found {cells['POSTag']!r}")
    equivalent = EQUIVALENT.get(cells["SemanticallyEquivalent"])
    if equivalent is None:
        raise ValueError(
            f"{where}: expected 0, 1 or nothing in SemanticallyEquivalent, found {cells['SemanticallyEquivalent']!r}"
        )
    corpus, number = cells["Dataset"].lower(), cells["RowIndex"]
    if not corpus or not re.fullmatch(r"\d+", number):
        raise ValueError(f"{where}: expected a Dataset and the number of a row in it, found {corpus!r} and {number!r}")
    if empty := [name for name in (*TEXTS.values(), CHANGED) if not cells[name].strip()]:
        raise ValueError(f"{where}: expected a text in {empty[0]}, found none")
    if cells[CHANGED].split() == cells[TEXTS[language]].split():
        raise ValueError(f"{where}: expected an AdversarialText other than the original, found {cells[CHANGED]!r}")
    return AnnotatedSwap(
        where, corpus, number, int(distractor[2]), language,
        {language: cells[name] for language, name in TEXTS.items()}, cells[CHANGED], operation, cells["POSTag"],
        equivalent, cells["Details"],
    )  # fmt: skip
