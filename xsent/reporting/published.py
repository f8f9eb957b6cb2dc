"""Tables as a paper prints them, ours as the last rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.table import Table

from xsent.reporting.tables import decimals

ONE = {"": ""}  # one row of ours, as the metrics are called
WIDE = 8  # columns; a table of more is turned on screen, where models then stand side by side


class Published(NamedTuple):
    """A table of a paper with a row of ours for each space, or several where the config names several."""

    title: str
    header: list[str]
    measured: list[bool]  # of each column, whether it is one that we have figures for
    rows: list[list[str]]  # the paper's
    ours: list[list[str]]
    metrics: list[list[str]]  # behind each cell of ``ours`` the name of its metric; "" where there is none


def published_tables(config: Sequence[Mapping[str, Any]], metrics: Mapping[str, float]) -> list[Published]:
    """The tables of a config's ``published``, with what we measured beside them; a table without any of it is left out.

    Args:
        config: tables of ``title``, ``columns`` (by header the metric that we put there, without ``test/`` and the
            space; None where only the paper has something to say), ``rows`` (by name, what the paper has by header),
            and where several rows of ours belong there ``ours`` (by name, what begins the last part of the metrics
            of that row: ``teacher_`` puts ``ugc/rocsmt/teacher_xsim`` where ``columns`` have ``ugc/rocsmt/xsim``).
            A row that we have no figures for is left out.
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
    ours: list[list[str]] = []
    names: list[list[str]] = []
    for name, prefix in table.get("ours", ONE).items():
        for label, cells in _ours(f"ours, {name}" if name else "ours", prefix, list(columns.values()), metrics):
            ours.append([label, *("" if not cell else f"{metrics[cell]:.{decimals(cell)}f}" for cell in cells)])
            names.append(["", *cells])
    measured = [metric is not None for metric in columns.values()]
    return Published(table["title"], ["", *columns], [False, *measured], rows, ours, names)


def _ours(
    name: str, prefix: str, columns: Sequence[str | None], metrics: Mapping[str, float]
) -> list[tuple[str, list[str]]]:
    """For each space that has any of the figures its row: label and metrics, whose last part ``prefix`` begins."""
    found = [{} if metric is None else _by_space(_prefixed(metric, prefix), metrics) for metric in columns]
    spaces = list(dict.fromkeys(space for column in found for space in column))
    return [
        (f"{name}, {space}" if len(spaces) > 1 else name, [column.get(space, "") for column in found])
        for space in spaces
    ]


def _prefixed(metric: str, prefix: str) -> str:
    item, _, last = metric.rpartition("/")
    return f"{item}/{prefix}{last}"


def _by_space(metric: str, metrics: Mapping[str, float]) -> dict[str, str]:
    """The full names of our figures of ``<evaluator>/<item>/<metric>`` in every space; "" where there are no spaces."""
    evaluator, *rest = metric.split("/")
    found = {}
    for name in metrics:
        parts = name.split("/")
        if parts[1] == evaluator and parts[-len(rest) :] == rest:
            middle = parts[2 : len(parts) - len(rest)]
            if len(middle) <= 1:
                found["".join(middle)] = name
    return found


def published_table(table: Published) -> Table:
    """The table for a terminal, without its title; what is ours is bold."""
    if len(table.header) > WIDE + 1:
        return _turned(table)
    shown = Table()
    for header, measured in zip(table.header, table.measured, strict=True):
        shown.add_column(header, justify="right" if measured else "left")
    for row in table.rows:
        shown.add_row(*row)
    shown.add_section()
    for row in table.ours:
        shown.add_row(*row, style="bold")
    return shown


def _turned(table: Published) -> Table:
    shown = Table("")
    for row in table.rows:
        shown.add_column(row[0], justify="right")
    for row in table.ours:
        shown.add_column(row[0], justify="right", style="bold")
    for line in list(zip(table.header, *table.rows, *table.ours, strict=True))[1:]:
        shown.add_row(*line)
    return shown


def published_markdown(tables: Sequence[Published]) -> str:
    """All tables in Markdown."""
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: Published) -> str:
    bold = [[f"**{text}**" if text else "" for text in row] for row in table.ours]
    rule = ["---:" if measured else "---" for measured in table.measured]
    lines = [table.header, rule, *table.rows, *bold]
    return f"## {table.title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
