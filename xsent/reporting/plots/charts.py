"""Draw charts of an evaluation as PNG files, with their numbers as CSV."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from xsent.evaluation.charts import BoxPlot, Chart, Curve, Histogram, Scatter, Series
from xsent.files.atomic import write_text
from xsent.reporting.plots.canvas import COLOURS, MARKERS, Row, log_missing_glyphs, new_figure
from xsent.reporting.plots.scatters import draw_scatter
from xsent.reporting.tables.table import csv_text

LINES = ("-", "--", "-.", ":")  # with the colours 8 different looks, as both repeat after 4 and 8
HATCHES = ("", "////", "....", "xxxx")
INK = "#333333"
GRID: dict[str, Any] = {"color": "#dddddd", "linewidth": 0.6}
BINS = 50  # of a histogram, at most
PANEL = 4.4  # inches of a histogram
PER_ROW = 3  # histograms
LOOKS = 2  # side by side in the legend below each histogram; long names would not leave room for more
BOX = 0.34  # inches per box, with its gap
LETTER = 0.09  # inches of a letter below the axis


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
            figure, rows = DRAWINGS[type(chart)](chart)
            figure.savefig(path, dpi=130)
        write_text(path.with_suffix(".csv"), csv_text(rows))
        paths.append(path)
    return paths


def draw_histogram(chart: Histogram) -> tuple[Figure, list[Row]]:
    """Draw the histograms; returns them with rows of panel, label, from, to, count."""
    edges = chart.edges
    if edges is None:
        edges = _edges([values for panel in chart.panels for values in panel.values.values()])
    rows: list[Row] = [["panel", "label", "from", "to", "count"]]
    columns = min(len(chart.panels), PER_ROW)
    lines = -(-len(chart.panels) // columns)
    looks = len(chart.panels[0].values) + (chart.panels[0].line is not None)
    legend_lines = -(-looks // (LOOKS * columns))
    figure = new_figure(PANEL * columns, 3.6 * lines + 0.6 + 0.2 * legend_lines)
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True).flatten()
    for axis, panel in zip(axes, chart.panels, strict=False):
        for number, (label, values) in enumerate(panel.values.items()):
            counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
            look = _hatched(number)
            colour = look.pop("facecolor")
            look |= {"facecolor": (colour, 0.35), "edgecolor": colour, "linewidth": 1.2}
            axis.stairs(counts, edges, fill=True, label=label, **look)
            bins = zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
            rows += [[panel.title, label, *cells] for cells in bins]
        axis.set(title=panel.title, xlabel=chart.x_label, ylabel=chart.y_label, xlim=(edges[0], edges[-1]))
        axis.tick_params(labelbottom=True)  # also above an empty place
        if panel.line is not None:
            axis.axvline(panel.line, color=INK, linestyle="--", linewidth=1.5, label=chart.line_label)
            axis.set_title(f"{panel.title}, {chart.line_label} {panel.line:.3f}")
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[len(chart.panels) :]:
        axis.set_axis_off()
    figure.suptitle(chart.title)
    handles, names = axes[0].get_legend_handles_labels()
    legend_columns = min(looks, LOOKS * columns)
    figure.legend(handles, names, loc="outside lower center", ncols=legend_columns, columnspacing=1, frameon=False)
    return figure, rows


def _edges(values: Sequence[Series]) -> Series:
    """Bins of a round width over all values; rounding may put a value by 1e-16 outside them."""
    every = np.concatenate(values)
    low, high = float(every.min()), float(every.max())
    if high - low < 1e-6 * max(abs(low), abs(high), 1e-6):
        low, high = low - 0.05, high + 0.05  # all cosines of a collapsed encoder are equal, up to rounding
    return np.round(MaxNLocator(BINS).tick_values(low, high), 12)


def _hatched(number: int) -> dict[str, Any]:
    return {"facecolor": COLOURS[number % len(COLOURS)], "hatch": HATCHES[number % len(HATCHES)]}


def _draw_curve(chart: Curve) -> tuple[Figure, list[Row]]:
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
    axis.grid(**GRID)
    axis.spines[["top", "right"]].set_visible(False)
    marked = any(line.mark is not None for line in chart.lines.values())
    title = f"mark: {chart.mark_label}" if marked else None
    axis.legend(loc="lower right" if chart.diagonal else "best", framealpha=0.9, title=title)
    return figure, rows


def _draw_boxes(chart: BoxPlot) -> tuple[Figure, list[Row]]:
    """A box goes from the first quartile to the third, the line in it is the median and the white mark the mean.

    Whiskers reach the last value within 1.5 times the box's height; what lies beyond is a point.
    """
    models = list(dict.fromkeys(model for series in chart.groups.values() for model in series))
    slots = len(models) + 1  # of a group, one of them empty
    figure = new_figure(max(6.4, 1.4 + BOX * slots * len(chart.groups)), 4.8)
    axis = figure.subplots()
    rows: list[Row] = [["group", "model", "n", "mean", "min", "first quartile", "median", "third quartile", "max"]]
    for position, (group, series) in enumerate(chart.groups.items()):
        for model, values in series.items():
            quartiles = np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist() if len(values) else [""] * 5
            rows.append([group, model, len(values), float(values.mean()) if len(values) else "", *quartiles])
        if position:
            axis.axvline(position * slots - 1, color="#dddddd", linewidth=0.8)
    patches = []
    for number, model in enumerate(models):
        filled = [(position, series[model]) for position, series in enumerate(chart.groups.values()) if model in series]
        look = {**_hatched(number), "alpha": 0.75, "edgecolor": INK}
        axis.boxplot(
            [values for _, values in filled],
            positions=[position * slots + number for position, _ in filled],
            widths=0.75,
            patch_artist=True,
            manage_ticks=False,
            showmeans=True,
            boxprops=look,
            medianprops={"color": INK, "linewidth": 1.6},
            whiskerprops={"color": INK},
            capprops={"color": INK},
            meanprops={"marker": "D", "markersize": 3.5, "markerfacecolor": "white", "markeredgecolor": INK},
            flierprops={"marker": ".", "markersize": 2, "markeredgecolor": look["facecolor"], "alpha": 0.4},
        )
        patches.append(Patch(**look, label=model))
    centres = [position * slots + (len(models) - 1) / 2 for position in range(len(chart.groups))]
    axis.set_xticks(centres, list(chart.groups), parse_math=False)
    if max(map(len, chart.groups), default=0) * LETTER > BOX * slots:
        for label in axis.get_xticklabels():
            label.set(rotation=35, horizontalalignment="right", rotation_mode="anchor")
    axis.tick_params(axis="x", length=0)
    axis.set(ylabel=chart.y_label, xlim=(-1, max(slots * len(chart.groups) - 1, 0)))
    axis.set_title(chart.title, parse_math=False)
    axis.grid(axis="y", **GRID)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(handles=patches, loc="outside lower center", ncols=max(1, len(patches)), frameon=False)
    return figure, rows


DRAWINGS: dict[type[Any], Callable[[Any], tuple[Figure, list[Row]]]] = {
    Histogram: draw_histogram,
    Curve: _draw_curve,
    BoxPlot: _draw_boxes,
    Scatter: draw_scatter,
}
