"""Tables of a paper with our results as their last rows; for terminal and Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.table import Table

from xsent.reporting.tables.results import decimals

SINGLE_ROW = {"": ""}  # one row of ours, metrics without a prefix
WIDE = 8  # columns; the terminal shows a wider table transposed


class Published(NamedTuple):
    """Table of a paper, with our rows for each space."""

    title: str
    header: list[str]
    measured: list[bool]  # by column, whether we have figures for it
    rows: list[list[str]]  # the paper's
    ours: list[list[str]]
    metrics: list[list[str]]  # name of the metric of each cell of ``ours``; "" for none


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
    columns: dict[str, str | None] = {header: None for row in printed.values() for header in row}
    columns = table["columns"] | {header: None for header in columns if header not in table["columns"]}
    rows = [[name, *(str(row.get(header, "")) for header in columns)] for name, row in printed.items()]
    ours: list[list[str]] = []
    names: list[list[str]] = []
    for name, prefix in table.get("ours", SINGLE_ROW).items():
        for label, cells in _ours(f"ours, {name}" if name else "ours", prefix, list(columns.values()), metrics):
            ours.append([label, *("" if not cell else f"{metrics[cell]:.{decimals(cell)}f}" for cell in cells)])
            names.append(["", *cells])
    measured = [metric is not None for metric in columns.values()]
    return Published(table["title"], ["", *columns], [False, *measured], rows, ours, names)


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


def published_table(table: Published) -> Table:
    """Table for a terminal, without its title; our rows are bold."""
    if len(table.header) > WIDE + 1:
        return _turned(table)
    terminal_table = Table()
    for header, measured in zip(table.header, table.measured, strict=True):
        terminal_table.add_column(header, justify="right" if measured else "left")
    for row in table.rows:
        terminal_table.add_row(*row)
    terminal_table.add_section()
    for row in table.ours:
        terminal_table.add_row(*row, style="bold")
    return terminal_table


def _turned(table: Published) -> Table:
    terminal_table = Table("")
    for row in table.rows:
        terminal_table.add_column(row[0], justify="right")
    for row in table.ours:
        terminal_table.add_column(row[0], justify="right", style="bold")
    for line in list(zip(table.header, *table.rows, *table.ours, strict=True))[1:]:
        terminal_table.add_row(*line)
    return terminal_table


def published_markdown(tables: Sequence[Published]) -> str:
    """All tables in Markdown."""
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: Published) -> str:
    bold = [[f"**{text}**" if text else "" for text in row] for row in table.ours]
    rule = ["---:" if measured else "---" for measured in table.measured]
    lines = [table.header, rule, *table.rows, *bold]
    return f"## {table.title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
