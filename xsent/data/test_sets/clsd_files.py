"""Files of texts with distractors for CLSD: the released CSV format, and JSON lines of any languages."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from xsent.data.readers.lines import open_bytes, read_lines
from xsent.languages import to_iso639_3
from xsent.text.distractors.json_format import DistractorRow, check_distractors, from_json
from xsent.text.text_lines import check_encoding

JSON_LINES = (".jsonl", ".jsonl.gz")
FORMS = (".csv", ".csv.gz", *JSON_LINES)
# Columns of the released format by language: the text, and the prefix of its distractors.
COLUMNS = {"fra": ("French", "fr_adv"), "deu": ("German", "de_adv")}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LocatedRow(NamedTuple):
    """A row and its location, for messages."""

    location: str  # file:line
    row: DistractorRow


def read_rows(path: Path, *, distinct: bool) -> list[LocatedRow]:
    """Read all rows of a file, ``.csv`` or ``.jsonl``, plain or gzipped, languages in ISO 639-3.

    ``distinct`` forbids a distractor that equals its text or another distractor; machine translations have some.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another file type, an invalid row, an id that occurs twice, no row; names file and line.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a file of texts with their distractors, found none")
    if not path.name.endswith(FORMS):
        raise ValueError(f"{path}: expected a file of {', '.join(FORMS)}, found another ending")
    read = _read_jsonl if path.name.endswith(JSON_LINES) else _read_csv
    rows = list(read(path, distinct))
    if not rows:
        raise ValueError(f"{path}: expected at least 1 row, found none")
    check_ids(rows)
    return rows


def check_ids(rows: Iterable[LocatedRow]) -> None:
    """Raise ``ValueError``, naming both locations, if two rows have the same id."""
    first: dict[str, str] = {}
    for location, row in rows:
        if row.id in first:
            raise ValueError(f"{location}: expected each id once, found {row.id!r} as in {first[row.id]}")
        first[row.id] = location


# ---- the released format


def _read_csv(path: Path, distinct: bool) -> Iterator[LocatedRow]:
    """``Index,French,German,de_adv1,...,fr_adv1,...``; other columns, such as the unnamed first one, are ignored."""
    records = _csv_records(path)
    location, header = next(records, (f"{path}:1", []))
    count = _check_header(header, location)
    for location, record in records:
        if len(record) != len(header):
            raise ValueError(f"{location}: expected {len(header)} columns, found {len(record)}")
        yield LocatedRow(location, _csv_row(dict(zip(header, record, strict=True)), count, location, distinct))


def _csv_records(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Location and cells of each record; empty records are skipped (the released translations have one)."""
    with open_bytes(path) as file:
        content = file.read().removeprefix(BYTE_ORDER_MARK)
    check_encoding(list(islice(io.BytesIO(content), 2)), str(path))
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}:{line}: expected UTF-8, found the byte 0x{content[error.start]:02x}") from error
    # Strict parsing and the count of columns detect a stray quote, which would swallow the next lines.
    reader, line = csv.reader(io.StringIO(text, newline=""), strict=True), 1
    try:
        for record in reader:
            if record:
                yield f"{path}:{line}", record
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}:{line}: expected cells by comma, quoted as in CSV, found {error}") from error


def _check_header(header: Sequence[str], location: str) -> int:
    """Number of distractors per text."""
    if not header:
        raise ValueError(f"{location}: expected a header, found an empty file")
    if repeated := sorted({name for name in header if header.count(name) > 1}):
        raise ValueError(f"{location}: expected each column once, found {', '.join(repeated)} twice")
    count = max(1, *(sum(name.startswith(prefix) for name in header) for _, prefix in COLUMNS.values()))
    needed = ["Index", *(name for text, prefix in COLUMNS.values() for name in (text, *_names(prefix, count)))]
    if missing := [name for name in needed if name not in header]:
        raise ValueError(f"{location}: expected the columns {', '.join(needed)}, found no {', '.join(missing)}")
    return count


def _names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(1, count + 1)]


def _csv_row(cells: Mapping[str, str], count: int, location: str, distinct: bool) -> DistractorRow:
    texts, distractors = {}, {}
    for language, (column, prefix) in COLUMNS.items():
        names = _names(prefix, count)
        for name in (column, *names):
            if not cells[name].strip():
                raise ValueError(
                    f"{location}: expected a text and {count} distractors in {language}, found {name} without words"
                )
        texts[language] = cells[column]
        row_distractors = [cells[name] for name in names]
        distractors[language] = check_distractors(texts, language, row_distractors, location, distinct=distinct)
    return DistractorRow(cells["Index"], texts, distractors, {})


# ---- JSON lines


def _read_jsonl(path: Path, distinct: bool) -> Iterator[LocatedRow]:
    for number, line in enumerate(read_lines(path), start=1):
        location = f"{path}:{number}"
        row = from_json(line, location, distinct=distinct)
        try:
            codes = {code: to_iso639_3(code) for code in row.texts}
        except ValueError as error:
            raise ValueError(f"{location}: {error}") from error
        if len(set(codes.values())) < len(codes):
            raise ValueError(f"{location}: expected one text in each language, found {', '.join(codes)}")
        yield LocatedRow(
            location,
            row._replace(
                texts={codes[code]: text for code, text in row.texts.items()},
                distractors={codes[code]: texts for code, texts in row.distractors.items()},
                notes={codes[code]: notes for code, notes in row.notes.items()},
            ),
        )
