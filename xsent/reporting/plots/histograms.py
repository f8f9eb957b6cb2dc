"""Histograms in panels with shared bins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from xsent.evaluation.charts import Histogram, Series
from xsent.reporting.plots.boxes import HATCHES
from xsent.reporting.plots.canvas import Row, new_figure
from xsent.reporting.plots.embeddings import COLOURS

BINS = 50  # at most
LINE = "#333333"
PANEL = 4.4  # inches
PER_ROW = 3  # panels
LOOKS = 2  # side by side in the legend below each panel; long names would not leave room for more


def draw_histogram(chart: Histogram) -> tuple[Figure, list[Row]]:
    """Draw the histograms; returns them with rows of panel, label, from, to, count."""
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
            colour = COLOURS[number % len(COLOURS)]
            axis.stairs(
                counts,
                edges,
                fill=True,
                label=label,
                facecolor=(colour, 0.35),
                edgecolor=colour,
                linewidth=1.2,
                hatch=HATCHES[number % len(HATCHES)],
            )
            bins = zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
            rows += [[panel.title, label, *cells] for cells in bins]
        axis.set(title=panel.title, xlabel=chart.x_label, ylabel=chart.y_label, xlim=(edges[0], edges[-1]))
        if panel.line is not None:
            axis.axvline(panel.line, color=LINE, linestyle="--", linewidth=1.5, label=chart.line_label)
            axis.set_title(f"{panel.title}, {chart.line_label} {panel.line:.3f}")
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[len(chart.panels) :]:
        axis.set_axis_off()
    figure.suptitle(chart.title)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, names, loc="outside lower center", ncols=min(looks, LOOKS * columns), columnspacing=1, frameon=False
    )
    return figure, rows


def _edges(values: Sequence[Series]) -> Series:
    """Bins of a round width over all values; rounding may put a value by 1e-16 outside them."""
    every = np.concatenate(values)
    low, high = float(every.min()), float(every.max())
    if high - low < 1e-6 * max(abs(low), abs(high), 1e-6):
        low, high = low - 0.05, high + 0.05  # all cosines of a collapsed encoder are equal, up to rounding
    return np.round(MaxNLocator(BINS).tick_values(low, high), 12)
