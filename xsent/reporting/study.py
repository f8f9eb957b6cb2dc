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
AVERAGES = ("mean", "eng-xx", "xx-eng")  # items that average the other items of their evaluator
LEGEND = (
    "Ours, beside it the paper's figure and the difference; ± is the standard deviation over seeds. Where some of a"
    " table's items were not measured, the paper's average is that of the same items, and it says how many."
)
FIELDS = [
    "encoder", "objective", "space", "metric", "seeds", "ours", "deviation", "paper_encoder", "paper", "difference",
    "averaged_items",
]  # fmt: skip


class Figure(NamedTuple):
    """One figure of one encoder and objective, over all seeds that were run."""

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
        """Of the seeds; NaN when there is none."""
        return mean(self.ours) if self.ours else math.nan

    @property
    def deviation(self) -> float | None:
        """Standard deviation over two seeds or more."""
        return stdev(self.ours) if len(self.ours) > 1 else None


def report_study(cells: Sequence[Mapping[str, Any]], study: Mapping[str, Any], *, folder: Path) -> None:
    """Write ``table.csv`` and ``table.md``, and print the tables.

    Args:
        cells: what each cell left: encoder, objective, seed, and metrics or an error; ``missing`` test sets.
        study: its ``title`` and ``paper``.
        folder: of the study.
    """
    found = figures(cells, study["paper"])
    if found:
        notes = missing_notes(cells)
        write_text(folder / "table.csv", study_csv(found))
        write_text(folder / "table.md", study_markdown(found, study["title"], notes))
        console = Console()
        console.print("\n" + "\n".join([study["title"], LEGEND, *notes]) + "\n")
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
            ours = {metric: _measured(measured, space, metric) for metric in paper["metrics"]}
            # The original vectors are the same whatever the objective.
            values = rows.get("original" if space == "original" else objective, {}).get(space)
            printed = {} if values is None else dict(zip(paper["metrics"], values, strict=True))
            for metric in paper["metrics"]:
                beside, averaged = _beside(metric, ours, printed)
                found.append(Figure(encoder, objective, space, metric, ours[metric], name, beside, averaged))
    return found


def _measured(cells: Sequence[Mapping[str, float]], space: str, metric: str) -> list[float]:
    evaluator, rest = metric.split("/", maxsplit=1)
    key = f"{evaluator}/{space}/{rest}"
    return [one[key] for one in cells if key in one and not math.isnan(one[key])]


def _beside(metric: str, ours: Mapping[str, Sequence[float]], printed: Mapping[str, float]) -> tuple[float | None, str]:
    """The paper's figure to compare with, and over how many items it is averaged when not over all."""
    evaluator, item, kind = metric.split("/")
    items = [
        other
        for other in ours
        if other.startswith(f"{evaluator}/") and other.endswith(f"/{kind}") and other.split("/")[1] not in AVERAGES
    ]
    have = [other for other in items if ours[other]]
    if item not in AVERAGES or not ours[metric] or len(have) == len(items) or not have:
        return printed.get(metric), ""
    averaged = f"{len(have)} of {len(items)}"
    return (mean(printed[other] for other in have) if printed else None), averaged


def study_csv(found: Sequence[Figure]) -> str:
    """A row per figure, at full precision."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    for one in found:
        ours = one.mean if one.ours else None
        difference = None if ours is None or one.paper is None else ours - one.paper
        numbers = len(one.ours), ours, one.deviation, one.paper_encoder, one.paper, difference
        writer.writerow([*one[:4], *numbers, one.averaged])
    return out.getvalue()


def missing_notes(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the evaluators asked for and found no files of, a line for each."""
    missing = {name: absent for cell in cells for name, absent in cell.get("missing", {}).items()}
    return [
        f"{name}: no files of {', '.join(absent)}; our averages are over the others."
        for name, absent in missing.items()
    ]


def study_markdown(found: Sequence[Figure], title: str, notes: Sequence[str] = ()) -> str:
    """The tables in Markdown, one per encoder and space."""
    lines = [f"# {title}", "", " ".join([LEGEND, *notes]), ""]
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
    beside = [] if one.paper is None else [f"{one.paper:.2f}"]
    if one.ours and one.paper is not None:
        beside.append(f"{one.mean - one.paper:+.2f}")
    return ours, ", ".join([*beside, *([one.averaged] if one.averaged else [])])
