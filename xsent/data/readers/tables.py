"""Tables of sentence pairs (TSV, CSV, JSON lines), row by row; rows that do not fit go to the ledger."""

import csv
import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

from xsent.data.readers.lines import open_bytes
from xsent.data.readers.rejects import RejectLedger
from xsent.data.readers.table_columns import (
    Columns,
    Layout,
    advice,
    check_columns,
    describe_header,
    is_header,
    layout_of_header,
    layout_of_row,
    log_layout,
    needed_columns,
    record_fields,
    unknown_columns,
)
from xsent.files.strict_json import parse_json
from xsent.text.text_lines import numbered_lines

log = logging.getLogger(__name__)

SUFFIXES = (".tsv", ".csv", ".jsonl")  # or these with .gz; .txt and none are TSV
HEAD = 100  # first lines, most of which tell the columns of a table

Numbered = Iterable[tuple[int, str]]  # number, from 1, and text of lines
TextRow = tuple[int, list[str]]  # line, and cells
Row = tuple[int, list[Any]]  # line, and the cell of each role: a string, or None for a role that the table lacks


def read_table(ledger: RejectLedger, path: Path, columns: Columns, *, suffix: str | None = None) -> Iterator[Row]:
    """Rows of a table in the format of its suffix; rows that do not fit go to the ledger.

    Raises:
        ValueError: another suffix, an empty file, wrong ``data.columns``, a table whose columns are not recognised, or
            more than half of the rows have another number of columns.
    """
    check_columns(columns)
    suffix = suffix or format_of(path)
    start = ledger.lines
    with open_bytes(path) as file:
        file_lines = ledger.limited(file)
        if suffix == ".jsonl":
            yield from _read_records(ledger, str(path), numbered_lines(file_lines, str(path), ledger), columns)
        else:
            split = _csv_rows if suffix == ".csv" else _tsv_rows
            start_of_file = list(islice(file_lines, HEAD))
            sample = RejectLedger(strict=False)
            head = list(split(sample, str(path), numbered_lines(start_of_file, str(path), sample)))
            lines = numbered_lines(chain(start_of_file, file_lines), str(path), ledger)
            yield from _read_rows(ledger, str(path), head, split(ledger, str(path), lines), columns)
    if ledger.lines == start:
        raise ValueError(f"{path}:1: expected a row, found an empty file")


def format_of(path: Path) -> str:
    """One of ``SUFFIXES``; raise ``ValueError`` for another suffix."""
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix in (".txt", ""):
        return ".tsv"
    if suffix not in SUFFIXES:
        raise ValueError(f"{path}: expected {', '.join(SUFFIXES)}, plain or .gz, found {suffix}")
    return suffix


def record_cells(record: object, columns: Columns) -> list[Any] | None:
    """Cell of each role of a JSON object; None unless it is one with two texts."""
    if not isinstance(record, Mapping):
        return None
    chosen = None if columns.chosen is None else tuple(columns.chosen)
    fields = record_fields(tuple(record), columns.roles, chosen)
    values = [None if field is None else record[field] for field in fields]
    if not all(isinstance(text, str) for text in values[:2]):
        return None
    return [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]


def fields_wanted(columns: Columns) -> str:
    """The names of the two texts of a record, for messages."""
    return " and ".join(f"`{field}`" for field in (columns.chosen or columns.roles)[:2])


# ---- JSON lines


def _read_records(ledger: RejectLedger, name: str, lines: Numbered, columns: Columns) -> Iterator[Row]:
    if numbers := [str(column) for column in columns.chosen or () if isinstance(column, int)]:
        raise ValueError(f"{name}: data.columns: expected names of fields for JSON lines, found {', '.join(numbers)}")
    is_usable, first = False, None
    for number, text in lines:
        try:
            record = parse_json(text)
        except ValueError as error:
            ledger.add(name, number, "expected a JSON object", f"{getattr(error, 'msg', error)} in {text[:60]!r}")
            continue
        try:
            cells = record_cells(record, columns)
        except ValueError as error:
            raise ValueError(f"{name}:{number}: {error}") from None
        if cells is None:
            first = first or (number, record)
            ledger.add(name, number, f"expected texts {fields_wanted(columns)}", str(record)[:80])
            continue
        is_usable = True
        yield number, cells
    if first is not None and not is_usable:
        number, record = first
        fields = ", ".join(record) if isinstance(record, Mapping) else str(record)[:80]
        raise ValueError(
            f"{name}:{number}: expected texts {fields_wanted(columns)}, found {fields}; {advice(columns, 'names')}"
        )


