"""Tables of a paper with our results as their last rows; for terminal and Markdown."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import rich.table

from xsent.reporting.tables.results import value_cell
from xsent.reporting.tables.table import Cell, Row, Table, markdown_table, terminal_table, text_row

SINGLE_ROW = {"": ""}  # one row of ours, metrics without a prefix
WIDE = 8  # columns; the terminal shows a wider table transposed


def published_tables(config: Sequence[Mapping[str, Any]], metrics: Mapping[str, float]) -> list[Table]:
    """Fill the tables of a config's ``published`` with our figures; tables and rows without any are left out.

    Our rows are the last of a table and bold: one for each space.

    Args:
        config: tables of ``title``, ``columns`` (header -> our metric without ``test/`` and space, or None), ``rows``
            (name -> header -> the paper's value) and optionally ``ours`` (name -> prefix of the last part of the
            metrics in that row: ``teacher_`` puts ``ugc/rocsmt/teacher_xsim`` in the column ``ugc/rocsmt/xsim``).
        metrics: ours, ``test/<evaluator>[/<space>]/<item>/<metric>``.
    """
    tables = [_filled(table, metrics) for table in config]
    return [table for table in tables if table.rows[-1:] and table.rows[-1].bold]


def _filled(table: Mapping[str, Any], metrics: Mapping[str, float]) -> Table:
    printed: Mapping[str, Mapping[str, object]] = table["rows"]
    # A header that only rows have becomes a column without our figures.
    columns: dict[str, str | None] = table["columns"] | {
        header: None for row in printed.values() for header in row if header not in table["columns"]
    }
    rows = [text_row([name, *(str(row.get(header, "")) for header in columns)]) for name, row in printed.items()]
    for name, prefix in table.get("ours", SINGLE_ROW).items():
        label = f"ours, {name}" if name else "ours"
        by_column = [{} if metric is None else _by_space(metric, prefix, metrics) for metric in columns.values()]
        spaces = list(dict.fromkeys(space for names in by_column for space in names))
        for space in spaces:
            cells = [
                value_cell(names[space], metrics[names[space]]) if space in names else Cell("") for names in by_column
            ]
            rows.append(Row([Cell(f"{label}, {space}" if len(spaces) > 1 else label), *cells], bold=True))
    measured = [False, *(metric is not None for metric in columns.values())]
    return Table(table["title"], ["", *columns], rows, len(rows), "published.md", measured)


def _by_space(metric: str, prefix: str, metrics: Mapping[str, float]) -> dict[str, str]:
    """Full names of the metric ``<evaluator>/<item>/<prefix><metric>`` by space; "" for a metric without spaces."""
    evaluator, *items, last = map(re.escape, metric.split("/"))
    pattern = re.compile("/".join(["[^/]*", rf"{evaluator}(?:/([^/]+))?", *items, re.escape(prefix) + last]))
    matches = {name: pattern.fullmatch(name) for name in metrics}
    return {match[1] or "": name for name, match in matches.items() if match}


def published_terminal(table: Table) -> rich.table.Table:
    """Table for a terminal, without its title."""
    papers, ours = [row for row in table.rows if not row.bold], [row for row in table.rows if row.bold]
    if len(table.header) <= WIDE + 1:
        terminal = terminal_table(table.header, papers, ours)
        for column, is_measured in zip(terminal.columns, table.measured, strict=True):
            column.justify = "right" if is_measured else "left"
        return terminal
    names, *lines = zip(table.header, *(row.texts for row in table.rows), strict=True)
    terminal = terminal_table(names, [text_row(line) for line in lines])
    for column in terminal.columns[1 + len(papers) :]:
        column.style = "bold"
    return terminal


def published_markdown(table: Table) -> str:
    """Title and table in Markdown."""
    rows = [[f"**{text}**" if row.bold and text else text for text in row.texts] for row in table.rows]
    return f"## {table.label}\n\n" + markdown_table(table.header, rows, table.measured)
