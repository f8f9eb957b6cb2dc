"""Labelled sentence pairs (1: same meaning, 0: not): row types and the TSV reader."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from xsent.data.readers.lines import ledger_columns, read_lines
from xsent.data.readers.rejects import RejectLedger
from xsent.languages import to_iso639_3

PARTS = ("train", "valid", "test")
FILES = {"train": ("train",), "valid": ("dev", "valid"), "test": ("test",)}  # and .tsv or .tsv.gz
WIDTHS = (3, 4, 6)  # sentence, sentence, label; then a group; then the two languages


@dataclass(frozen=True)
class LabelledSet:
    """Pairs of one part, kind and language pair, each with its label."""

    part: str  # "valid" or "test"
    kind: str  # "intra", "inter_para", "inter_same" of PAWS-X; "pairs" for data without kinds
    source_lang: str  # ISO 639-3
    target_lang: str
    source: list[str]
    target: list[str]
    label: list[int]  # 1: paraphrase or translation, 0: not


class LabelledRow(NamedTuple):
    """A labelled pair as one line of a file."""

    item: str  # id that related rows share, such as translations of one pair; "" if unknown
    source: str
    target: str
    source_lang: str  # ISO 639-3
    target_lang: str
    label: int
    file: str
    line: int  # from 1


# For each of PARTS that has files, a function that reads it. An evaluation never reads the large training part.
PartReaders = Mapping[str, Callable[[], list[LabelledRow]]]
LabelledReader = Callable[[RejectLedger, str], PartReaders]  # (ledger, root)


def read_labelled(ledger: RejectLedger, root: str, *, source_lang: str, target_lang: str) -> PartReaders:
    """Read files of ``sentence TAB sentence TAB label [TAB group [TAB language TAB language]]``, plain or gzipped.

    The root is a folder of ``train.tsv``, ``dev.tsv`` or ``valid.tsv``, ``test.tsv``, or one file, which is ``train``.
    A first line whose third column is ``label`` is a header. Lines with another number of columns than the first usable
    one, or with an empty side, go to the ledger. The languages are those of lines without languages.

    Raises:
        FileNotFoundError: no such file or folder, or the folder has none of these files.
        ValueError: a label is neither 0 nor 1, a language does not exist, a part has two files.
    """
    languages = to_iso639_3(source_lang), to_iso639_3(target_lang)
    path = Path(root)
    files = {"train": path} if path.is_file() else _part_files(path)
    return {part: partial(_read_file, ledger, file, languages) for part, file in files.items()}


def parse_label(text: str, file: str, line: int) -> int:
    """0 or 1; ``ValueError`` with file and line for anything else."""
    label = text.strip()
    if label not in ("0", "1"):
        raise ValueError(f"{file}:{line}: expected label 0 (another meaning) or 1 (the same), found {text!r}")
    return int(label)


def read_rows(
    ledger: RejectLedger, path: Path, header: Sequence[str] | None, *, width: int, hint: str = ""
) -> Iterator[tuple[int, list[str]]]:
    """Number and TAB-separated columns of each line after the header, if there is one.

    Raises:
        ValueError: another header, or a line with another number of columns; ``hint`` follows if it has two.
    """
    lines = read_lines(path)
    ledger.lines += len(lines)
    if header is not None and (not lines or lines[0].split("\t") != header):
        raise ValueError(f"{path}:1: expected the header {' '.join(header)!r}, found {(lines or [''])[0][:80]!r}")
    for number, line in enumerate(lines[header is not None :], start=1 + (header is not None)):
        columns = line.split("\t")
        if len(columns) != width:
            count = f"{len(columns)}{hint if len(columns) == 2 else ''}"
            raise ValueError(f"{path}:{number}: expected {width} columns by TAB, found {count}")
        yield number, columns


def check_item_labels(rows: Iterable[LabelledRow]) -> None:
    """Raise ``ValueError`` if two rows of one item have different labels."""
    first_of_item: dict[str, LabelledRow] = {}
    for row in rows:
        first = first_of_item.setdefault(row.item, row) if row.item else row
        if row.label != first.label:
            raise ValueError(
                f"{row.file}:{row.line}: expected one label in all languages of item {row.item}, found {row.label} in"
                f" {row.source_lang} and {first.label} in {first.source_lang} ({first.file}:{first.line})"
            )


def _part_files(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such file or folder; give one with data.root=...")
    files: dict[str, Path] = {}
    for part, stems in FILES.items():
        paths = [folder / f"{stem}.tsv{suffix}" for stem in stems for suffix in ("", ".gz")]
        existing = [path for path in paths if path.is_file()]
        if len(existing) > 1:
            names = ", ".join(path.name for path in existing)
            raise ValueError(f"{folder}: expected one file of the {part} part, found {names}")
        if existing:
            files[part] = existing[0]
    if not files:
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:5]) or "nothing"
        raise FileNotFoundError(f"{folder}: expected train.tsv, dev.tsv or valid.tsv, test.tsv, found {names}")
    return files


def _read_file(ledger: RejectLedger, path: Path, languages: tuple[str, str]) -> list[LabelledRow]:
    lines = ledger_columns(path, ledger, *WIDTHS, is_header=_is_header)
    rows = (_parse_row(columns, languages, str(path), number) for number, columns in lines)
    return [row for row in rows if ledger.has_both_sides(row.source, row.target, row.file, row.line)]


def _is_header(columns: list[str]) -> bool:
    return len(columns) in WIDTHS and columns[2].strip().casefold() == "label"


def _parse_row(columns: list[str], languages: tuple[str, str], file: str, line: int) -> LabelledRow:
    source, target, label, *rest = columns
    item, *codes = rest or [""]
    try:
        source_lang, target_lang = (
            to_iso639_3(code) if code else default for code, default in zip(codes or ("", ""), languages, strict=True)
        )
    except ValueError as error:
        raise ValueError(f"{file}:{line}: {error}") from None
    return LabelledRow(item, source, target, source_lang, target_lang, parse_label(label, file, line), file, line)
