"""The table of a study: objectives across, what was measured down, the paper's figure beside ours."""

from __future__ import annotations

import csv
import io
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from xsent.reporting.files import write_text

log = logging.getLogger(__name__)

SPACES = ("original", "meaning", "language")  # the order of the tables
LEGEND = "Ours, beside it the paper's figure and the difference; ± is the standard deviation over seeds."


class Figure(NamedTuple):
    """One figure of one encoder and objective, over all seeds that were run."""

    encoder: str
    objective: str
    space: str
    metric: str  # "<evaluator>/<item>/<metric>"
    ours: list[float]  # a figure per seed; empty when no cell measured it
    paper_encoder: str
    paper: float | None  # None: the paper has none

    @property
    def mean(self) -> float:
        """Of the seeds; NaN when there is none."""
        return mean(self.ours) if self.ours else math.nan

    @property
    def deviation(self) -> float | None:
        """Standard deviation over two seeds or more."""
        return stdev(self.ours) if len(self.ours) > 1 else None


def report_study(cells: Sequence[Mapping[str, Any]], study: Mapping[str, Any], *, folder: Path) -> None:
    """Write ``table.csv`` and ``table.md``, and print the tables.

    Args:
        cells: what each cell left: encoder, objective, seed, and metrics or an error.
        study: its ``title`` and ``paper``.
        folder: of the study.
    """
    found = figures(cells, study["paper"])
    if found:
        write_text(folder / "table.csv", study_csv(found))
        write_text(folder / "table.md", study_markdown(found, study["title"]))
        console = Console()
        console.print(f"\n{study['title']}\n{LEGEND}\n")
        for table in study_tables(found):
            console.print(table)
        log.info("table: %s, %s", folder / "table.md", folder / "table.csv")
    failed = sum("error" in cell for cell in cells)
    log.info("%d of %d cells are done; each has its figures under its own folder", len(cells) - failed, len(cells))


def figures(cells: Sequence[Mapping[str, Any]], paper: Mapping[str, Any]) -> list[Figure]:
    """What the paper's table has, for every encoder and objective of the cells.

    Args:
        cells: with ``metrics`` named ``<evaluator>/<space>/<item>/<metric>`` unless they failed.
        paper: ``metrics``, ``values`` by encoder, objective and space in their order, ``encoders`` by our name, and
            ``other_encoders``.
    """
    found = []
    for encoder, objective in dict.fromkeys((cell["encoder"], cell["objective"]) for cell in cells):
        measured = [
            cell["metrics"]
            for cell in cells
            if (cell["encoder"], cell["objective"]) == (encoder, objective) and "error" not in cell
        ]
        name = paper["encoders"].get(encoder, paper["other_encoders"])
        rows = paper["values"].get(name, {})
        for space in SPACES:
            # The original vectors are the same whatever the objective.
            printed = rows.get("original" if space == "original" else objective, {}).get(space)
            for column, metric in enumerate(paper["metrics"]):
                evaluator, rest = metric.split("/", maxsplit=1)
                key = f"{evaluator}/{space}/{rest}"
                ours = [one[key] for one in measured if key in one and not math.isnan(one[key])]
                found.append(
                    Figure(encoder, objective, space, metric, ours, name, None if printed is None else printed[column])
                )
    return found


def study_csv(found: Sequence[Figure]) -> str:
    """A row per figure, at full precision."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
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
        ]
    )
    for one in found:
        ours = one.mean if one.ours else None
        difference = None if ours is None or one.paper is None else ours - one.paper
        writer.writerow([*one[:4], len(one.ours), ours, one.deviation, one.paper_encoder, one.paper, difference])
    return out.getvalue()


def study_markdown(found: Sequence[Figure], title: str) -> str:
    """The tables in Markdown, one per encoder and space."""
    lines = [f"# {title}", "", LEGEND, ""]
    for block in _blocks(found):
        lines += [f"## {block.heading}", ""]
        lines += ["| " + " | ".join(line) + " |" for line in [block.header, ["---", *["---:"] * len(block.header[1:])]]]
        for label, texts in block.rows:
            cells = [f"{ours} ({beside})" if beside else ours for ours, beside in texts]
            lines.append("| " + " | ".join([label, *cells]) + " |")
        lines.append("")
    return "\n".join(lines)


def study_tables(found: Sequence[Figure]) -> list[Table]:
    """The tables for a terminal, what the paper has below ours."""
    tables = []
    for block in _blocks(found):
        table = Table(*block.header, title=block.heading)
        for column in table.columns[1:]:
            column.justify = "right"
        for label, texts in block.rows:
            table.add_row(label, *(f"{ours}\n[dim]{beside}[/dim]" if beside else ours for ours, beside in texts))
        tables.append(table)
    return tables


class _Block(NamedTuple):
    """A table: the objectives across, the metrics down."""

    heading: str
    header: list[str]
    rows: list[tuple[str, list[tuple[str, str]]]]  # label; ours, and what the paper has, of each objective


def _blocks(found: Sequence[Figure]) -> list[_Block]:
    """A table for each encoder and space of which there is any figure."""
    labels = _labels(list(dict.fromkeys(one.metric for one in found)))
    blocks = []
    for encoder, space in dict.fromkeys((one.encoder, one.space) for one in found):
        chosen = [one for one in found if (one.encoder, one.space) == (encoder, space)]
        if all(one.paper is None and not one.ours for one in chosen):
            continue
        objectives = list(dict.fromkeys(one.objective for one in chosen))
        if space == "original":  # the same for all of them
            objectives = objectives[:1]
        at = {(one.metric, one.objective): one for one in chosen}
        rows = [
            (label, [_texts(at[metric, objective]) for objective in objectives]) for metric, label in labels.items()
        ]
        heading = f"{encoder}, {space} vectors, beside the paper's {chosen[0].paper_encoder}"
        blocks.append(_Block(heading, ["", *([""] if space == "original" else objectives)], rows))
    return blocks


def _labels(metrics: Sequence[str]) -> dict[str, str]:
    """Metrics without the words that all of them share: ``tatoeba/deu/accuracy`` is ``deu`` among its like."""
    parts = [metric.split("/") for metric in metrics]
    shared = [len(set(column)) == 1 for column in zip(*parts, strict=True)]
    if all(shared):
        shared = [False] * len(shared)
    return {
        metric: " ".join(word for word, common in zip(words, shared, strict=True) if not common)
        for metric, words in zip(metrics, parts, strict=True)
    }


def _texts(one: Figure) -> tuple[str, str]:
    """Ours, and what stands beside it."""
    ours = f"{one.mean:.2f}" if one.ours else "-"
    if one.deviation is not None:
        ours += f" ± {one.deviation:.2f}"
    if one.paper is None:
        return ours, ""
    return ours, f"{one.paper:.2f}, {one.mean - one.paper:+.2f}" if one.ours else f"{one.paper:.2f}"
