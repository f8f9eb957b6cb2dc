"""Tables of a study: a row per objective; per metric the paper's figure, ours and the difference."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from rich.console import Console

from xsent.files.atomic import write_text
from xsent.reporting.tables.comparability import Details
from xsent.reporting.tables.study_changes import Change, change_tables, changes
from xsent.reporting.tables.study_readings import compared, printed_table, table_rows
from xsent.reporting.tables.study_rows import Derived, averaged_items, derived_metrics, is_average, measured_row
from xsent.reporting.tables.table import (
    Cell,
    Table,
    column_tables,
    compact_table,
    csv_text,
    figure_columns,
    markdown_table,
)

log = logging.getLogger(__name__)

LEGEND = (
    "The paper's figure, ours and the difference; ± is the standard deviation over n seeds. Where some of a table's"
    " items were not measured, the paper's average is that of the same items, and it says how many."
)
COLUMNS = ("paper", "ours", "diff.")
TEST = "The p-values are of two-sided paired t-tests over the seeds that both objectives ran with."


class Figure(NamedTuple):
    """Metric of an encoder and objective over all seeds; a row of ``table.csv``."""

    encoder: str
    objective: str
    space: str  # "" for models that judge pairs
    metric: str  # "<evaluator>/<item>/<metric>"
    seeds: int  # 0 when no cell measured it
    ours: float | None  # mean over the seeds
    deviation: float | None  # standard deviation over two seeds or more
    paper_encoder: str
    paper: float | None  # None: the paper has none
    difference: float | None
    averaged_items: str  # of an average over some of the table's items: "5 of 10"; else empty


class StudyResults(NamedTuple):
    """Results of a study; without any finished cell all are empty."""

    figures: Sequence[Figure]
    tables: Sequence[Table]
    notes: Sequence[str]


def report_study(
    cells: Sequence[Mapping[str, Any]],
    study: Mapping[str, Any],
    *,
    folder: Path,
    published: Sequence[Mapping[str, Any]] = (),
    details: Details = (),
) -> StudyResults:
    """Write ``table.csv``, ``table.md`` and ``changes.csv`` into the folder, and print the tables; returns them.

    Args:
        cells: encoder, objective, seed, and metrics or an error of each cell; ``missing`` test sets.
        study: its ``title`` and ``paper``; options of ``table_rows``.
        published: the paper's tables that the config of the test sets has, for ``printed_table``.
        details: conditions of ours, for ``compared``.
    """
    rows = table_rows(cells, study)
    paper, differences_of_test_sets = compared(printed_table(study["paper"], published), rows, details)
    results = figures(rows, paper)
    notes = [LEGEND, *differences_of_test_sets, *missing_notes(cells), *subset_notes(results)]
    tables = study_tables(results, paper)
    if results:
        write_text(folder / "table.csv", csv_text([Figure._fields, *results]))
        if differences := changes(rows, paper):
            tables += change_tables(differences, _labels(list(dict.fromkeys(row.metric for row in differences))))
            notes += [" ".join(filter(None, (TEST, paper["significance"])))]
            write_text(folder / "changes.csv", csv_text([Change._fields, *differences]))
        write_text(folder / "table.md", study_markdown(tables, study["title"], notes))
        console = Console()
        console.print("\n" + "\n".join([study["title"], *notes]) + "\n")
        for table in tables:
            console.print("", table.label, compact_table(table), sep="\n")
        log.info("table: %s, %s", folder / "table.md", folder / "table.csv")
    failed = sum("error" in cell for cell in cells)
    log.info("%d of %d cells are done; each has its figures under its own folder", len(cells) - failed, len(cells))
    return StudyResults(results, tables, notes)


def figures(cells: Sequence[Mapping[str, Any]], paper: Mapping[str, Any]) -> list[Figure]:
    """Figures of the paper's metrics for every encoder and objective of the cells.

    Args:
        cells: with ``metrics`` named ``<evaluator>/<space>/<item>/<metric>`` unless they failed.
        paper: ``spaces`` in the order of the tables, ``metrics``, ``values`` by encoder, objective and space in their
            order, ``encoders`` by our name, ``other_encoders``, and ``averages`` and ``gaps`` of ``derived_metrics``.
    """
    results = []
    # The paper's rows of other models come after the cells of each encoder.
    keys = [(cell["encoder"], cell["objective"]) for cell in cells]
    for encoder in dict.fromkeys(cell["encoder"] for cell in cells):
        rows = paper["values"].get(paper["encoders"].get(encoder, paper["other_encoders"]), {})
        keys += [(encoder, name) for name in paper.get("unmeasured", {}) if _values(rows[name])]
    for encoder, objective in dict.fromkeys(keys):
        measured = [
            cell["metrics"]
            for cell in cells
            if (cell["encoder"], cell["objective"]) == (encoder, objective) and "error" not in cell
        ]
        name = paper["encoders"].get(encoder, paper["other_encoders"])
        derived = derived_metrics(paper, name)
        rows = paper["values"].get(name, {})
        for space in paper["spaces"]:
            ours = [derived.add_to(measured_row(metrics, space, paper)) for metrics in measured]
            # The original vectors are the same whatever the objective.
            row = rows.get("original" if space == "original" else objective, {}).get(space)
            printed = {} if row is None else dict(zip(paper["metrics"], row, strict=True))
            printed = {metric: value for metric, value in printed.items() if value is not None}
            measured_metrics = [metric for metric in paper["metrics"] if any(metric in row for row in ours)]
            beside = _beside(printed, measured_metrics, derived)
            for metric in [*paper["metrics"], *derived.names]:
                values = [row[metric] for row in ours if metric in row]
                mean_of_ours = mean(values) if values else None
                deviation = stdev(values) if len(values) > 1 else None
                figure = beside.get(metric)
                difference = None if mean_of_ours is None or figure is None else mean_of_ours - figure
                items = derived.averages.get(metric) or averaged_items(metric, paper["metrics"])
                count = sum(item in measured_metrics for item in items)
                averaged = f"{count} of {len(items)}" if values and 0 < count < len(items) else ""
                of_ours = len(values), mean_of_ours, deviation
                results.append(Figure(encoder, objective, space, metric, *of_ours, name, figure, difference, averaged))
    return results


def _values(spaces: Mapping[str, Sequence[float | None]]) -> list[float]:
    """Figures of a row of the paper; none where ours must not stand beside them."""
    return [value for row in spaces.values() for value in row if value is not None]


def _beside(printed: Mapping[str, float], measured: Sequence[str], derived: Derived) -> dict[str, float]:
    """The paper's figures to compare with; if only some of a table's items were measured, its averages are of these."""
    values = dict(printed)
    for metric in set(measured) & printed.keys():
        items = averaged_items(metric, list(printed))
        present = [item for item in items if item in measured]
        if 0 < len(present) < len(items):
            values[metric] = mean(printed[item] for item in present)
    items_of_ours = {metric: value for metric, value in values.items() if not measured or metric in measured}
    return {**values, **derived.add_to(items_of_ours)}


def missing_notes(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Test sets without files, a line per evaluator."""
    missing = {name: absent for cell in cells for name, absent in cell.get("missing", {}).items()}
    return [
        f"{name}: no files of {', '.join(absent)}; our averages are over the others."
        for name, absent in missing.items()
    ]