# ---- TSV and CSV


def _tsv_rows(ledger: RejectLedger, name: str, lines: Numbered) -> Iterator[TextRow]:
    for number, text in lines:
        yield number, text.split("\t")


def _csv_rows(ledger: RejectLedger, name: str, lines: Numbered) -> Iterator[TextRow]:
    """Rows and their first lines; a quoted cell may span several lines."""
    numbered = iter(lines)
    opening = next(numbered, None)
    if opening is None:
        return
    # Where the comma is decimal, spreadsheets write semicolons.
    delimiter = next((mark for mark in ",;\t" if mark in opening[1]), ",")
    start = 0

    def texts() -> Iterator[str]:
        nonlocal start
        for number, text in chain([opening], numbered):
            start = start or number
            yield f"{text}\n"

    reader = csv.reader(texts(), delimiter=delimiter, skipinitialspace=True, strict=True)
    while True:
        start = 0
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if reader.line_num == ledger.max_lines:
                return  # in the middle of a cell
            ledger.add(name, start, "broken quotes", str(error))
        else:
            yield start, cells or [""]


def _read_rows(
    ledger: RejectLedger, name: str, head: Sequence[TextRow], rows: Iterable[TextRow], columns: Columns
) -> Iterator[Row]:
    """Rows of a table; ``head``, the first of them, tells its columns."""
    header_line, layout = _read_header(name, head, columns)
    reference, header = header_line, None
    if layout is None:
        layout, reference = _common_layout(name, head, header_line, columns)
    mismatches = count = 0
    for number, cells in rows:
        if number == header_line:
            header = cells
            continue
        if cells == header:
            ledger.add(name, number, "expected a row", "the header again")
            continue
        count += 1
        if layout is None and (layout := layout_of_row(f"{name}:{number}", cells, columns)) is not None:
            reference = number
        if number == reference:
            log_layout(f"{name}:{number}", cells, columns, layout)
        row = cells[:-1] if layout is not None and layout.is_padded and not cells[-1] else cells
        if layout is None or len(row) != layout.width:
            mismatches += 1
            widths = columns.widths if columns.chosen is None else (needed_columns(columns.chosen),)
            expected = " or ".join(map(str, widths)) if layout is None else layout.width
            ledger.add(name, number, f"expected {expected} columns", f"{len(row)} columns")
            continue
        yield number, [None if position is None else row[position] for position in layout.positions]
    if layout is None and head:
        raise ValueError(unknown_columns(f"{name}:{head[0][0]}", head[0][1], columns))
    if layout is not None and 2 * mismatches > count:
        raise ValueError(
            f"{name}:{reference}: this row has {layout.width} columns, {mismatches:,} of {count:,} have another number:"
            " expected the same number in all; correct or remove it"
        )


def _read_header(name: str, head: Sequence[TextRow], columns: Columns) -> tuple[int | None, Layout | None]:
    """Line of the header, and its layout if its names are known; an odd line may stand above it."""
    width = max((widths := Counter(len(cells) for _, cells in head)), key=widths.__getitem__, default=0)
    usual = next((number for number, cells in head if len(cells) == width), 0)
    for number, cells in head:
        if number not in (head[0][0], usual):
            continue
        try:
            layout = layout_of_header(f"{name}:{number}", cells, columns)
        except ValueError:
            if number == usual:
                raise
            continue
        if layout is not None or is_header(cells, columns):
            used = () if layout is None else layout.positions
            log.info("%s:%d: %s", name, number, describe_header(cells, used, columns))
            return number, layout
    return None, None


def _common_layout(
    name: str, head: Sequence[TextRow], header_line: int | None, columns: Columns
) -> tuple[Layout | None, int | None]:
    """The layout that most of the first rows have, and the line of the first of them; None if no row has one."""
    lines: dict[Layout, list[int]] = {}
    for number, cells in head:
        with suppress(ValueError):
            layout = None if number == header_line else layout_of_row(f"{name}:{number}", cells, columns)
            if layout is not None:
                lines.setdefault(layout, []).append(number)
    layout = max(lines, key=lambda layout: len(lines[layout]), default=None)
    return layout, None if layout is None else lines[layout][0]
