"""Tables of sentence pairs (TSV, CSV, JSON lines): columns by name, by number, or recognised in the first rows."""

import csv
import json
import logging
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from xsent.data.readers.lines import open_bytes
from xsent.data.readers.rejects import RejectLedger
from xsent.files.strict_json import parse_json
from xsent.text.text_lines import numbered_lines

log = logging.getLogger(__name__)

SUFFIXES = (".tsv", ".csv", ".jsonl")  # or these with .gz; .txt and none are TSV
# Names in headers and of JSON fields, in any case, that need no `data.columns`.
NAMES = {
    "source": ("source", "src", "sentence1", "sentence_1", "text1", "question1", "anchor"),
    "target": ("target", "tgt", "sentence2", "sentence_2", "text2", "question2", "positive"),
    "label": ("label", "score", "is_duplicate"),
    "group": ("group",),
    "origin": ("origin",),
    "source_lang": ("source_lang",),
    "target_lang": ("target_lang",),
}
HEAD = 100  # first lines, most of which tell the columns of a table
LABELS = {"0": 0, "1": 1, "false": 0, "true": 1}  # in any case

ColumnNames = Sequence[str | int | None]
Numbered = Iterable[tuple[int, str]]  # number, from 1, and text of lines
TextRow = tuple[int, list[str]]  # line, and cells
Row = tuple[int, list[Any]]  # line, and the cell of each role: a string, or None for a role that the table lacks


class Columns(NamedTuple):
    """Columns that a reader takes from a table."""

    roles: tuple[str, ...]  # of NAMES
    widths: tuple[int, ...]  # of a table without header; its columns are the first roles, in order
    chosen: ColumnNames | None  # `data.columns`: name or number (from 1) for the first roles; None: recognised


class _Layout(NamedTuple):
    positions: tuple[int | None, ...]  # of the cell of each role
    width: int  # of all rows
    is_padded: bool = False  # rows end with a separator


def read_table(ledger: RejectLedger, path: Path, columns: Columns, *, suffix: str | None = None) -> Iterator[Row]:
    """Rows of a table in the format of its suffix; rows that do not fit go to the ledger.

    Raises:
        ValueError: another suffix, an empty file, wrong ``data.columns``, a table whose columns are not recognised, or
            more than half of the rows have another number of columns.
    """
    _check(columns)
    suffix = suffix or format_of(path)
    start = ledger.lines
    with open_bytes(path) as file:
        if suffix == ".jsonl":
            yield from _read_records(ledger, str(path), numbered_lines(file, str(path), ledger), columns)
        else:
            split = _csv_rows if suffix == ".csv" else _tsv_rows
            start_of_file = list(islice(file, HEAD))
            sample = RejectLedger(strict=False)
            head = list(split(sample, str(path), numbered_lines(start_of_file, str(path), sample)))
            lines = numbered_lines(chain(start_of_file, file), str(path), ledger)
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
    fields = _fields(tuple(record), columns.roles, chosen)
    values = [None if field is None else record[field] for field in fields]
    if not all(isinstance(text, str) for text in values[:2]):
        return None
    return [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]


def is_label(text: str) -> bool:
    """Whether a text is a label or a score."""
    try:
        return text.strip().casefold() in LABELS or math.isfinite(float(text))
    except ValueError:
        return False


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
            f"{name}:{number}: expected texts {fields_wanted(columns)}, found {fields}; {_advice(columns, 'names')}"
        )


@lru_cache(maxsize=1000)
def _fields(names: tuple[str, ...], roles: tuple[str, ...], chosen: tuple[str | int | None, ...] | None) -> list[Any]:
    """Name of the field of each role; None for a role that these fields lack."""
    if chosen is not None:
        return [field if field in names else None for field in chosen] + [None] * (len(roles) - len(chosen))
    positions = _recognised(names, roles)
    return [None if position is None else names[position] for position in positions]


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
        if layout is None and (layout := _layout_of_row(f"{name}:{number}", cells, columns)) is not None:
            reference = number
        if number == reference:
            _log_layout(f"{name}:{number}", cells, columns, layout)
        row = cells[:-1] if layout is not None and layout.is_padded and not cells[-1] else cells
        if layout is None or len(row) != layout.width:
            mismatches += 1
            widths = columns.widths if columns.chosen is None else (_needed(columns.chosen),)
            expected = " or ".join(map(str, widths)) if layout is None else layout.width
            ledger.add(name, number, f"expected {expected} columns", f"{len(row)} columns")
            continue
        yield number, [None if position is None else row[position] for position in layout.positions]
    if layout is None and head:
        raise ValueError(_unknown_columns(f"{name}:{head[0][0]}", head[0][1], columns))
    if layout is not None and 2 * mismatches > count:
        raise ValueError(
            f"{name}:{reference}: this row has {layout.width} columns, {mismatches:,} of {count:,} have another number:"
            " expected the same number in all; correct or remove it"
        )


