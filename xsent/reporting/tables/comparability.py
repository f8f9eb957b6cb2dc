"""Comparability of a paper's figures with ours: the same test set and definition, by the conditions in ``details.csv``.

A table of ``published`` has ``comparable``: for each column the row of ``details.csv`` that ours must have, or several.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from xsent.reporting.tables.published import measured_columns
from xsent.reporting.tables.study_rows import AVERAGES

ALL = "all"  # key of the conditions for columns without their own
TEST_SET = {"direction", "set"}  # fields that name a test set
Details = Sequence[Mapping[str, object]]  # rows of ``details.csv``


def comparable_tables(
    config: Sequence[Mapping[str, Any]], metrics: Mapping[str, float], details: Details
) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Published tables without the columns that ours must not stand beside, and a line on these for each table.

    Args:
        config: tables as of ``published_tables``.
        metrics: ours, ``test/<evaluator>[/<space>]/<item>/<metric>``.
        details: conditions of ours.
    """
    tables: list[Mapping[str, Any]] = []
    notes = []
    for table in config:
        reasons = incomparable_columns(table, measured_columns(table, metrics), details)
        columns = {header: metric for header, metric in table["columns"].items() if header not in reasons}
        rows = {
            name: {header: value for header, value in row.items() if header not in reasons}
            for name, row in table["rows"].items()
        }
        tables.append({**table, "columns": columns, "rows": rows})
        notes += [incomparable_note(table["title"], reasons)] if reasons else []
    return tables, notes


def incomparable_note(title: str, reasons: Mapping[str, str]) -> str:
    """One line with what differs; columns of one reason together, and unnamed if it is the reason of all."""
    headers: dict[str, list[str]] = {}
    for header, reason in reasons.items():
        headers.setdefault(reason, []).append(header)
    if len(headers) == 1:
        return f"Not beside {title}: {next(iter(headers))}."
    return f"Not beside {title}: " + "; ".join(f"{', '.join(names)}: {text}" for text, names in headers.items()) + "."


def incomparable_columns(table: Mapping[str, Any], measured: Sequence[str], details: Details) -> dict[str, str]:
    """Why each measured column is not comparable, by header; empty for a table without ``comparable``.

    A mean without conditions of its own, beside columns of items, is comparable if these are and ours averages no other
    test set.

    Args:
        table: ``columns`` and ``comparable``: by header (``all``: columns without their own conditions) the fields that
            a row of details must have, or a list of such rows, each of which must be there. A list as value of a field
            allows any of its items; ``{item}`` in a value is the item of the column's metric.
        measured: headers with figures of ours.
        details: conditions of ours; fields are compared as ``details.csv`` has them.
    """
    conditions: Mapping[str, Any] = table.get("comparable") or {}
    reasons: dict[str, str] = {}
    parts = {header: str(table["columns"][header]).split("/") for header in measured}
    has_items = any(item not in AVERAGES for _, item, *_ in parts.values())
    means = []
    for header, (evaluator, item, *_) in parts.items():
        rows = [row for row in details if _text(row.get("evaluator")) == evaluator]
        required = conditions.get(header)
        if conditions and required is None and item in AVERAGES and has_items:
            means.append((header, rows))
            continue
        required = conditions.get(ALL, []) if required is None else required
        for condition in required if isinstance(required, list) else [required]:
            if difference := _difference(condition, rows, item):
                reasons[header] = difference
                break
    items = {str(metric).split("/")[1] for metric in table["columns"].values() if metric}
    for header, rows in means:
        directions = dict.fromkeys(_text(row.get("direction")) for row in rows)
        further = [name for name in directions if name not in items]
        if reasons:
            reasons[header] = "the columns that it averages differ"
        elif further and len(further) < len(directions):
            reasons[header] = f"ours averages {', '.join(further)}, too"
    return reasons


def _difference(condition: Mapping[str, Any], rows: Details, item: str) -> str:
    """What the most similar row has not as required; empty if a row has all of it."""
    expected = {
        field: [_text(each).replace("{item}", item) for each in (value if isinstance(value, list) else [value])]
        for field, value in condition.items()
    }
    differing = [
        {field: texts for field, texts in expected.items() if _text(row.get(field)) not in texts} for row in rows
    ]
    if expected and not differing:
        return "the conditions of ours are not recorded"
    for field in TEST_SET & expected.keys():
        if all(field in fields for fields in differing):
            return f"ours has no {' or '.join(expected[field])}"
    row, fields = min(zip(rows, differing, strict=True), key=lambda pair: len(pair[1]), default=({}, {}))
    found = {field: _text(row.get(field)) or "unknown" for field in fields}
    return ", ".join(
        f"{field} {found[field]} (theirs {' or '.join(texts) or 'none'})" for field, texts in fields.items()
    )


def _text(value: object) -> str:
    """A field as ``details.csv`` has it; whole numbers without a fraction."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
