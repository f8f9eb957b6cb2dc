"""Scatter plots: points with their labels, a marker and a colour for each kind."""

from collections.abc import Sequence
from itertools import product
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from numpy.typing import NDArray

from xsent.evaluation.charts import Point, Scatter
from xsent.reporting.plots.canvas import COLOURS, MARKERS, Row, font_families, new_figure

Array = NDArray[np.float64]

LONGEST = 32  # characters of a label; the table has all of it
MARK = 5  # typographic points, half the width of a mark
REACHES = (7, 16, 28, 42)  # typographic points from a mark's middle to its label
DIRECTIONS = [(x, y) for x, y in product((1, -1, 0), (0, 1, -1)) if (x, y) != (0, 0)]


def draw_scatter(chart: Scatter) -> tuple[Figure, list[Row]]:
    """Draw the scatter plot; returns it with a row per point."""
    rows: list[Row] = [["kind", "label", "x", "y"], *([p.kind, p.label, p.x, p.y] for p in chart.points)]
    figure = new_figure(8.0, 6.0)
    axis = figure.subplots()
    kinds = list(dict.fromkeys(point.kind for point in chart.points))
    for number, kind in enumerate(kinds):
        chosen = [point for point in chart.points if point.kind == kind]
        axis.scatter(
            [point.x for point in chosen],
            [point.y for point in chosen],
            s=(2 * MARK) ** 2 * 0.7,
            alpha=0.8,
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            linewidths=0,
            label=kind,
        )
    axis.set_title(chart.title, parse_math=False, fontfamily=font_families(), wrap=True)
    note = "\n".join(filter(None, [chart.x_label, fill(chart.note, 90)]))
    axis.set_xlabel(note, fontsize="small", parse_math=False)
    axis.set_ylabel(chart.y_label, fontsize="small", parse_math=False)
    axis.margins(0.15)  # room for labels
    axis.set_aspect("equal", adjustable="datalim")
    axis.tick_params(labelsize="small", colors="#8C8C8C")
    axis.spines[:].set_color("#bbbbbb")
    figure.legend(*axis.get_legend_handles_labels(), loc="outside right upper", frameon=False)
    figure.draw_without_rendering()  # the layout must be settled before anything is measured
    _place_labels(axis, chart.points)
    return figure, rows


def _place_labels(axis: Axes, points: Sequence[Point]) -> None:
    """Put each label at the nearest place where it covers no mark and no other label, or least of them."""
    scale = axis.figure.dpi / 72  # pixels of a typographic point
    positions = [axis.transData.transform((point.x, point.y)) for point in points]
    taken = [_box(position, np.full(2, 2 * MARK * scale)) for position in positions]
    frame = np.array([axis.get_window_extent().extents])
    for point, place in zip(points, positions, strict=True):
        if not point.label:
            continue
        text = _annotation(axis, point)
        extent = text.get_window_extent()
        size = np.array([extent.width, extent.height])
        offsets = _offsets(size / scale)
        boxes = np.array([_box(place + offset * scale, size) for offset in offsets])
        outside = size.prod() - _shared(boxes, frame)
        # Whole pixels, so that the nearest of equals is not passed over for a rounding error.
        chosen = int(np.argmin(np.round(outside + _shared(boxes, np.array(taken)))))
        text.set_position((offsets[chosen, 0], offsets[chosen, 1]))
        assert text.arrow_patch is not None
        text.arrow_patch.set_visible(chosen >= len(DIRECTIONS))  # a label at the mark needs no line to it
        taken.append(boxes[chosen])


def _annotation(axis: Axes, point: Point) -> Annotation:
    label = point.label if len(point.label) <= LONGEST else point.label[: LONGEST - 1] + "…"
    text = axis.annotate(
        label,
        (point.x, point.y),
        xytext=(0, 0),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize="small",
        fontfamily=font_families(),
        parse_math=False,
        annotation_clip=False,
        arrowprops={"arrowstyle": "-", "color": "#8C8C8C", "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0},
    )
    text.set_in_layout(False)
    return text


def _offsets(size: Array) -> Array:
    """Where the middle of a label may be, in typographic points from its mark, the nearest first: (N, 2)."""
    return np.array([np.multiply(way, reach + size / 2) for reach, way in product(REACHES, DIRECTIONS)])


def _box(middle: Array, size: Array) -> Array:
    """Left, bottom, right, top: (4,)."""
    return np.concatenate([middle - size / 2, middle + size / 2])


def _shared(boxes: Array, obstacles: Array) -> Array:
    """Area that each box (N, 4) shares with all others (M, 4), what two of these cover counted twice: (N,)."""
    low = np.maximum(boxes[:, None, :2], obstacles[None, :, :2])  # (N, M, 2)
    high = np.minimum(boxes[:, None, 2:], obstacles[None, :, 2:])
    shared: Array = np.clip(high - low, 0, None).prod(axis=-1).sum(axis=-1)
    return shared
