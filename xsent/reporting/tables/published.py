"""Tables of a paper: a row per method, its figures, ours and the difference; for terminal and Markdown."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from xsent.reporting.tables.results import decimals, value_cell
from xsent.reporting.tables.table import Cell, Column, Table, column_tables, figure_columns, markdown_table

SINGLE = {"": ""}  # one kind of figures of ours, metrics without a prefix
NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")  # a printed figure begins with it; marks of significance may follow


def published_tables(config: Sequence[Mapping[str, Any]], metrics: Mapping[str, float]) -> list[Table]:
    """Fill the tables of a config's ``published`` with our figures; tables and columns without any are left out.

    A table has a row for each of the paper's methods. A column that we measured becomes the paper's figure and, for
    each space, ours and the difference. Wide tables are continued (``column_tables``). Where we measured only some of
    the columns that a mean averages, the paper's mean is that of the same columns.

    Args:
        config: tables of ``title``, ``columns`` (header -> our metric without ``test/`` and space, or None), ``rows``
            (name -> header -> the paper's value) and optionally ``ours`` (name -> prefix of the last part of the
            metrics: ``teacher_`` puts ``ugc/rocsmt/teacher_xsim`` beside ``ugc/rocsmt/xsim``).
        metrics: ours, ``test/<evaluator>[/<space>]/<item>/<metric>``.
    """
    return [filled for table in config for filled in _filled(table, metrics)]


def measured_columns(table: Mapping[str, Any], metrics: Mapping[str, float]) -> list[str]:
    """Headers of a table's columns that we measured; arguments as in ``published_tables``."""
    prefixes = table.get("ours", SINGLE)
    return [header for header, metric in table["columns"].items() if metric and figures_of(metric, prefixes, metrics)]


def _filled(table: Mapping[str, Any], metrics: Mapping[str, float]) -> list[Table]:
    printed: Mapping[str, Mapping[str, object]] = table["rows"]
    columns: Mapping[str, str | None] = table["columns"]
    facts = [header for header, metric in columns.items() if metric is None]
    facts += [header for row in printed.values() for header in row if header not in columns and header not in facts]
    prefixes = table.get("ours", SINGLE)
    labels = {header: figures_of(metric, prefixes, metrics) for header, metric in columns.items() if metric}
    measured = [header for header, ours in labels.items() if ours]
    if not measured:
        return []
    notes: list[str] = []
    groups = [[_fact(header, printed) for header in dict.fromkeys(facts)]] if facts else []
    for header in measured:
        paper = [str(row.get(header, "")) for row in printed.values()]
        parts = averaged_columns(columns, header)
        measured_parts = [each for each in parts if each in measured]
        if 0 < len(measured_parts) < len(parts):
            paper = [mean_text([str(row.get(each, "")) for each in measured_parts]) for row in printed.values()]
            notes.append(f"{header}: of {', '.join(measured_parts)} on both sides")
        group = {"paper": [Cell(text) for text in paper]}
        for label, metric in labels[header].items():
            figure = metrics[metric]
            cells = [value_cell(metric, figure)] * len(paper)
            group[f"ours, {label}" if label else "ours"] = cells
            group[f"diff. of {label}" if label else "diff."] = [
                Cell(difference_text(metric, figure, text)) for text in paper
            ]
        groups.append(figure_columns(header, group))
    title = table["title"] + (f" ({'; '.join(notes)})" if notes else "")
    return column_tables(title, list(printed), groups, source="published.md")


def _fact(header: str, printed: Mapping[str, Mapping[str, object]]) -> Column:
    return Column(header, [Cell(str(row.get(header, ""))) for row in printed.values()], is_measured=False)


def figures_of(metric: str, prefixes: Mapping[str, str], metrics: Mapping[str, float]) -> dict[str, str]:
    """Full names of our metrics for a column, by label: name of the prefix, and the space where there are several."""
    by_prefix = {name: _by_space(metric, prefix, metrics) for name, prefix in prefixes.items()}
    has_spaces = len({space for names in by_prefix.values() for space in names}) > 1
    return {
        ", ".join(filter(None, [name, space if has_spaces else ""])): full_name
        for name, names in by_prefix.items()
        for space, full_name in names.items()
    }


def _by_space(metric: str, prefix: str, metrics: Mapping[str, float]) -> dict[str, str]:
    """Full names of the metric ``<evaluator>/<item>/<prefix><metric>`` by space; "" for a metric without spaces."""
    evaluator, *items, last = map(re.escape, metric.split("/"))
    pattern = re.compile("/".join(["[^/]*", rf"{evaluator}(?:/([^/]+))?", *items, re.escape(prefix) + last]))
    matches = {name: pattern.fullmatch(name) for name in metrics}
    return {match[1] or "": name for name, match in matches.items() if match}


def averaged_columns(columns: Mapping[str, str | None], header: str) -> list[str]:
    """Headers of the columns that a column of means averages; [] for another column."""
    evaluator, item, kind = (columns[header] or "//").split("/")[:3]
    if item != "mean":
        return []
    names = {each: metric.split("/") for each, metric in columns.items() if metric and each != header}
    return [each for each, words in names.items() if words[0] == evaluator and words[-1] == kind]


def mean_text(texts: Sequence[str]) -> str:
    """Mean of printed figures; empty if one is none."""
    numbers = [printed_number(text) for text in texts]
    return "" if None in numbers else f"{sum(filter(None, numbers)) / len(numbers):.2f}"


def difference_text(metric: str, ours: float, paper: str) -> str:
    """Ours less the paper's; empty if the paper's is no figure."""
    number = printed_number(paper)
    return "" if number is None or not math.isfinite(ours) else f"{ours - number:+.{decimals(metric)}f}"


def printed_number(text: str) -> float | None:
    """A figure as a table prints it; notes may follow. None: no figure."""
    match = NUMBER.match(text)
    return float(match[0]) if match else None


def published_markdown(table: Table) -> str:
    """Title and table in Markdown."""
    return f"## {table.label}\n\n" + markdown_table(table.header, [row.texts for row in table.rows], table.measured)
