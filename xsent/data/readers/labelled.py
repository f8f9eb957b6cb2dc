"""Labelled sentence pairs (1: same meaning, 0: not): row types, and the reader of tables (TSV, CSV, JSON lines)."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from xsent.config_checks import is_number
from xsent.data.readers.lines import read_lines
from xsent.data.readers.rejects import RejectLedger
from xsent.data.readers.table_columns import LABELS, ColumnNames, Columns, is_label
from xsent.data.readers.tables import SUFFIXES, read_table
from xsent.languages import parse_language, to_iso639_3

log = logging.getLogger(__name__)

PARTS = ("train", "valid", "test")
FILES = {"train": ("train",), "valid": ("dev", "valid"), "test": ("test",)}  # and a suffix
ROLES = ("source", "target", "label", "group", "source_lang", "target_lang")
WIDTHS = (2, 3, 4, 6)  # the two sentences; then the label; then a group; then the two languages


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


def read_labelled(
    ledger: RejectLedger,
    root: str,
    *,
    columns: ColumnNames | None,
    threshold: float | None,
    source_lang: str,
    target_lang: str,
) -> PartReaders:
    """Read tables (TSV, CSV, JSON lines) of two sentences and, if the table has them, labels, groups and languages.

    Args:
        ledger: of rows with another number of columns than the others, or with an empty side.
        root: a folder of ``train.tsv``, ``dev.tsv`` or ``valid.tsv``, ``test.tsv``, or one file, which is ``train``.
        columns: names or numbers (from 1) of the columns of ``ROLES``, at least of the first two; None: recognised.
        threshold: smallest score of label 1, where the labels are scores.
        source_lang: language of rows without languages, and of rows of a table without them; likewise the target's.

    Without a column of labels all pairs have label 1.

    Raises:
        FileNotFoundError: no such file or folder, or the folder has none of these files.
        ValueError: a label is neither 0, 1, false, true nor, with a threshold, a score; a language does not exist; a
            part has two files; raised by ``read_table``.
    """
    if threshold is not None and not is_number(threshold):
        raise ValueError(f"data.threshold={threshold}: expected a number, the smallest score of label 1")
    languages = parse_language("data.source_lang", source_lang), parse_language("data.target_lang", target_lang)
    table = Columns(ROLES, WIDTHS, columns)
    path = Path(root)
    files = {"train": path} if path.is_file() else _part_files(path)
    return {part: partial(_read_file, ledger, file, table, threshold, languages) for part, file in files.items()}


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
    lines = list(ledger.limited(read_lines(path)))
    ledger.count(str(path), len(lines))
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
        names = [f"{stem}{suffix}{gz}" for stem in stems for suffix in SUFFIXES for gz in ("", ".gz")]
        existing = [name for name in names if (folder / name).is_file()]
        if len(existing) > 1:
            raise ValueError(f"{folder}: expected one file of the {part} part, found {', '.join(existing)}")
        if existing:
            files[part] = folder / existing[0]
    if not files:
        names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))[:5]
        raise FileNotFoundError(
            f"{folder}: expected train.tsv, dev.tsv or valid.tsv, test.tsv (or .csv, .jsonl), found"
            f" {', '.join(names) or 'nothing'}; data.root={folder / names[0] if names else 'FILE'} reads one file"
        )
    return files


def _read_file(
    ledger: RejectLedger, path: Path, table: Columns, threshold: float | None, languages: tuple[str, str]
) -> list[LabelledRow]:
    file, rows = str(path), []
    has_labels: bool | None = None
    for number, (source, target, label, item, *codes) in read_table(ledger, path, table):
        if has_labels is None:
            has_labels = label is not None
            if not has_labels and (threshold is not None or len(table.chosen or ()) > 2):
                option = "data.columns" if threshold is None else f"data.threshold={threshold}"
                raise ValueError(f"{file}:{number}: expected a label ({option}), found two texts alone")
        if (label is not None) != has_labels:
            ledger.add(file, number, "expected a label" if has_labels else "expected no label", repr(label))
        elif ledger.has_both_sides(source, target, file, number):
            value = 1 if label is None else _parse_label_or_score(label, threshold, file, number)
            source_lang, target_lang = _languages(codes, languages, file, number)
            rows.append(LabelledRow(item or "", source, target, source_lang, target_lang, value, file, number))
    if rows and not has_labels:
        log.info("%s: no labels, so all %s pairs have label 1", path, f"{len(rows):,}")
    return rows


def _parse_label_or_score(text: str, threshold: float | None, file: str, line: int) -> int:
    label = text.strip().casefold()
    if threshold is None and label in LABELS:
        return LABELS[label]
    if threshold is not None:
        if is_label(text) and label not in ("false", "true"):
            return int(float(text) >= threshold)
        raise ValueError(f"{file}:{line}: expected a score (data.threshold={threshold}), found {text!r}")
    remedy = "; data.threshold=3 reads scores, those from 3 on as label 1" if is_label(text) else ""
    raise ValueError(
        f"{file}:{line}: expected label 0 or false (another meaning), or 1 or true (the same), found {text!r}{remedy}"
    )


def _languages(codes: Sequence[str | None], default: tuple[str, str], file: str, line: int) -> list[str]:
    try:
        return [to_iso639_3(code) if code else language for code, language in zip(codes, default, strict=True)]
    except ValueError as error:
        raise ValueError(f"{file}:{line}: {error}") from None