def _read_header(name: str, head: Sequence[TextRow], columns: Columns) -> tuple[int | None, _Layout | None]:
    """Line of the header, and its layout if its names are known; an odd line may stand above it."""
    width = max((widths := Counter(len(cells) for _, cells in head)), key=widths.__getitem__, default=0)
    usual = next((number for number, cells in head if len(cells) == width), 0)
    for number, cells in head:
        if number not in (head[0][0], usual):
            continue
        try:
            layout = _layout_of_header(f"{name}:{number}", cells, columns)
        except ValueError:
            if number == usual:
                raise
            continue
        if layout is not None or _is_header(cells, columns):
            used = () if layout is None else layout.positions
            log.info("%s:%d: %s", name, number, _describe_header(cells, used, columns))
            return number, layout
    return None, None


def _common_layout(
    name: str, head: Sequence[TextRow], header_line: int | None, columns: Columns
) -> tuple[_Layout | None, int | None]:
    """The layout that most of the first rows have, and the line of the first of them; None if no row has one."""
    lines: dict[_Layout, list[int]] = {}
    for number, cells in head:
        with suppress(ValueError):
            layout = None if number == header_line else _layout_of_row(f"{name}:{number}", cells, columns)
            if layout is not None:
                lines.setdefault(layout, []).append(number)
    layout = max(lines, key=lambda layout: len(lines[layout]), default=None)
    return layout, None if layout is None else lines[layout][0]


def _layout_of_header(location: str, cells: Sequence[str], columns: Columns) -> _Layout | None:
    """Layout from the names in a header; None if the row has none that are known or chosen."""
    names = [cell.strip() for cell in cells]
    roles, chosen = columns.roles, columns.chosen
    if chosen is not None:
        if not any(isinstance(column, str) for column in chosen):
            return None
        for column in chosen:
            if isinstance(column, str) and names.count(column) != 1:
                raise ValueError(
                    f"{location}: expected one column named {column} (data.columns), found {names.count(column)} among"
                    f" {', '.join(names)}; give its number"
                )
        if _needed(chosen) > len(cells):
            raise ValueError(_unknown_columns(location, cells, columns))
        return _Layout(
            _padded([names.index(column) if isinstance(column, str) else _index(column) for column in chosen], roles),
            len(cells),
        )
    if "label" in roles and len(cells) in columns.widths and len(cells) > 2 and names[2].casefold() == "label":
        return _Layout(_padded(range(len(cells)), roles), len(cells))
    try:
        positions = _recognised(names, roles)
    except ValueError as error:
        raise ValueError(f"{location}: {error}") from None
    return None if None in positions[:2] else _Layout(tuple(positions), len(cells))


def _is_header(cells: Sequence[str], columns: Columns) -> bool:
    """Whether a first row with unknown names is a header: it has no label where all other rows have one."""
    chosen = columns.chosen
    if "label" not in columns.roles or len(cells) < 3 or not cells[-1].strip():
        return False
    if chosen is None:
        return not any(map(is_label, cells))
    position = _index(chosen[2]) if len(chosen) > 2 else None
    return position is not None and position < len(cells) and not is_label(cells[position])


def _layout_of_row(location: str, cells: Sequence[str], columns: Columns) -> _Layout | None:
    """Layout from the numbers of columns, or from the width and the label of a row; None for another width."""
    roles, chosen = columns.roles, columns.chosen
    if chosen is not None:
        positions = _padded([_index(column) for column in chosen], roles)
        return _Layout(positions, len(cells)) if _needed(chosen) <= len(cells) else None
    has_labels = "label" in roles
    width = len(cells)
    is_padded = not cells[-1] and (width not in columns.widths or (has_labels and width == 3))
    width -= is_padded
    if width not in columns.widths:
        return None
    positions = _padded(range(width), roles)
    if has_labels and width > 2 and not is_label(cells[2]):
        labels = [position for position in range(width) if is_label(cells[position])]
        if width > 3 or len(labels) != 1:
            raise ValueError(_unknown_columns(location, cells, columns))
        texts = [position for position in range(width) if position not in labels]
        positions = _padded(texts + labels, roles)
    return _Layout(positions, width, is_padded)


def _log_layout(location: str, cells: Sequence[str], columns: Columns, layout: _Layout | None) -> None:
    """Log what the columns of a table without header are read as, where that may be a surprise."""
    if layout is None or columns.chosen is not None or layout.width < 3:
        return
    if "label" in columns.roles:
        if layout.positions[2] not in (None, 2):
            log.info("%s: column %d has the labels", location, (layout.positions[2] or 0) + 1)
    elif cells[2].strip().casefold() in LABELS:
        log.warning("%s: column 3, %s, is read as the origin of pairs; data=labelled reads labels", location, cells[2])


