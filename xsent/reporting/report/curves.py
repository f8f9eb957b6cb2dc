"""Curves of losses and validation figures by step, small enough for a page however long the run was."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xsent.reporting.report.markup import escape
from xsent.reporting.report.reading import RunFiles
from xsent.reporting.report.shell import Section, embedded_json

MOST_POINTS = (1500, 500, 150, 50)  # of a line: the most that has room, for a screen shows no more than the first
SPLITS = ("train", "val")
CONTROLS = """<p class="quiet">By optimiser step. Point at a line, tap it, or use the arrow keys in a chart, to read
step, epoch and value.{thinned}</p>
<form class="controls"><label><input type="checkbox" name="log" autocomplete="off"> logarithmic where all values are
above zero</label>{runs}</form>
<div class="charts"></div>"""

NOTHING_LOGGED = (
    "<p>The run has no values in metrics.csv, so there are no curves: it was trained with another logger than"
    " <code>logger=csv</code>, or ended before it had logged any.</p>"
)


class Place(NamedTuple):
    """Where the curve of a name belongs."""

    chart: str  # "loss", "heldout accuracy"
    variant: str  # the item of an evaluator, chosen in its chart: "mean"; "" of a loss
    part: str  # a line of the chart: "train", "val", or a space


def curves_section(runs: Mapping[str, RunFiles], *, room: int) -> Section | None:
    """A chart for every term and every figure of an evaluator, all runs in it.

    Args:
        runs: by name.
        room: bytes that the data may take; lines are thinned until they do.

    Returns:
        None where no run has logged anything.
    """
    if not any(run.logged for run in runs.values()):
        return None
    data: dict[str, Any] = {}
    for most in MOST_POINTS:
        data = _data(runs, most)
        if len(embedded_json(data).encode()) <= room:
            break
    said = _thinned(runs, most)
    charts = len(data["charts"])
    while len(embedded_json(data).encode()) > room and data["charts"]:
        data["charts"].pop()
    if len(data["charts"]) < charts:
        said += f" {charts - len(data['charts'])} of {charts} charts have no room here."
    return Section("curves", "Curves", CONTROLS.format(thinned=said, runs=_chooser(list(runs))), data, "curves.js")


def no_curves(run: RunFiles) -> Section | None:
    """In the place of the curves of a training run that has logged nothing in its folder: why there are none."""
    if not run.trains or run.logged:
        return None
    return Section("curves", "Curves", NOTHING_LOGGED, None, None)


def _chooser(names: Sequence[str]) -> str:
    if len(names) == 1:
        return ""
    boxes = "".join(
        f'<label><input type="checkbox" name="run" value="{number}" autocomplete="off" checked>{escape(name)}</label>'
        for number, name in enumerate(names)
    )
    return f"<fieldset><legend>Runs</legend>{boxes}</fieldset>"


def _thinned(runs: Mapping[str, RunFiles], most: int) -> str:
    longest = max(len(logged.steps) for run in runs.values() for logged in run.logged.values())
    if longest <= most:
        return ""
    return (
        f" Longer lines are thinned to {most:,} points of up to {longest:,}, the lowest and highest of each stretch"
        " and its first gap where values were no numbers; all are in metrics.csv."
    )


def _data(runs: Mapping[str, RunFiles], most: int) -> dict[str, Any]:
    """What ``curves.js`` draws. Lines logged together share the numbers of their steps and epochs."""
    axes: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    charts: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for number, run in enumerate(runs.values()):
        for name, logged in run.logged.items():
            place = place_of(name)
            chosen = thinned(np.array(logged.values), most)
            axis = tuple(logged.steps[at] for at in chosen), tuple(logged.epochs[at] for at in chosen)
            line = {
                "run": number,
                "part": place.part,
                "axis": axes.setdefault(axis, len(axes)),
                "values": [_short(logged.values[at]) for at in chosen],
            }
            charts.setdefault(place.chart, {}).setdefault(place.variant, []).append(line)
    return {
        "runs": list(runs),
        "axes": [{"steps": steps, "epochs": epochs} for steps, epochs in axes],
        "charts": [
            {"title": title, "variants": [{"name": name, "lines": lines} for name, lines in _sorted(variants)]}
            for title, variants in sorted(charts.items(), key=lambda item: _rank(item[0], item[1]))
        ],
    }


def _rank(title: str, variants: Mapping[str, object]) -> tuple[bool, bool]:
    """The sum of the terms first, evaluators last; else as they were logged."""
    return title != "loss", "" not in variants


def _sorted(variants: Mapping[str, list[dict[str, Any]]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The mean first, which is what is shown until another is chosen."""
    return sorted(variants.items(), key=lambda item: item[0] != "mean")


def place_of(name: str) -> Place:
    """``train/loss`` and ``val/<evaluator>[/<space>]/<item>/<metric>``; any other name has a chart of its own."""
    split, *rest = name.split("/")
    if split not in SPLITS or not rest:
        return Place(name, "", "")
    if len(rest) in (3, 4):
        space = rest[1] if len(rest) == 4 else split
        return Place(f"{rest[0]} {rest[-1]}", rest[-2], space)
    return Place("/".join(rest), "", split)


def thinned(values: NDArray[np.float64], most: int) -> list[int]:
    """Positions of at most ``most`` values: first, last, and of equal stretches between the lowest and highest.

    Of a stretch with values that are no number the first of those is kept, too: a curve that breaks off shows it.
    """
    if len(values) <= most:
        return list(range(len(values)))
    kept = {0, len(values) - 1}
    is_finite = np.isfinite(values)
    of_a_stretch = 2 if is_finite.all() else 3
    for stretch in np.array_split(np.arange(1, len(values) - 1), (most - 2) // of_a_stretch):
        finite, others = stretch[is_finite[stretch]], stretch[~is_finite[stretch]]
        if len(finite):
            kept |= {int(finite[values[finite].argmin()]), int(finite[values[finite].argmax()])}
        kept |= set(others[:1].tolist())
    return sorted(kept)


def _short(value: float) -> float | None:
    """Six digits, enough for a picture and its tooltip."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
