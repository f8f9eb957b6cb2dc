"""Tables of a study of ``evaluate.py``: the paper's rows, ours, and the difference of those of the same encoder."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from xsent.reporting.tables.comparability import incomparable_columns, incomparable_note
from xsent.reporting.tables.published import (
    SINGLE,
    averaged_columns,
    difference_text,
    figures_of,
    mean_text,
    measured_columns,
    printed_number,
)
from xsent.reporting.tables.results import value_cell
from xsent.reporting.tables.table import Cell, Column, Table, column_tables

ABSENT = "-"  # not measured


class Figure(NamedTuple):
    """Figure of ours in a column of a table; a row of ``table.csv``."""

    table: str
    encoder: str
    column: str
    ours: float | None  # None: the cell failed, or has no such figure
    paper_row: str
    paper: float | None
    difference: float | None


class Evaluations(NamedTuple):
    """Metrics and conditions of one model by all evaluators; ``metrics`` is empty if its cells failed."""

    encoder: str
    metrics: Mapping[str, float]  # "test/<evaluator>[/<space>]/<item>/<metric>"
    details: Sequence[Mapping[str, object]]


def by_encoder(cells: Sequence[Mapping[str, Any]]) -> list[Evaluations]:
    """The cells of each model together."""
    models: dict[str, tuple[dict[str, float], list[Mapping[str, object]]]] = {}
    for cell in cells:
        name = cell["encoder"] if cell.get("dim") is None else f"{cell['encoder']}, {cell['dim']} numbers"
        metrics, details = models.setdefault(name, ({}, []))
        metrics |= {f"test/{metric}": value for metric, value in cell.get("metrics", {}).items()}
        details += cell.get("details", [])
    return [Evaluations(name, *of_model) for name, of_model in models.items()]


def evaluation_tables(
    models: Sequence[Evaluations], study: Mapping[str, Any], published: Sequence[Mapping[str, Any]]
) -> tuple[list[Table], list[str], list[Figure]]:
    """Tables, lines on columns that are not beside the paper's, and figures.

    Args:
        models: of ``by_encoder``.
        study: ``tables``, text of the titles, and ``rows``, the paper's row by encoder.
        published: as of ``published_tables``.

    Raises:
        ValueError: no table has such a title, or the tables have no such row.
    """
    chosen = [table for table in published if study["tables"] in table["title"]]
    names = {name for table in chosen for name in table["rows"]}
    if absent := [row for row in study["rows"].values() if row not in names]:
        raise ValueError(f"study.rows: no rows {absent} in published tables with title {study['tables']!r}")
    tables: list[Table] = []
    notes: list[str] = []
    figures: list[Figure] = []
    for table in chosen:
        by_model = [measured_columns(table, row.metrics) for row in models]
        measured = [header for header in table["columns"] if any(header in of_model for of_model in by_model)]
        reasons: dict[str, str] = {}
        for of_model, row in zip(by_model, models, strict=True):
            reasons |= incomparable_columns(table, of_model, row.details)
        notes += [incomparable_note(table["title"], reasons)] if reasons else []
        of_table = _table(table, study["rows"], models, measured, reasons)
        tables += of_table[0]
        figures += of_table[1]
    return tables, notes, figures


def _table(
    table: Mapping[str, Any],
    rows: Mapping[str, str],
    models: Sequence[Evaluations],
    measured: Sequence[str],
    reasons: Mapping[str, str],
) -> tuple[list[Table], list[Figure]]:
    headers = list(measured) or [header for header, metric in table["columns"].items() if metric]
    paper: dict[str, dict[str, str]] = {name: {} for name in rows.values() if len(reasons) < len(headers)}
    averaged: list[str] = []
    for header in headers:
        parts = averaged_columns(table["columns"], header)
        present = [each for each in parts if each in measured]
        for name in paper:
            row = table["rows"][name]
            if header in reasons:
                continue
            paper[name][header] = str(row.get(header, ""))
            if 0 < len(present) < len(parts):
                paper[name][header] = mean_text([str(row.get(each, "")) for each in present])
        averaged += [f"{header}: of {', '.join(present)}"] if 0 < len(present) < len(parts) else []
    lines: list[tuple[str, list[str]]] = []
    figures: list[Figure] = []
    for name, row in paper.items():
        lines.append((f"{name}, the paper", [row.get(header, "") for header in headers]))
    for model in models:
        name = rows.get(model.encoder, "")
        for label, values in _ours(table, model, headers):
            ours = [ABSENT if metric is None else value_cell(metric, value).text for metric, value in values]
            lines.append((label, ours))
            differences = []
            for header, (metric, value) in zip(headers, values, strict=True):
                text = paper.get(name, {}).get(header, "")
                number = printed_number(text)
                is_compared = metric is not None and number is not None
                difference = value - number if metric is not None and number is not None else None
                differences.append(difference_text(str(metric), value, text) if is_compared else "")
                ours_or_none = None if metric is None else value
                figures.append(Figure(table["title"], label, header, ours_or_none, name, number, difference))
            if any(differences):
                lines.append((f"{label} less {name}", differences))
    title = table["title"] + (f" ({'; '.join(averaged)})" if averaged else "")
    columns = [[Column(header, [Cell(row[number]) for _, row in lines])] for number, header in enumerate(headers)]
    return column_tables(title, [name for name, _ in lines], columns, source="table.csv"), figures


def _ours(
    table: Mapping[str, Any], model: Evaluations, headers: Sequence[str]
) -> Iterator[tuple[str, list[tuple[str | None, float]]]]:
    """Rows of a model by label: metrics and values of the columns, no metric where it was not measured."""
    names = {
        header: figures_of(table["columns"][header], table.get("ours", SINGLE), model.metrics) for header in headers
    }
    for label in dict.fromkeys(label for of_column in names.values() for label in of_column) or [""]:
        values: list[tuple[str | None, float]] = []
        for header in headers:
            metric = names[header].get(label)
            values.append((metric, 0.0 if metric is None else model.metrics[metric]))
        yield ", ".join(filter(None, [model.encoder, label])), values
