"""Labelled sentence pairs, the same meaning (1) or not (0): their rows, and any TSV of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from xsent.data.lines import numbered_lines, open_bytes
from xsent.data.rejects import RejectLedger
from xsent.languages import to_iso639_3

PARTS = ("train", "valid", "test")
FILES = {"train": ("train",), "valid": ("dev", "valid"), "test": ("test",)}  # and .tsv or .tsv.gz
WIDTHS = (3, 4, 6)  # sentence, sentence, label; then a group; then the two languages


@dataclass(frozen=True)
class LabelledSet:
    """Pairs of one part, kind and language pair, each with its label."""

    part: str  # "valid" or "test"
    kind: str  # "intra", "inter_para", "inter_same" of PAWS-X; "pairs" where a data set has no kinds
    source_lang: str  # ISO 639-3
    target_lang: str
    source: list[str]
    target: list[str]
    label: list[int]  # 1: paraphrase or translation, 0: not


class LabelledRow(NamedTuple):
    """A pair as a line of a file has it."""

    item: str  # rows of one item belong together, as translations do; "" where nothing but the texts says so
    source: str
    target: str
    source_lang: str  # ISO 639-3
    target_lang: str
    label: int
    file: str
    line: int  # from 1


# (ledger, root) -> for each of PARTS that has files, what reads them. Called when it is needed: an evaluation has
# no use for hundreds of thousands of training rows.
Parts = Mapping[str, Callable[[], list[LabelledRow]]]
LabelledReader = Callable[[RejectLedger, str], Parts]


def read_labelled(ledger: RejectLedger, root: str, *, source_lang: str, target_lang: str) -> Parts:
    """Files of ``sentence TAB sentence TAB label [TAB group [TAB language TAB language]]``, plain or gzipped.

    A first line whose third column is ``label`` is a header. Lines with another number of columns than the first
    usable one, or with an empty side, go to the ledger.

    Args:
        ledger: of rejected lines.
        root: folder of ``train.tsv``, ``dev.tsv`` or ``valid.tsv``, ``test.tsv``, or one file, which is ``train``.
        source_lang, target_lang: of lines that do not say theirs, in any code.

    Raises:
        FileNotFoundError: no such file or folder, or none of these files in it.
        ValueError: a label is neither 0 nor 1, a language does not exist, a part has two files.
    """
    languages = to_iso639_3(source_lang), to_iso639_3(target_lang)
    path = Path(root)
    files = {"train": path} if path.is_file() else _files(path)
    return {part: partial(_read, ledger, file, languages) for part, file in files.items()}


def parse_label(text: str, file: str, line: int) -> int:
    """0 or 1; ``ValueError`` with file and line for anything else."""
    label = text.strip()
    if label not in ("0", "1"):
        raise ValueError(f"{file}:{line}: expected label 0 (another meaning) or 1 (the same), found {text!r}")
    return int(label)


def has_both_sides(row: LabelledRow, ledger: RejectLedger) -> bool:
    """Whether both sides hold text; the ledger gets the row if not."""
    if row.source.strip() and row.target.strip():
        return True
    ledger.add(row.file, row.line, "empty side", f"{row.source[:40]!r} and {row.target[:40]!r}")
    return False


def _files(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such file or folder; give one with data.root=...")
    found: dict[str, Path] = {}
    for part, stems in FILES.items():
        paths = [folder / f"{stem}.tsv{packed}" for stem in stems for packed in ("", ".gz")]
        there = [path for path in paths if path.is_file()]
        if len(there) > 1:
            raise ValueError(f"{folder}: expected one file of the {part} part, found {there[0].name}, {there[1].name}")
        if there:
            found[part] = there[0]
    if not found:
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:5]) or "nothing"
        raise FileNotFoundError(f"{folder}: expected train.tsv, dev.tsv or valid.tsv, test.tsv, found {names}")
    return found


def _read(ledger: RejectLedger, path: Path, languages: tuple[str, str]) -> list[LabelledRow]:
    name, width = str(path), 0
    rows = []
    with open_bytes(path) as file:
        for number, text in numbered_lines(file, name, ledger):
            columns = text.split("\t")
            if number == 1 and len(columns) in WIDTHS and columns[2].strip().casefold() == "label":
                continue
            # The first usable line says what columns this file has; every other line has to agree.
            if not width and len(columns) in WIDTHS:
                width = len(columns)
            if len(columns) != width:
                ledger.add(name, number, f"expected {width or '3, 4 or 6'} columns", f"{len(columns)} columns")
                continue
            row = _row(columns, languages, name, number)
            if has_both_sides(row, ledger):
                rows.append(row)
    return rows


def _row(columns: list[str], languages: tuple[str, str], file: str, line: int) -> LabelledRow:
    source, target, label = columns[:3]
    item = columns[3] if len(columns) > 3 else ""
    try:
        own = [to_iso639_3(code) if code else usual for code, usual in zip(columns[4:], languages, strict=False)]
    except ValueError as error:
        raise ValueError(f"{file}:{line}: {error}") from None
    source_lang, target_lang = own or languages
    return LabelledRow(item, source, target, source_lang, target_lang, parse_label(label, file, line), file, line)
