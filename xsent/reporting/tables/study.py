"""Table of a study: a column per objective, a row per metric, the paper's figure beside ours."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from rich.console import Console

from xsent.atomic import write_text
from xsent.reporting.tables.table import Cell, Row, Table, csv_text, markdown_table, terminal_table

log = logging.getLogger(__name__)

SPACES = ("original", "meaning", "language")  # the order of the tables
AVERAGES = ("mean", "eng-xx", "xx-eng")  # items that average the other items of their evaluator
LEGEND = (
    "Ours, beside it the paper's figure and the difference; ± is the standard deviation over seeds. Where some of a"
    " table's items were not measured, the paper's average is that of the same items, and it says how many."
)
FIELDS = [
    "encoder",
    "objective",
    "space",
    "metric",
    "seeds",
    "ours",
    "deviation",
    "paper_encoder",
    "paper",
    "difference",
    "averaged_items",
]


class Figure(NamedTuple):
    """Metric of an encoder and objective over all seeds."""

    encoder: str
    objective: str
    space: str
    metric: str  # "<evaluator>/<item>/<metric>"
    ours: list[float]  # a figure per seed; empty when no cell measured it
    paper_encoder: str
    paper: float | None  # None: the paper has none
    averaged: str  # of an average over some of the table's items: "5 of 10"; else empty

    @property
    def mean(self) -> float:
        """Mean over the seeds; NaN without any."""
        return mean(self.ours) if self.ours else math.nan

    @property
    def deviation(self) -> float | None:
        """Standard deviation over two seeds or more."""
        return stdev(self.ours) if len(self.ours) > 1 else None


def report_study(cells: Sequence[Mapping[str, Any]], study: Mapping[str, Any], *, folder: Path) -> None:
    """Write ``table.csv`` and ``table.md``, and print the tables.

    Args:
        cells: encoder, objective, seed, and metrics or an error of each cell; ``missing`` test sets.
        study: its ``title`` and ``paper``.
        folder: of the study.
    """
    results = figures(cells, study["paper"])
    if results:
        notes, tables = missing_notes(cells), study_tables(results)
        write_text(folder / "table.csv", study_csv(results))
        write_text(folder / "table.md", study_markdown(tables, study["title"], notes))
        console = Console()
        console.print("\n" + "\n".join([study["title"], LEGEND, *notes]) + "\n")
        for table in tables:
            console.print(terminal_table(table.header, table.rows, title=table.label))
        log.info("table: %s, %s", folder / "table.md", folder / "table.csv")
    failed = sum("error" in cell for cell in cells)
    log.info("%d of %d cells are done; each has its figures under its own folder", len(cells) - failed, len(cells))


def figures(cells: Sequence[Mapping[str, Any]], paper: Mapping[str, Any]) -> list[Figure]:
    """Figures of the paper's metrics for every encoder and objective of the cells.

    Args:
        cells: with ``metrics`` named ``<evaluator>/<space>/<item>/<metric>`` unless they failed.
        paper: ``metrics``, ``values`` by encoder, objective and space in their order, ``encoders`` by our name, and
            ``other_encoders``.
    """
    results = []
    for encoder, objective in dict.fromkeys((cell["encoder"], cell["objective"]) for cell in cells):
        measured = [
            cell["metrics"]
            for cell in cells
            if (cell["encoder"], cell["objective"]) == (encoder, objective) and "error" not in cell
        ]
        name = paper["encoders"].get(encoder, paper["other_encoders"])
        rows = paper["values"].get(name, {})
        for space in SPACES:
            ours = {metric: _measured(measured, space, metric) for metric in paper["metrics"]}
            # The original vectors are the same whatever the objective.
            values = rows.get("original" if space == "original" else objective, {}).get(space)
            printed = {} if values is None else dict(zip(paper["metrics"], values, strict=True))
            for metric in paper["metrics"]:
                beside, averaged = _beside(metric, ours, printed)
                results.append(Figure(encoder, objective, space, metric, ours[metric], name, beside, averaged))
    return results


def _measured(cells: Sequence[Mapping[str, float]], space: str, metric: str) -> list[float]:
    evaluator, rest = metric.split("/", maxsplit=1)
    key = f"{evaluator}/{space}/{rest}"
    return [metrics[key] for metrics in cells if key in metrics and not math.isnan(metrics[key])]


def _beside(metric: str, ours: Mapping[str, Sequence[float]], printed: Mapping[str, float]) -> tuple[float | None, str]:
    """The paper's figure to compare with, and the number of items that it averages if not all."""
    evaluator, item, kind = metric.split("/")
    items = [
        metric_name
        for metric_name in ours
        if metric_name.startswith(f"{evaluator}/")
        and metric_name.endswith(f"/{kind}")
        and metric_name.split("/")[1] not in AVERAGES
    ]
    measured_items = [metric_name for metric_name in items if ours[metric_name]]
    if item not in AVERAGES or not ours[metric] or len(measured_items) == len(items) or not measured_items:
        return printed.get(metric), ""
    averaged = f"{len(measured_items)} of {len(items)}"
    return (mean(printed[metric_name] for metric_name in measured_items) if printed else None), averaged


