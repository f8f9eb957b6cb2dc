"""Chart data of evaluators: numbers with labels, without style."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]  # (N,)


class Panel(NamedTuple):
    """One frame of a histogram."""

    title: str
    values: Mapping[str, Series]  # by label
    line: float | None  # marked value, such as a threshold


class Histogram(NamedTuple):
    """Histograms side by side with the same bins."""

    name: str  # prefix of the file names
    title: str
    x_label: str
    y_label: str  # unit of the counts
    line_label: str  # meaning of the panels' lines
    panels: Sequence[Panel]
    edges: Series | None = None  # of the bins; None: of a round width over all values


class Line(NamedTuple):
    """A polyline with one marked point."""

    x: Series
    y: Series
    mark: tuple[float, float] | None
    note: str  # appended to the label in the legend


class Curve(NamedTuple):
    """Lines in one frame with axes from 0 to 1."""

    name: str
    title: str
    x_label: str
    y_label: str
    mark_label: str  # meaning of the marks
    lines: Mapping[str, Line]  # by label
    diagonal: str  # meaning of the line from (0, 0) to (1, 1); "": not drawn


class BoxPlot(NamedTuple):
    """Box plot, a box per model, models side by side in each group."""

    name: str
    title: str
    y_label: str
    groups: Mapping[str, Mapping[str, Series]]  # by group in order along x, then by model


class Point(NamedTuple):
    """One point of a scatter plot."""

    x: float
    y: float
    label: str  # next to the marker; "": none
    kind: str  # decides marker and colour, such as "standard, student"


class Scatter(NamedTuple):
    """Scatter plot with the same unit on both axes."""

    name: str
    title: str
    points: Sequence[Point]
    note: str  # caption, such as the explained share of the variance
    x_label: str = ""
    y_label: str = ""


Chart = Histogram | Curve | BoxPlot | Scatter
