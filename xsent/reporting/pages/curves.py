"""Curves of losses and validation figures by step, thinned to what a screen can show."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xsent.reporting.pages.charts import COLOURS, DASHES, SHAPES, Look, chart, curve_specs, mark_look
from xsent.reporting.pages.page import Section
from xsent.reporting.pages.run_folder import LoggedValue, RunFiles

MAX_POINTS = (600, 150, 50)  # of a line; the fewest is for runs that log very many names
MAX_ROWS = 60_000  # of all charts together
MARKS = 5  # of a run along its line, where several runs are compared
SPLITS = ("train", "val")


class Position(NamedTuple):
    """Chart, variant and line that a logged name belongs to."""

    chart: str  # "loss", "heldout accuracy"
    variant: str  # item of an evaluator, chosen in its chart: "mean"; "" for a loss
    part: str  # line of the chart: "train", "val", or a space


class _Line(NamedTuple):
    run: int
    part: str
    dash: int
    values: list[LoggedValue]  # thinned


Variants = Mapping[str, Sequence[_Line]]


def curves_section(runs: Mapping[str, RunFiles]) -> Section | None:
    """A chart with all runs for every term and every figure of an evaluator; None where nothing is logged."""
    sizes = [len(values) for run in runs.values() for values in run.logged.values()]
    if not sizes:
        return None
    limit = next((limit for limit in MAX_POINTS if limit * len(sizes) <= MAX_ROWS), MAX_POINTS[-1])
    figures = _figures(runs, limit)
    context = {
        "runs": list(runs) if len(runs) > 1 else [],
        "looks": {name: mark_look(number)._replace(dash=[]) for number, name in enumerate(runs)},
        "thinned": (limit, max(sizes)) if max(sizes) > limit else None,
        "figures": [
            {"title": title, "variants": list(variants), "looks": _legend(variants, len(runs))}
            for title, variants in figures.items()
        ],
    }
    charts = {title: _chart(title, variants, list(runs)) for title, variants in figures.items()}
    return Section("curves", "Curves", "curves", context, {"curves": {"specs": curve_specs(), "charts": charts}})


def _figures(runs: Mapping[str, RunFiles], limit: int) -> dict[str, dict[str, list[_Line]]]:
    """Lines by chart and variant: losses first and the mean as first variant, otherwise as they were logged."""
    figures: dict[str, dict[str, list[_Line]]] = {}
    parts: dict[str, dict[str, int]] = {}
    for number, run in enumerate(runs.values()):
        for name, logged in run.logged.items():
            title, variant, part = position_of(name)
            dashes = parts.setdefault(title, {})
            thinned = [logged[row] for row in thin(np.array([value for *_, value in logged]), limit)]
            line = _Line(number, part, dashes.setdefault(part, len(dashes)), thinned)
            figures.setdefault(title, {}).setdefault(variant, []).append(line)
    order = sorted(figures, key=lambda title: (title != "loss", "" not in figures[title]))
    return {title: dict(sorted(figures[title].items(), key=lambda item: item[0] != "mean")) for title in order}


def _chart(title: str, variants: Variants, runs: Sequence[str]) -> dict[str, object]:
    """Rows of a chart, as ``curve_specs`` reads them."""
    has_runs = len(runs) > 1
    rows: list[dict[str, Any]] = []
    for variant, line in ((variant, line) for variant, lines in variants.items() for line in lines):
        marked = _marked(line, len(runs))
        for number, (step, epoch, value) in enumerate(line.values):
            rows.append(
                {
                    "key": len(rows),
                    "line": line.run * len(DASHES) + line.dash,
                    "series": f"{runs[line.run]}, {line.part}".removesuffix(", ") if has_runs else line.part,
                    "run": runs[line.run] if has_runs else "",
                    "variant": f"{title}={variant}" if len(variants) > 1 else "",
                    "step": step,
                    "epoch": epoch + 1,
                    "value": float(f"{value:.6g}") if math.isfinite(value) else None,
                    "colour": (line.run if has_runs else line.dash) % len(COLOURS),
                    "dash": line.dash % len(DASHES),
                    "shape": line.run % len(SHAPES) if number in marked else None,
                }
            )
    positive = all(row["value"] is None or row["value"] > 0 for row in rows)
    has_marks = any(row["shape"] is not None for row in rows)
    return chart("marked" if has_marks else "lines", rows, positive=positive)


def _marked(line: _Line, runs: int) -> set[int]:
    """Values with a mark: a single one, or some of each run, shifted in case that the lines of runs coincide."""
    finite = [number for number, (*_, value) in enumerate(line.values) if math.isfinite(value)]
    if runs == 1:
        return {finite[0]} if len(finite) == 1 else set()
    count = min(MARKS, len(finite))
    return {finite[int((mark + line.run / runs) * len(finite) / count)] for mark in range(count)}


def _legend(variants: Variants, runs: int) -> dict[str, Look]:
    """Looks of the parts of a chart: of one run by colour and dash, of several by dash."""
    parts = {line.part: line.dash for lines in variants.values() for line in lines}
    if runs > 1 and len(parts) == 1:
        return {}
    return {
        part: Look("var(--quiet)" if runs > 1 else COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)])
        for part, number in parts.items()
    }


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