def _recognised(names: Sequence[str], roles: Sequence[str]) -> list[int | None]:
    """Position of the known name of each role; all None without a source and a target.

    Raises:
        ValueError: several names for a role, none of which is the role itself; labels where none are read.
    """
    positions: list[int | None] = []
    for role in roles:
        matching = [position for position, name in enumerate(names) if name.casefold() in NAMES[role]]
        exact = [position for position in matching if names[position].casefold() == role]
        if len(positions) < 2 and not matching:
            return [None] * len(roles)
        if len(exact or matching) > 1:
            several = ", ".join(names[position] for position in exact or matching)
            raise ValueError(f"expected one column for the {role}, found {several}; data.columns=[...] selects one")
        positions.append((exact or matching)[0] if matching else None)
    labels = [name for name in names if name.casefold() in ("label", "is_duplicate")]
    if labels and "label" not in roles:
        texts = ",".join(names[position] for position in positions[:2] if position is not None)
        raise ValueError(
            f"expected translations, found labels ({labels[0]}); data=labelled reads them, data.columns=[{texts}] takes"
            " all pairs whatever their label"
        )
    return positions


def _padded(positions: Sequence[int | None], roles: Sequence[str]) -> tuple[int | None, ...]:
    return (*positions, *[None] * (len(roles) - len(positions)))


def _index(column: str | int | None) -> int | None:
    return column - 1 if isinstance(column, int) else None


# ---- checks and messages


def _check(columns: Columns) -> None:
    chosen, order = columns.chosen, ", ".join(columns.roles)
    if chosen is None:
        return
    is_list = isinstance(chosen, list | tuple)
    shown = f"[{','.join('null' if name is None else str(name) for name in chosen)}]" if is_list else chosen
    expected = f"data.columns={shown}: expected the names or numbers of {order}, in this order, the first two at least"
    if not is_list or not 2 <= len(chosen) <= len(columns.roles) or None in chosen[:2]:
        raise ValueError(expected)
    for role, column in zip(columns.roles, chosen, strict=False):
        is_number = isinstance(column, int) and not isinstance(column, bool) and column > 0
        if not (is_number or isinstance(column, str) or column is None):
            raise ValueError(f"{expected}; found {column}, and numbers start at 1")
        if column in columns.roles and column != role:
            raise ValueError(f"{expected}; found {column} in the place of {role}")
    named = [column for column in chosen if column is not None]
    if len(set(named)) < len(named):
        raise ValueError(f"{expected}; found a column twice")


def _needed(chosen: ColumnNames) -> int:
    return max((column for column in chosen if isinstance(column, int)), default=0)


def _describe_header(cells: Sequence[str], positions: Sequence[int | None], columns: Columns) -> str:
    used = {role: position for role, position in zip(columns.roles, positions, strict=False) if position is not None}
    names = [f"{role} is {cells[position].strip()}" for role, position in used.items()]
    unused = [cell.strip() for position, cell in enumerate(cells) if used and position not in used.values()]
    text = f"read as a header: {', '.join(names or cells)}"
    return f"{text}; not used: {', '.join(unused)}" if unused else text


def _unknown_columns(location: str, cells: Sequence[str], columns: Columns) -> str:
    if columns.chosen is not None:
        return f"{location}: expected at least {_needed(columns.chosen)} columns (data.columns), found {len(cells)}"
    if len(cells) == 1:
        mark = next((mark for mark in ",;" if mark in cells[0]), None)
        hint = f"; a file with {mark!r} between columns is named .csv" if mark else ""
        return f"{location}: expected two columns or more, found one: {cells[0][:60]!r}{hint}"
    labels = [position for position, cell in enumerate(cells) if is_label(cell)]
    widths = " or ".join(map(str, columns.widths))
    message = f"{location}: found {len(cells)} columns"
    if "label" in columns.roles and len(cells) in columns.widths:
        message += f", and {cells[2][:40]!r} where column 3 has the label: expected 0, 1, true, false or a score"
    else:
        message += f": expected {widths}, or a header with known names"
    texts = [position + 1 for position in range(len(cells)) if position not in labels]
    if "label" in columns.roles and labels and len(texts) == 2:
        return f"{message}; data.columns=[{texts[0]},{texts[1]},{labels[-1] + 1}] names source, target, label"
    return f"{message}; {_advice(columns, 'names or numbers')}"


def _advice(columns: Columns, kind: str) -> str:
    if "label" in columns.roles:
        return f"data.columns=[...] gives the {kind} of source, target and label" + (
            ", e.g. [2,3,1]" if "numbers" in kind else ", e.g. [question1,question2,is_duplicate]"
        )
    return f"data.columns=[...] gives the {kind} of source and target, e.g. " + (
        "[2,3]" if "numbers" in kind else "[en,de]"
    )
