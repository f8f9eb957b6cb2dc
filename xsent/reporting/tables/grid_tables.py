"""Tables of a paper with a row for each of its methods and for each model of a grid of evaluations."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from xsent.reporting.tables.comparability import incomparable_columns, incomparable_note
from xsent.reporting.tables.published import SINGLE, figures_of, printed_number
from xsent.reporting.tables.results import value_cell
from xsent.reporting.tables.table import Cell, Column, Table, column_tables

CSV = "grid_tables.csv"
Row = dict[str, tuple[str, float]]  # full name of the metric and value by header


class Model(NamedTuple):
    """A model of the grid with the results of all its evaluators."""

    name: str
    metrics: Mapping[str, float]  # ``test/<evaluator>[/<space>]/<item>/<metric>``
    details: Sequence[Mapping[str, object]]  # conditions of these


class GridFigure(NamedTuple):
    """A figure of ours, and a comparable one of the paper: a row of the CSV."""

    table: str
    column: str
    model: str
    ours: float
    method: str  # of the paper; "" where none is comparable
    paper: float | None
    difference: float | None


class GridTables(NamedTuple):
    """The tables, all figures, and a line for each table with columns that are not comparable."""

    tables: Sequence[Table]
    figures: Sequence[GridFigure]
    notes: Sequence[str]


def grid_tables(published: Sequence[Mapping[str, Any]], models: Sequence[Model]) -> GridTables:
    """Fill the tables of a config's ``published``; a table that no model was measured for is left out.

    A column has the paper's figures only if those of all models are comparable with them (``incomparable_columns``).

    Args:
        published: tables as of ``published_tables``.
        models: in the order of the rows.
    """
    tables: list[Table] = []
    figures: list[GridFigure] = []
    notes: list[str] = []
    for table, reasons in _chosen(published, models):
        rows = _rows(table, models)
        headers = _headers(table, models)
        notes += [incomparable_note(table["title"], reasons)] if reasons else []
        printed = {} if reasons.keys() >= set(headers) else table["rows"]
        columns = []
        for header in headers:
            paper = [Cell("" if header in reasons else str(row.get(header, ""))) for row in printed.values()]
            ours = [value_cell(*row[header]) if header in row else Cell("") for row in rows.values()]
            columns.append([Column(header, [*paper, *ours])])
            figures += _figures(table, header, rows, {} if header in reasons else printed)
        tables += column_tables(table["title"], [*(f"paper: {name}" for name in printed), *rows], columns, source=CSV)
    return GridTables(tables, figures, notes)


def _chosen(
    published: Sequence[Mapping[str, Any]], models: Sequence[Model]
) -> list[tuple[Mapping[str, Any], dict[str, str]]]:
    """Tables with figures of ours, and why columns are not comparable; each figure of ours is in one table.

    Several tables may be of the same metrics on different test sets, such as FLORES dev and devtest: those with
    comparable columns are chosen, otherwise the first.
    """
    by_metrics: dict[tuple[str, ...], list[tuple[Mapping[str, Any], dict[str, str]]]] = {}
    for table in published:
        reasons: dict[str, str] = {}
        for model in models:
            measured = [header for header in _headers(table, models) if _measured(table, header, model)]
            reasons |= incomparable_columns(table, measured, model.details)
        if _headers(table, models):
            by_metrics.setdefault(tuple(map(str, table["columns"].values())), []).append((table, reasons))
    chosen = []
    for group in by_metrics.values():
        comparable = [(table, reasons) for table, reasons in group if len(reasons) < len(_headers(table, models))]
        chosen += comparable or group[:1]
    return chosen


def _headers(table: Mapping[str, Any], models: Sequence[Model]) -> list[str]:
    return [header for header in table["columns"] if any(_measured(table, header, model) for model in models)]


def _measured(table: Mapping[str, Any], header: str, model: Model) -> dict[str, str]:
    """Names of the model's metrics of a column by what distinguishes its rows: "" for the figures without a prefix."""
    metric = table["columns"][header]
    return figures_of(metric, _prefixes(table), model.metrics) if metric else {}


def _prefixes(table: Mapping[str, Any]) -> dict[str, str]:
    return {name if prefix else "": prefix for name, prefix in table.get("ours", SINGLE).items()}


def _rows(table: Mapping[str, Any], models: Sequence[Model]) -> dict[str, Row]:
    """Our rows by name; a kind of figures that is the same for all models, such as a shared teacher's, is one row."""
    rows: dict[tuple[str, str], Row] = {}
    for model in models:
        for header in table["columns"]:
            for label, metric in _measured(table, header, model).items():
                rows.setdefault((label, model.name), {})[header] = metric, model.metrics[metric]
    named: dict[str, Row] = {}
    kinds = list(_prefixes(table))  # a label is a kind, a space, or both
    labels = list(dict.fromkeys(label for label, _ in rows))
    for label in sorted(labels, key=lambda text: kinds.index(kind) if (kind := text.split(", ")[0]) in kinds else -1):
        of_label = {model: row for (other, model), row in rows.items() if other == label}
        first, *rest = of_label.values()
        if label and all(row == first for row in rest):
            names = {str(row.get(label) or "") for model in models for row in model.details}
            named[" ".join([label, *(names - {""} if len(names - {""}) == 1 else [])])] = first
        else:
            named |= {f"{model}, {label}" if label else model: row for model, row in of_label.items()}
    return named


def _figures(
    table: Mapping[str, Any], header: str, rows: Mapping[str, Row], printed: Mapping[str, Mapping[str, object]]
) -> list[GridFigure]:
    figures = []
    for name, row in rows.items():
        if header not in row:
            continue
        ours = row[header][1]
        numbers = {method: printed_number(str(of_paper.get(header, ""))) for method, of_paper in printed.items()}
        beside = {method: number for method, number in numbers.items() if number is not None}
        for method, number in beside.items():
            figures.append(GridFigure(table["title"], header, name, ours, method, number, ours - number))
        if not beside:
            figures.append(GridFigure(table["title"], header, name, ours, "", None, None))
    return figures
