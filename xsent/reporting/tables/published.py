"""Tables of a paper with our results as their last rows; for terminal and Markdown."""

from __future__ import annotations

import re
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
        label = f"ours, {name}" if name else "ours"
        by_column = [{} if metric is None else _by_space(metric, prefix, metrics) for metric in columns.values()]
        spaces = list(dict.fromkeys(space for names in by_column for space in names))
        for space in spaces:
            cells = [
                value_cell(names[space], metrics[names[space]]) if space in names else Cell("") for names in by_column
            ]
            ours.append(Row([Cell(f"{label}, {space}" if len(spaces) > 1 else label), *cells], bold=True))
    measured = [metric is not None for metric in columns.values()]
    return Published(table["title"], ["", *columns], [False, *measured], rows, ours)


def _by_space(metric: str, prefix: str, metrics: Mapping[str, float]) -> dict[str, str]:
    """Full names of the metric ``<evaluator>/<item>/<prefix><metric>`` by space; "" for a metric without spaces."""
    evaluator, *items, last = map(re.escape, metric.split("/"))
    pattern = re.compile("/".join(["[^/]*", rf"{evaluator}(?:/([^/]+))?", *items, re.escape(prefix) + last]))
    matches = {name: pattern.fullmatch(name) for name in metrics}
    return {match[1] or "": name for name, match in matches.items() if match}


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
