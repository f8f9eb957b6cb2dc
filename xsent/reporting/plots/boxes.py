"""Box plots: a box per model in each group."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from xsent.evaluation.charts import BoxPlot, Series
from xsent.reporting.plots.canvas import Row, new_figure
from xsent.reporting.plots.embeddings import COLOURS

HATCHES = ("", "////", "....", "xxxx")
BOX = 0.34  # inches per box, with its gap
LETTER = 0.09  # inches of a letter below the axis
INK = "#333333"
HEADER = ["group", "model", "n", "mean", "min", "first quartile", "median", "third quartile", "max"]


def draw_boxes(chart: BoxPlot) -> tuple[Figure, list[Row]]:
    """Draw the box plot; returns it with a row of figures per box.

    A box goes from the first quartile to the third, the line in it is the median and the white mark the mean.
    Whiskers reach the last value within 1.5 times the box's height; what lies beyond is a point.
    """
    models = list(dict.fromkeys(model for series in chart.groups.values() for model in series))
    slots = len(models) + 1  # of a group, one of them empty
    figure = new_figure(max(6.4, 1.4 + BOX * slots * len(chart.groups)), 4.8)
    axis = figure.subplots()
    rows: list[Row] = [HEADER]
    for position, (group, series) in enumerate(chart.groups.items()):
        rows += [_row(group, model, values) for model, values in series.items()]
        if position:
            axis.axvline(position * slots - 1, color="#dddddd", linewidth=0.8)
    for number, model in enumerate(models):
        filled = [(position, series[model]) for position, series in enumerate(chart.groups.values()) if model in series]
        look = {"facecolor": COLOURS[number % len(COLOURS)], "hatch": HATCHES[number % len(HATCHES)], "alpha": 0.75}
        axis.boxplot(
            [values for _, values in filled],
            positions=[position * slots + number for position, _ in filled],
            widths=0.75,
            patch_artist=True,
            manage_ticks=False,
            showmeans=True,
            boxprops={**look, "edgecolor": INK},
            medianprops={"color": INK, "linewidth": 1.6},
            whiskerprops={"color": INK},
            capprops={"color": INK},
            meanprops={"marker": "D", "markersize": 3.5, "markerfacecolor": "white", "markeredgecolor": INK},
            flierprops={"marker": ".", "markersize": 2, "markeredgecolor": look["facecolor"], "alpha": 0.4},
        )
    _label(chart, figure, models, slots)
    return figure, rows


def _label(chart: BoxPlot, figure: Figure, models: list[str], slots: int) -> None:
    (axis,) = figure.axes
    centres = [position * slots + (len(models) - 1) / 2 for position in range(len(chart.groups))]
    axis.set_xticks(centres, list(chart.groups), parse_math=False)
    if max(map(len, chart.groups), default=0) * LETTER > BOX * slots:
        for label in axis.get_xticklabels():
            label.set(rotation=35, horizontalalignment="right", rotation_mode="anchor")
    axis.tick_params(axis="x", length=0)
    axis.set(ylabel=chart.y_label, xlim=(-1, max(slots * len(chart.groups) - 1, 0)))
    axis.set_title(chart.title, parse_math=False)
    axis.grid(axis="y", color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    looks = [
        Patch(
            facecolor=COLOURS[number % len(COLOURS)],
            hatch=HATCHES[number % len(HATCHES)],
            alpha=0.75,
            edgecolor=INK,
            label=model,
        )
        for number, model in enumerate(models)
    ]
    figure.legend(handles=looks, loc="outside lower center", ncols=max(1, len(looks)), frameon=False)


def _row(group: str, model: str, values: Series) -> Row:
    if not len(values):
        return [group, model, 0, *[""] * (len(HEADER) - 3)]
    return [group, model, len(values), float(values.mean()), *np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist()]
