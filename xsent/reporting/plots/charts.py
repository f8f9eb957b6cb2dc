"""Draw charts of an evaluation as PNG files, with their numbers as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from matplotlib.figure import Figure

from xsent.atomic import atomic_write
from xsent.evaluation.charts import BoxPlot, Chart, Curve, Histogram
from xsent.reporting.plots.boxes import draw_boxes
from xsent.reporting.plots.canvas import Row, log_missing_glyphs, new_figure
from xsent.reporting.plots.embeddings import COLOURS, MARKERS
from xsent.reporting.plots.histograms import draw_histogram
from xsent.reporting.plots.scatters import draw_scatter

LINES = ("-", "--", "-.", ":")  # with the colours 8 different looks, as both repeat after 4 and 8


def draw_charts(charts: Iterable[Chart], folder: Path) -> list[Path]:
    """Draw ``<name>.png`` of each chart and write its numbers to ``<name>.csv``; returns the pictures.

    A histogram's numbers are the counts of its bins, a curve's and a scatter plot's their points, a box plot's
    mean, quartiles and extremes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for chart in charts:
        path = folder / f"{chart.name}.png"
        with log_missing_glyphs(chart.name):
            figure, rows = _draw(chart)
            figure.savefig(path, dpi=130)
        with atomic_write(path.with_suffix(".csv")) as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        paths.append(path)
    return paths


def _draw(chart: Chart) -> tuple[Figure, list[Row]]:
    if isinstance(chart, Histogram):
        return draw_histogram(chart)
    if isinstance(chart, Curve):
        return _curve(chart)
    return draw_boxes(chart) if isinstance(chart, BoxPlot) else draw_scatter(chart)


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
