"""Tables as a paper prints them, ours as the last row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.table import Table


class Published(NamedTuple):
    """A table of a paper with one row of ours for each space."""

    title: str
    header: list[str]
    measured: list[bool]  # of each column, whether it is one that we have figures for
    rows: list[list[str]]  # the paper's
    ours: list[list[str]]


def published_tables(config: Sequence[Mapping[str, Any]], metrics: Mapping[str, float]) -> list[Published]:
    """The tables of a config's ``published``, with what we measured beside them; a table without any of it is left out.

    Args:
        config: tables of ``title``, ``columns`` (by header the metric that we put there, without ``test/`` and the
            space; None where only the paper has something to say), ``rows`` (by name, what the paper has by header).
        metrics: ours, ``test/<evaluator>[/<space>]/<item>/<metric>``.
    """
    found = [_filled(table, metrics) for table in config]
    return [table for table in found if table.ours]


def _filled(table: Mapping[str, Any], metrics: Mapping[str, float]) -> Published:
    printed: Mapping[str, Mapping[str, object]] = table["rows"]
    # A header that only rows have is a column, too, which we have nothing for.
    columns: dict[str, str | None] = {header: None for row in printed.values() for header in row}
    columns = table["columns"] | {header: None for header in columns if header not in table["columns"]}
    rows = [[name, *(str(row.get(header, "")) for header in columns)] for name, row in printed.items()]
    by_space = {metric: _by_space(metric, metrics) for metric in columns.values() if metric is not None}
    spaces = list(dict.fromkeys(space for found in by_space.values() for space in found))
    ours = []
    for space in spaces:
        values = (None if metric is None else by_space[metric].get(space) for metric in columns.values())
        name = f"ours, {space}" if len(spaces) > 1 else "ours"
        ours.append([name, *("" if value is None else f"{value:.2f}" for value in values)])
    measured = [metric is not None for metric in columns.values()]
    return Published(table["title"], ["", *columns], [False, *measured], rows, ours)


def _by_space(metric: str, metrics: Mapping[str, float]) -> dict[str, float]:
    """Our figures of ``<evaluator>/<item>/<metric>`` in every space; "" where there are no spaces."""
    evaluator, *rest = metric.split("/")
    found = {}
    for name, value in metrics.items():
        parts = name.split("/")
        if parts[1] == evaluator and parts[-len(rest) :] == rest:
            middle = parts[2 : len(parts) - len(rest)]
            if len(middle) <= 1:
                found["".join(middle)] = value
    return found


def published_table(table: Published) -> Table:
    """The table for a terminal, without its title; our rows are bold."""
    shown = Table()
    for header, measured in zip(table.header, table.measured, strict=True):
        shown.add_column(header, justify="right" if measured else "left")
    for row in table.rows:
        shown.add_row(*row)
    shown.add_section()
    for row in table.ours:
        shown.add_row(*row, style="bold")
    return shown


def published_markdown(tables: Sequence[Published]) -> str:
    """All tables in Markdown."""
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: Published) -> str:
    bold = [[f"**{text}**" if text else "" for text in row] for row in table.ours]
    rule = ["---:" if measured else "---" for measured in table.measured]
    lines = [table.header, rule, *table.rows, *bold]
    return f"## {table.title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
