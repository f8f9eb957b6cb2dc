"""Columns of a table of sentence pairs: by name, by number, or recognised in a header or a row."""

import logging
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

log = logging.getLogger(__name__)

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
LABELS = {"0": 0, "1": 1, "false": 0, "true": 1}  # in any case

ColumnNames = Sequence[str | int | None]


class Columns(NamedTuple):
    """Columns that a reader takes from a table."""

    roles: tuple[str, ...]  # of NAMES
    widths: tuple[int, ...]  # of a table without header; its columns are the first roles, in order
    chosen: ColumnNames | None  # `data.columns`: name or number (from 1) for the first roles; None: recognised


class Layout(NamedTuple):
    """Where the cells of the roles are in the rows of a table."""

    positions: tuple[int | None, ...]  # of the cell of each role
    width: int  # of all rows
    is_padded: bool = False  # rows end with a separator


def is_label(text: str) -> bool:
    """Whether a text is a label or a score."""
    try:
        return text.strip().casefold() in LABELS or math.isfinite(float(text))
    except ValueError:
        return False


def layout_of_header(location: str, cells: Sequence[str], columns: Columns) -> Layout | None:
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
        if needed_columns(chosen) > len(cells):
            raise ValueError(unknown_columns(location, cells, columns))
        return Layout(
            _padded([names.index(column) if isinstance(column, str) else _index(column) for column in chosen], roles),
            len(cells),
        )
    if "label" in roles and len(cells) in columns.widths and len(cells) > 2 and names[2].casefold() == "label":
        return Layout(_padded(range(len(cells)), roles), len(cells))
    try:
        positions = _recognised(names, roles)
    except ValueError as error:
        raise ValueError(f"{location}: {error}") from None
    return None if None in positions[:2] else Layout(tuple(positions), len(cells))


def is_header(cells: Sequence[str], columns: Columns) -> bool:
    """Whether a first row with unknown names is a header: it has no label where all other rows have one."""
    chosen = columns.chosen
    if "label" not in columns.roles or len(cells) < 3 or not cells[-1].strip():
        return False
    if chosen is None:
        return not any(map(is_label, cells))
    position = _index(chosen[2]) if len(chosen) > 2 else None
    return position is not None and position < len(cells) and not is_label(cells[position])


def layout_of_row(location: str, cells: Sequence[str], columns: Columns) -> Layout | None:
    """Layout from the numbers of columns, or from the width and the label of a row; None for another width."""
    roles, chosen = columns.roles, columns.chosen
    if chosen is not None:
        positions = _padded([_index(column) for column in chosen], roles)
        return Layout(positions, len(cells)) if needed_columns(chosen) <= len(cells) else None
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
            raise ValueError(unknown_columns(location, cells, columns))
        texts = [position for position in range(width) if position not in labels]
        positions = _padded(texts + labels, roles)
    return Layout(positions, width, is_padded)


def log_layout(location: str, cells: Sequence[str], columns: Columns, layout: Layout | None) -> None:
    """Log what the columns of a table without header are read as, where that may be a surprise."""
    if layout is None or columns.chosen is not None or layout.width < 3:
        return
    if "label" in columns.roles:
        if layout.positions[2] not in (None, 2):
            log.info("%s: column %d has the labels", location, (layout.positions[2] or 0) + 1)
    elif cells[2].strip().casefold() in LABELS:
        log.warning("%s: column 3, %s, is read as the origin of pairs; data=labelled reads labels", location, cells[2])


@lru_cache(maxsize=1000)
def record_fields(
    names: tuple[str, ...], roles: tuple[str, ...], chosen: tuple[str | int | None, ...] | None
) -> list[Any]:
    """Name of the field of each role; None for a role that these fields lack."""
    if chosen is not None:
        return [field if field in names else None for field in chosen] + [None] * (len(roles) - len(chosen))
    positions = _recognised(names, roles)
    return [None if position is None else names[position] for position in positions]


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


def check_columns(columns: Columns) -> None:
    """Raise ``ValueError`` unless ``data.columns`` names the roles by names or numbers."""
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


def needed_columns(chosen: ColumnNames) -> int:
    """Number of columns that a table needs for the chosen numbers."""
    return max((column for column in chosen if isinstance(column, int)), default=0)


def describe_header(cells: Sequence[str], positions: Sequence[int | None], columns: Columns) -> str:
    """What a header is read as, for the log."""
    used = {role: position for role, position in zip(columns.roles, positions, strict=False) if position is not None}
    names = [f"{role} is {cells[position].strip()}" for role, position in used.items()]
    unused = [cell.strip() for position, cell in enumerate(cells) if used and position not in used.values()]
    text = f"read as a header: {', '.join(names or cells)}"
    return f"{text}; not used: {', '.join(unused)}" if unused else text


def unknown_columns(location: str, cells: Sequence[str], columns: Columns) -> str:
    """Message for a row whose columns are not recognised, with the option that names them."""
    if columns.chosen is not None:
        return (
            f"{location}: expected at least {needed_columns(columns.chosen)} columns (data.columns), found {len(cells)}"
        )
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
    return f"{message}; {advice(columns, 'names or numbers')}"


def advice(columns: Columns, kind: str) -> str:
    """How ``data.columns`` names the columns, for messages."""
    if "label" in columns.roles:
        return f"data.columns=[...] gives the {kind} of source, target and label" + (
            ", e.g. [2,3,1]" if "numbers" in kind else ", e.g. [question1,question2,is_duplicate]"
        )
    return f"data.columns=[...] gives the {kind} of source and target, e.g. " + (
        "[2,3]" if "numbers" in kind else "[en,de]"
    )
