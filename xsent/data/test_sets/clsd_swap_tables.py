"""Annotated single-word swaps released with CLSD: TSV tables, one distractor per line."""

import codecs
import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from xsent.text.annotation.annotator import UNIVERSAL_TAGS
from xsent.text.single_word_swaps import ADDITION, SWAP

# Columns of the released tables; their order differs.
LABELS = ("Dataset", "Operation", "Details", "POSTag", "SemanticallyEquivalent", "AdversarialExample", "RowIndex")
TEXTS = {"deu": "OriginalTextGerman", "fra": "OriginalTextFrench"}
CHANGED = "AdversarialText"
EQUIVALENT = {"0": 0, "1": 1, "": -1}
LANGUAGES = {"de": "deu", "fr": "fra"}
_DISTRACTOR = re.compile(r"(de|fr)_adv([1-9]\d*)")
BOM = "\ufeff"


class AnnotatedSwap(NamedTuple):
    """A line of a table: a swap or an addition."""

    location: str  # file:line
    corpus: str  # "wmt19", in lower case
    corpus_row: str  # its index in the corpus
    number: int  # of the distractor, from 1
    target_lang: str  # of the distractor, ISO 639-3
    texts: Mapping[str, str]  # the original and its translation, by language
    changed: str  # the distractor
    operation: str  # SWAP or ADDITION
    tag: str  # universal part of speech; "" for an addition
    equivalent: int  # 1: same meaning, 0: another one, -1: unknown
    details: str  # such as "Swap: 'ja' with 'nein'"

    @property
    def id(self) -> str:
        """``wmt19/188/2``."""
        return f"{self.corpus}/{self.corpus_row}/{self.number}"


def swap_tables(annotations: str | Sequence[str]) -> list[Path]:
    """The given files, and all ``.tsv`` files of the given folders; raise ``FileNotFoundError`` if there are none."""
    files: list[Path] = []
    for path in map(Path, [annotations] if isinstance(annotations, str) else annotations):
        tables = sorted(path.glob("*.tsv")) if path.is_dir() else [path]
        if not tables or not tables[0].is_file():
            raise FileNotFoundError(f"{path}: expected a table of annotated swaps (.tsv), or a folder of some")
        files += tables
    return files


def read_table(path: Path) -> Iterator[AnnotatedSwap]:
    """Read a table in UTF-8 or UTF-16, with its columns in any order.

    Raises:
        ValueError: names file and line: missing columns, another number of them, a damaged encoding, an unknown
            operation, part of speech or distractor, an empty text, a distractor with the words of its original.
    """
    cells = _read_cells(path)
    location, header = next(cells, (f"{path}:1", []))
    names = [name.strip(BOM) for name in header]
    needed = [*LABELS, *TEXTS.values(), CHANGED]
    if missing := [name for name in needed if name not in names]:
        raise ValueError(f"{location}: expected columns {', '.join(needed)}, found none called {', '.join(missing)}")
    for location, columns in cells:
        if len(columns) != len(names):
            raise ValueError(f"{location}: expected {len(names)} columns by TAB, found {len(columns)}")
        # The released tables have byte-order marks inside, before names of corpora.
        yield _parse_row(location, {name: cell.strip(BOM) for name, cell in zip(names, columns, strict=True)})


def _read_cells(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Location and cells of each line; a quoted cell may contain TABs and doubled quotes, but no line end."""
    content = path.read_bytes()
    encoding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].decode(encoding, "ignore").count("\n") + 1
        raise ValueError(f"{path}:{line}: expected {encoding.upper()}, found broken text ({error.reason})") from None
    for number, raw in enumerate(text.split("\n"), start=1):
        row = raw.removesuffix("\r")
        if not row:
            continue
        try:
            yield f"{path}:{number}", next(csv.reader([row], delimiter="\t", strict=True))
        except csv.Error as error:
            raise ValueError(f"{path}:{number}: expected cells by TAB, quoted if need be: {error}") from None


def _parse_row(location: str, cells: Mapping[str, str]) -> AnnotatedSwap:
    distractor = _DISTRACTOR.fullmatch(cells["AdversarialExample"])
    if distractor is None:
        raise ValueError(f"{location}: expected a distractor such as de_adv3, found {cells['AdversarialExample']!r}")
    language, operation = LANGUAGES[distractor[1]], cells["Operation"].lower()
    if operation not in (SWAP, ADDITION):
        raise ValueError(f"{location}: expected the operation Swap or Addition, found {cells['Operation']!r}")
    if operation == SWAP and cells["POSTag"] not in UNIVERSAL_TAGS:
        raise ValueError(f"{location}: expected a universal part of speech such as NOUN, found {cells['POSTag']!r}")
    equivalent = EQUIVALENT.get(cells["SemanticallyEquivalent"])
    if equivalent is None:
        label = cells["SemanticallyEquivalent"]
        raise ValueError(f"{location}: expected 0, 1 or nothing in SemanticallyEquivalent, found {label!r}")
    corpus, number = cells["Dataset"].lower(), cells["RowIndex"]
    if not corpus or not re.fullmatch(r"\d+", number):
        raise ValueError(
            f"{location}: expected a Dataset and the number of a row in it, found {corpus!r} and {number!r}"
        )
    if empty := [name for name in (*TEXTS.values(), CHANGED) if not cells[name].strip()]:
        raise ValueError(f"{location}: expected a text in {empty[0]}, found none")
    if cells[CHANGED].split() == cells[TEXTS[language]].split():
        raise ValueError(f"{location}: expected an AdversarialText other than the original, found {cells[CHANGED]!r}")
    return AnnotatedSwap(
        location=location,
        corpus=corpus,
        corpus_row=number,
        number=int(distractor[2]),
        target_lang=language,
        texts={language: cells[name] for language, name in TEXTS.items()},
        changed=cells[CHANGED],
        operation=operation,
        tag=cells["POSTag"],
        equivalent=equivalent,
        details=cells["Details"],
    )