def study_csv(results: Sequence[Figure]) -> str:
    """A row per figure, at full precision."""
    rows: list[Sequence[object]] = [FIELDS]
    for figure in results:
        ours = figure.mean if figure.ours else None
        difference = None if ours is None or figure.paper is None else ours - figure.paper
        numbers = len(figure.ours), ours, figure.deviation, figure.paper_encoder, figure.paper, difference
        rows.append([*figure[:4], *numbers, figure.averaged])
    return csv_text(rows)


def missing_notes(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Test sets without files, a line per evaluator."""
    missing = {name: absent for cell in cells for name, absent in cell.get("missing", {}).items()}
    return [
        f"{name}: no files of {', '.join(absent)}; our averages are over the others."
        for name, absent in missing.items()
    ]


def study_markdown(tables: Sequence[Table], title: str, notes: Sequence[str] = ()) -> str:
    """The tables in Markdown, the paper's figures in brackets."""
    parts = [f"# {title}\n", " ".join([LEGEND, *notes]) + "\n"]
    for table in tables:
        rows = [[f"{cell.text} ({cell.note})" if cell.note else cell.text for cell in row.cells] for row in table.rows]
        parts += [f"## {table.label}\n", markdown_table(table.header, rows)]
    return "\n".join(parts)


def study_tables(results: Sequence[Figure]) -> list[Table]:
    """A table for each encoder and space with any figure: a column per objective and a row per metric."""
    labels = _labels(list(dict.fromkeys(figure.metric for figure in results)))
    tables = []
    for encoder, space in dict.fromkeys((figure.encoder, figure.space) for figure in results):
        chosen = [figure for figure in results if (figure.encoder, figure.space) == (encoder, space)]
        if all(figure.paper is None and not figure.ours for figure in chosen):
            continue
        objectives = list(dict.fromkeys(figure.objective for figure in chosen))
        if space == "original":  # the same for all of them
            objectives = objectives[:1]
        by_cell = {(figure.metric, figure.objective): figure for figure in chosen}
        rows = [
            Row([Cell(label), *(_cell(by_cell[metric, objective]) for objective in objectives)])
            for metric, label in labels.items()
        ]
        heading = f"{encoder}, {space} vectors, beside the paper's {chosen[0].paper_encoder}"
        header = ["", *([""] if space == "original" else objectives)]
        tables.append(Table(heading, header, rows, len(rows), "table.csv"))
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


def _cell(figure: Figure) -> Cell:
    """Our figure, beside it the paper's."""
    ours = f"{figure.mean:.2f}" if figure.ours else "-"
    if figure.deviation is not None:
        ours += f" ± {figure.deviation:.2f}"
    notes = [] if figure.paper is None else [f"{figure.paper:.2f}"]
    if figure.ours and figure.paper is not None:
        notes.append(f"{figure.mean - figure.paper:+.2f}")
    return Cell(ours, note=", ".join([*notes, *([figure.averaged] if figure.averaged else [])]))
