"""Curves of losses and validation figures by step, thinned to what a screen can show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xsent.reporting.pages.charts import COLOURS, DASHES, SHAPES, Look, chart, curve_specs
from xsent.reporting.pages.page import Section
from xsent.reporting.pages.run_folder import Logged, RunFiles

MAX_POINTS = (600, 150, 50)  # of a line; the fewest is for runs that log very many names
MAX_ROWS = 60_000  # of all charts together
MARKS = 5  # of a run along its line, where several runs are compared
SPLITS = ("train", "val")


class Position(NamedTuple):
    """Chart, variant and line that a logged name belongs to."""

    chart: str  # "loss", "heldout accuracy"
    variant: str  # item of an evaluator, chosen in its chart: "mean"; "" for a loss
    part: str  # line of the chart: "train", "val", or a space


def curves_section(runs: Mapping[str, RunFiles]) -> Section | None:
    """A chart with all runs for every term and every figure of an evaluator; None where nothing is logged."""
    logged = [values for run in runs.values() for values in run.logged.values()]
    if not logged:
        return None
    limit = next((limit for limit in MAX_POINTS if limit * len(logged) <= MAX_ROWS), MAX_POINTS[-1])
    longest = max(len(values.steps) for values in logged)
    figures = _figures(runs, limit)
    context = {
        "runs": list(runs) if len(runs) > 1 else [],
        "looks": {name: _run_look(number) for number, name in enumerate(runs)},
        "thinned": (limit, longest) if longest > limit else None,
        "figures": [
            {"title": title, "variants": list(variants), "looks": _legend(variants, list(runs))}
            for title, variants in figures.items()
        ],
    }
    charts = {title: _chart(title, variants, list(runs)) for title, variants in figures.items()}
    return Section("curves", "Curves", "curves", context, {"curves": {"specs": curve_specs(), "charts": charts}})


class _Line(NamedTuple):
    run: int
    part: str
    dash: int
    logged: Logged


Variants = Mapping[str, Sequence[_Line]]


def _figures(runs: Mapping[str, RunFiles], limit: int) -> dict[str, dict[str, list[_Line]]]:
    """Lines by chart and variant: losses first and the mean as first variant, otherwise as they were logged."""
    figures: dict[str, dict[str, list[_Line]]] = {}
    parts: dict[str, list[str]] = {}
    for number, run in enumerate(runs.values()):
        for name, logged in run.logged.items():
            title, variant, part = position_of(name)
            known_parts = parts.setdefault(title, [])
            if part not in known_parts:
                known_parts.append(part)
            rows = thin(np.array(logged.values), limit)
            steps, epochs, values = logged
            thinned = Logged([steps[row] for row in rows], [epochs[row] for row in rows], [values[row] for row in rows])
            line = _Line(number, part, known_parts.index(part), thinned)
            figures.setdefault(title, {}).setdefault(variant, []).append(line)
    order = sorted(figures, key=lambda title: (title != "loss", "" not in figures[title]))
    return {title: dict(sorted(figures[title].items(), key=lambda item: item[0] != "mean")) for title in order}


def _chart(title: str, variants: Variants, runs: Sequence[str]) -> dict[str, object]:
    """Columns of a chart, as ``curve_specs`` reads them."""
    names = "key", "line", "series", "run", "variant", "step", "epoch", "value", "colour", "dash", "shape"
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for variant, lines in variants.items():
        for line in lines:
            steps, epochs, values = line.logged
            finite = [row for row, value in enumerate(values) if math.isfinite(value)]
            marked = {finite[0]} if len(finite) == 1 else set()
            if len(runs) > 1:  # shifted from run to run, in case that their lines coincide
                count = min(MARKS, len(finite))
                marked = {finite[int((at + line.run / len(runs)) * len(finite) / count)] for at in range(count)}
            series = line.part if len(runs) == 1 else f"{runs[line.run]}, {line.part}".removesuffix(", ")
            for row, (step, epoch, value) in enumerate(zip(steps, epochs, values, strict=True)):
                cells = (
                    len(columns["key"]),
                    line.run * len(DASHES) + line.dash,
                    series,
                    runs[line.run] if len(runs) > 1 else "",
                    f"{title}={variant}" if len(variants) > 1 else "",
                    step,
                    epoch,
                    float(f"{value:.6g}") if math.isfinite(value) else None,
                    (line.run if len(runs) > 1 else line.dash) % len(COLOURS),
                    line.dash % len(DASHES),
                    line.run % len(SHAPES) if row in marked else None,
                )
                for name, cell in zip(names, cells, strict=True):
                    columns[name].append(cell)
    positive = all(value is None or value > 0 for value in columns["value"])
    has_marks = any(shape is not None for shape in columns["shape"])
    return chart("marked" if has_marks else "lines", columns, positive=positive)


def _legend(variants: Variants, runs: Sequence[str]) -> dict[str, Look]:
    """Looks of the parts of a chart: of one run by colour and dash, of several by dash."""
    parts = {line.part: line.dash for lines in variants.values() for line in lines}
    ink = "var(--quiet)"
    looks = {
        part: Look(ink if len(runs) > 1 else COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)])
        for part, number in parts.items()
    }
    return looks if len(runs) == 1 or len(looks) > 1 else {}


def _run_look(number: int) -> Look:
    return Look(COLOURS[number % len(COLOURS)], [], SHAPES[number % len(SHAPES)])


def position_of(name: str) -> Position:
    """Position of ``train/loss`` or ``val/<evaluator>[/<space>]/<item>/<metric>``; other names have their own chart."""
    split, *rest = name.split("/")
    if split not in SPLITS or not rest:
        return Position(name, "", "")
    if len(rest) in (3, 4):
        space = rest[1] if len(rest) == 4 else split
        return Position(f"{rest[0]} {rest[-1]}", rest[-2], space)
    return Position("/".join(rest), "", split)


def thin(values: NDArray[np.float64], limit: int) -> list[int]:
    """Rows of at most ``limit`` values: first, last, and the lowest and highest of equal stretches between.

    Where a stretch has values that are not finite, the first of them is kept, so that a diverged curve shows it.
    """
    if len(values) <= limit:
        return list(range(len(values)))
    rows = {0, len(values) - 1}
    is_finite = np.isfinite(values)
    per_stretch = 2 if is_finite.all() else 3
    for stretch in np.array_split(np.arange(1, len(values) - 1), (limit - 2) // per_stretch):
        finite, gaps = stretch[is_finite[stretch]], stretch[~is_finite[stretch]]
        if len(finite):
            rows |= {int(finite[values[finite].argmin()]), int(finite[values[finite].argmax()])}
        rows |= set(gaps[:1].tolist())
    return sorted(rows)
