"""Files of texts with their distractors: the released CSV form, and JSON lines of any languages."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from xsent.data.lines import open_bytes, read_lines
from xsent.languages import to_iso639_3
from xsent.text.distractors.record import DistractorRow, check_distractors, from_json

JSON_LINES = (".jsonl", ".jsonl.gz")
FORMS = (".csv", ".csv.gz", *JSON_LINES)
# Of the released form, by language: the column of the text, and how those of its distractors begin.
COLUMNS = {"fra": ("French", "fr_adv"), "deu": ("German", "de_adv")}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class PlacedRow(NamedTuple):
    """A row and where it is, for messages."""

    where: str  # file and line
    row: DistractorRow


def read_rows(path: Path, *, distinct: bool) -> list[PlacedRow]:
    """All rows of a file, languages in ISO 639-3.

    Args:
        path: ``.csv`` or ``.jsonl``, plain or gzipped.
        distinct: whether a distractor that equals its text, or another of its row, is an error. Machine translation
            makes some distractors equal.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a file or row of another form, ids given twice, no row at all; names file and line.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a file of texts with their distractors, found none")
    if not path.name.endswith(FORMS):
        raise ValueError(f"{path}: expected a file of {', '.join(FORMS)}, found another ending")
    read = _jsonl_rows if path.name.endswith(JSON_LINES) else _csv_rows
    rows = list(read(path, distinct))
    if not rows:
        raise ValueError(f"{path}: expected at least 1 row, found none")
    check_ids(rows)
    return rows


def check_ids(rows: Iterable[PlacedRow]) -> None:
    """Raise ``ValueError``, naming both places, where two rows have the same id."""
    first: dict[str, str] = {}
    for where, row in rows:
        if row.id in first:
            raise ValueError(f"{where}: expected each id once, found {row.id!r} as in {first[row.id]}")
        first[row.id] = where


# ---- the released form


def _csv_rows(path: Path, distinct: bool) -> Iterator[PlacedRow]:
    """``Index,French,German,de_adv1,...,fr_adv1,...``; other columns, the unnamed first one too, play no part."""
    records = _records(path)
    where, header = next(records, (f"{path}:1", []))
    count = _distractors_of(header, where)
    for where, record in records:
        if len(record) != len(header):
            raise ValueError(f"{where}: expected {len(header)} columns, found {len(record)}")
        yield PlacedRow(where, _csv_row(dict(zip(header, record, strict=True)), count, where, distinct))


def _records(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Records and where each begins; one without any cell is none (the released translations have one)."""
    with open_bytes(path) as file:
        content = file.read().removeprefix(BYTE_ORDER_MARK)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}:{line}: expected UTF-8, found the byte 0x{content[error.start]:02x}") from error
    # Strict, and with all the columns counted: a stray quote that swallows the next lines does not go unseen.
    reader, line = csv.reader(io.StringIO(text, newline=""), strict=True), 1
    try:
        for record in reader:
            if record:
                yield f"{path}:{line}", record
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}:{line}: expected cells by comma, quoted as in CSV, found {error}") from error


def _distractors_of(header: Sequence[str], where: str) -> int:
    """How many distractors each text has by the header."""
    if not header:
        raise ValueError(f"{where}: expected a header, found an empty file")
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise ValueError(f"{where}: expected each column once, found {', '.join(twice)} twice")
    count = max(1, *(sum(name.startswith(start) for name in header) for _, start in COLUMNS.values()))
    needed = ["Index", *(name for text, start in COLUMNS.values() for name in (text, *_numbered(start, count)))]
    if missing := [name for name in needed if name not in header]:
        raise ValueError(f"{where}: expected the columns {', '.join(needed)}, found no {', '.join(missing)}")
    return count


def _numbered(start: str, count: int) -> list[str]:
    return [f"{start}{number}" for number in range(1, count + 1)]


def _csv_row(cells: Mapping[str, str], count: int, where: str, distinct: bool) -> DistractorRow:
    texts, distractors = {}, {}
    for language, (column, start) in COLUMNS.items():
        names = _numbered(start, count)
        for name in (column, *names):
            if not cells[name].strip():
                raise ValueError(
                    f"{where}: expected a text and {count} distractors in {language}, found {name} without words"
                )
        texts[language] = cells[column]
        several = [cells[name] for name in names]
        distractors[language] = check_distractors(texts, language, several, where, distinct=distinct)
    return DistractorRow(cells["Index"], texts, distractors, {})


# ---- JSON lines


def _jsonl_rows(path: Path, distinct: bool) -> Iterator[PlacedRow]:
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}:{number}"
        yield PlacedRow(where, _normalised(from_json(line, where, distinct=distinct), where))


def _normalised(row: DistractorRow, where: str) -> DistractorRow:
    """The row with its languages in ISO 639-3."""
    try:
        codes = {code: to_iso639_3(code) for code in row.texts}
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    if len(set(codes.values())) < len(codes):
        raise ValueError(f"{where}: expected one text in each language, found {', '.join(codes)}")
    return row._replace(
        texts={codes[code]: text for code, text in row.texts.items()},
        distractors={codes[code]: several for code, several in row.distractors.items()},
        notes={codes[code]: several for code, several in row.notes.items()},
    )
