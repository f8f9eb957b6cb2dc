"""Charts of an evaluation as pictures, and the numbers in them as tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from xsent.data.whole_file import whole_file
from xsent.evaluation.charts import BoxPlot, Chart, Curve, Histogram, Series
from xsent.reporting.boxes import HATCHES, draw_boxes
from xsent.reporting.drawing import Row, new_figure, say_missing_glyphs
from xsent.reporting.pictures import COLOURS, MARKERS
from xsent.reporting.scatters import draw_scatter

BINS = 50  # at most
LINES = ("-", "--", "-.", ":")  # with the colours 8 different looks, as both repeat after 4 and 8
LINE = "#333333"
PANEL = 4.4  # inches
PER_ROW = 3  # panels


def draw_charts(charts: Iterable[Chart], folder: Path) -> list[Path]:
    """Draw ``<name>.png`` of each chart and write its numbers to ``<name>.csv``; returns the pictures.

    A histogram's numbers are the counts of its bins, a curve's and a scatter plot's their points, a box plot's
    mean, quartiles and extremes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for chart in charts:
        path = folder / f"{chart.name}.png"
        with say_missing_glyphs(chart.name):
            figure, rows = _draw(chart)
            figure.savefig(path, dpi=130)
        with whole_file(path.with_suffix(".csv")) as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        paths.append(path)
    return paths


def _draw(chart: Chart) -> tuple[Figure, list[Row]]:
    if isinstance(chart, Histogram):
        return _histogram(chart)
    if isinstance(chart, Curve):
        return _curve(chart)
    return draw_boxes(chart) if isinstance(chart, BoxPlot) else draw_scatter(chart)


def _histogram(chart: Histogram) -> tuple[Figure, list[Row]]:
    edges = _edges([values for panel in chart.panels for values in panel.values.values()])
    rows: list[Row] = [["panel", "label", "from", "to", "count"]]
    columns = min(len(chart.panels), PER_ROW)
    lines = -(-len(chart.panels) // columns)
    figure = new_figure(PANEL * columns, 3.6 * lines + 0.8)
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True).flatten()
    for axis, panel in zip(axes, chart.panels, strict=False):
        for number, (label, values) in enumerate(panel.values.items()):
            counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
            colour = COLOURS[number % len(COLOURS)]
            axis.stairs(
                counts, edges, fill=True, label=label, facecolor=(colour, 0.35), edgecolor=colour, linewidth=1.2,
                hatch=HATCHES[number % len(HATCHES)],
            )  # fmt: skip
            bins = zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
            rows += [[panel.title, label, *one] for one in bins]
        axis.set(title=panel.title, xlabel=chart.x_label, ylabel=chart.y_label, xlim=(edges[0], edges[-1]))
        if panel.line is not None:
            axis.axvline(panel.line, color=LINE, linestyle="--", linewidth=1.5, label=chart.line_label)
            axis.set_title(f"{panel.title}, {chart.line_label} {panel.line:.3f}")
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[len(chart.panels) :]:
        axis.set_axis_off()
    figure.suptitle(chart.title)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
    return figure, rows


def _edges(values: Sequence[Series]) -> Series:
    """Bins of a round width over all values; rounding may put a value by 1e-16 outside them."""
    every = np.concatenate(values)
    low, high = float(every.min()), float(every.max())
    if high - low < 1e-6 * max(abs(low), abs(high), 1e-6):
        low, high = low - 0.05, high + 0.05  # an encoder that has collapsed has one cosine for all, up to rounding
    return np.round(MaxNLocator(BINS).tick_values(low, high), 12)


def _curve(chart: Curve) -> tuple[Figure, list[Row]]:
    rows: list[Row] = [["line", chart.x_label, chart.y_label]]
    figure = new_figure(6.4, 6.0)
    axis = figure.subplots()
    if chart.diagonal:
        axis.plot([0, 1], [0, 1], color="#8C8C8C", linewidth=1, linestyle=(0, (1, 2)), label=chart.diagonal)
    for number, (label, line) in enumerate(chart.lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        style = LINES[number % len(LINES)]
        marker = "" if line.mark is None else MARKERS[number % len(MARKERS)]
        axis.plot(line.x, line.y, color=colour, linestyle=style, linewidth=1.8)
        if line.mark is not None:
            axis.plot(*line.mark, color=colour, marker=marker, markersize=9, markeredgecolor="white", clip_on=False)
        axis.plot([], [], color=colour, linestyle=style, marker=marker, label=f"{label}, {line.note}")  # the legend's
        rows += [[label, x, y] for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True)]
    axis.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label, xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    axis.set_aspect("equal")
    axis.grid(color="#dddddd", linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)
    marked = any(line.mark is not None for line in chart.lines.values())
    axis.legend(loc="lower right", framealpha=0.9, title=f"mark: {chart.mark_label}" if marked else None)
    return figure, rows
