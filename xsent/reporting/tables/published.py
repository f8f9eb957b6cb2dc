"""Tables of a paper with our results as their last rows; for terminal and Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import rich.table

from xsent.reporting.tables.results import value_cell
from xsent.reporting.tables.table import Cell, Row, markdown_table, terminal_table, text_row

SINGLE_ROW = {"": ""}  # one row of ours, metrics without a prefix
WIDE = 8  # columns; the terminal shows a wider table transposed


class Published(NamedTuple):
    """Table of a paper, with our rows for each space."""

    title: str
    header: list[str]
    measured: list[bool]  # by column, whether we have figures for it
    rows: list[Row]  # the paper's
    ours: list[Row]


def published_tables(config: Sequence[Mapping[str, Any]], metrics: Mapping[str, float]) -> list[Published]:
    """Fill the tables of a config's ``published`` with our figures; tables and rows without any are left out.

    Args:
        config: tables of ``title``, ``columns`` (header -> our metric without ``test/`` and space, or None), ``rows``
            (name -> header -> the paper's value) and optionally ``ours`` (name -> prefix of the last part of the
            metrics in that row: ``teacher_`` puts ``ugc/rocsmt/teacher_xsim`` in the column ``ugc/rocsmt/xsim``).
        metrics: ours, ``test/<evaluator>[/<space>]/<item>/<metric>``.
    """
    matches = [_filled(table, metrics) for table in config]
    return [table for table in matches if table.ours]


def _filled(table: Mapping[str, Any], metrics: Mapping[str, float]) -> Published:
    printed: Mapping[str, Mapping[str, object]] = table["rows"]
    # A header that only rows have becomes a column without our figures.
    columns: dict[str, str | None] = table["columns"] | {
        header: None for row in printed.values() for header in row if header not in table["columns"]
    }
    rows = [text_row([name, *(str(row.get(header, "")) for header in columns)]) for name, row in printed.items()]
    ours = []
    for name, prefix in table.get("ours", SINGLE_ROW).items():
        for label, names in _ours(f"ours, {name}" if name else "ours", prefix, list(columns.values()), metrics):
            cells = [value_cell(metric, metrics[metric]) if metric else Cell("") for metric in names]
            ours.append(Row([Cell(label), *cells], bold=True))
    measured = [metric is not None for metric in columns.values()]
    return Published(table["title"], ["", *columns], [False, *measured], rows, ours)


def _ours(
    name: str, prefix: str, columns: Sequence[str | None], metrics: Mapping[str, float]
) -> list[tuple[str, list[str]]]:
    """Label and metrics of our row for each space that has any of the figures."""
    matches = [{} if metric is None else _by_space(_prefixed(metric, prefix), metrics) for metric in columns]
    spaces = list(dict.fromkeys(space for column in matches for space in column))
    return [
        (f"{name}, {space}" if len(spaces) > 1 else name, [column.get(space, "") for column in matches])
        for space in spaces
    ]


def _prefixed(metric: str, prefix: str) -> str:
    item, _, last = metric.rpartition("/")
    return f"{item}/{prefix}{last}"


def _by_space(metric: str, metrics: Mapping[str, float]) -> dict[str, str]:
    """Full names of the metric ``<evaluator>/<item>/<metric>`` by space; "" for a metric without spaces."""
    evaluator, *rest = metric.split("/")
    matches = {}
    for name in metrics:
        parts = name.split("/")
        if parts[1] == evaluator and parts[-len(rest) :] == rest:
            middle = parts[2 : len(parts) - len(rest)]
            if len(middle) <= 1:
                matches["".join(middle)] = name
    return matches


def published_terminal(table: Published) -> rich.table.Table:
    """Table for a terminal, without its title; our rows are bold."""
    if len(table.header) <= WIDE + 1:
        terminal = terminal_table(table.header, table.rows, table.ours)
        for column, is_measured in zip(terminal.columns, table.measured, strict=True):
            column.justify = "right" if is_measured else "left"
        return terminal
    names, *lines = zip(table.header, *(row.texts for row in [*table.rows, *table.ours]), strict=True)
    terminal = terminal_table(names, [text_row(line) for line in lines])
    for column in terminal.columns[1 + len(table.rows) :]:
        column.style = "bold"
    return terminal


def published_markdown(table: Published) -> str:
    """Title and table in Markdown; our rows are bold."""
    ours = [[f"**{text}**" if text else "" for text in row.texts] for row in table.ours]
    rows = [*(row.texts for row in table.rows), *ours]
    return f"## {table.title}\n\n" + markdown_table(table.header, rows, table.measured)