def subset_notes(results: Sequence[Figure]) -> list[str]:
    """Averages over some of a table's items, a line per evaluator."""
    # The average of a table's items comes before those of some of them, so it replaces their counts.
    partial = {figure.metric.split("/")[0]: figure.averaged_items for figure in results[::-1] if figure.averaged_items}
    return [
        f"{name}: {count} items were measured; averages are over these, ours and the paper's."
        for name, count in partial.items()
    ]


def study_markdown(tables: Sequence[Table], title: str, notes: Sequence[str]) -> str:
    """The tables in Markdown."""
    parts = [f"# {title}\n", " ".join(notes) + "\n"]
    for table in tables:
        rows = [row.texts for row in table.rows]
        parts += [f"## {table.label}\n", markdown_table(table.header, rows, table.measured)]
    return "\n".join(parts)


def study_tables(results: Sequence[Figure], paper: Mapping[str, Any]) -> list[Table]:
    """Tables of each encoder and space with any figure: a row per objective, and per metric the paper's figure, ours
    and the difference, averages first. Metrics that none of the objectives has are left out, unless all are."""
    labels = _labels(list(dict.fromkeys(figure.metric for figure in results)))
    metrics = sorted(labels, key=lambda metric: not is_average(metric, paper))
    tables = []
    for encoder, space in dict.fromkeys((figure.encoder, figure.space) for figure in results):
        chosen = [figure for figure in results if (figure.encoder, figure.space) == (encoder, space)]
        if all(figure.paper is None and figure.ours is None for figure in chosen):
            continue
        objectives = list(dict.fromkeys(figure.objective for figure in chosen))
        if space == "original":  # the same for all of them
            objectives = objectives[:1]
        by_cell = {(figure.metric, figure.objective): figure for figure in chosen}
        groups = []
        measured = {figure.metric for figure in chosen if figure.ours is not None}
        for metric in (metric for metric in metrics if metric in measured or not measured):
            figures = [by_cell[metric, objective] for objective in objectives]
            texts = zip(*map(_texts, figures), strict=True)
            columns = {name: list(map(Cell, column)) for name, column in zip(COLUMNS, texts, strict=True)}
            if all(figure.paper is None for figure in figures):
                columns = {"ours": columns["ours"]}
            groups.append(figure_columns(labels[metric], columns))
        heading = f"{encoder}, {space} vectors" if space else encoder
        if any(figure.paper is not None for figure in chosen):
            heading += f", beside the paper's {chosen[0].paper_encoder}"
        seeds = {name: max(figure.seeds for figure in chosen if figure.objective == name) for name in objectives}
        names = [f"{name} (n = {seeds[name]})" if seeds[name] > 1 else name for name in objectives]
        names = ["original"] if space == "original" else names
        tables += column_tables(heading, names, groups, source="table.csv")
    return tables


def _labels(metrics: Sequence[str]) -> dict[str, str]:
    """Labels of metrics without the parts that all share: ``tatoeba/deu/accuracy`` becomes ``deu``."""
    parts = [metric.split("/") for metric in metrics]
    shared = [len(set(column)) == 1 for column in zip(*parts, strict=True)]
    if all(shared):
        shared = [False] * len(shared)
    return {
        metric: " ".join(word for word, common in zip(words, shared, strict=True) if not common)
        for metric, words in zip(metrics, parts, strict=True)
    }


def _texts(figure: Figure) -> tuple[str, str, str]:
    """The paper's figure, ours and the difference."""
    ours = "-" if figure.ours is None else f"{figure.ours:.2f}"
    if figure.deviation is not None:
        ours += f" ± {figure.deviation:.2f}"
    paper = "" if figure.paper is None else f"{figure.paper:.2f}"
    if figure.paper is not None and figure.averaged_items:
        paper += f" ({figure.averaged_items})"
    return paper, ours, "" if figure.difference is None else f"{figure.difference:+.2f}"
