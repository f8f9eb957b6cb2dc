"""What an evaluator wants drawn: plain numbers with their labels, and no word on how they look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]  # (N,)


class Panel(NamedTuple):
    """Values that are compared in one frame."""

    title: str
    values: Mapping[str, Series]  # by label
    line: float | None  # a value to be marked, such as a threshold


class Histogram(NamedTuple):
    """How often which values occur, panels side by side with the same bins."""

    name: str  # begins the name of the files
    title: str
    x_label: str
    y_label: str  # what is counted
    line_label: str  # what the panels' lines are
    panels: Sequence[Panel]


class Line(NamedTuple):
    """Points in the order they are joined, and one of them marked."""

    x: Series
    y: Series
    mark: tuple[float, float] | None
    note: str  # beside the label in the legend


class Curve(NamedTuple):
    """Lines in one frame whose axes go from 0 to 1."""

    name: str
    title: str
    x_label: str
    y_label: str
    mark_label: str  # what the lines' marks are
    lines: Mapping[str, Line]  # by label
    diagonal: str  # what the line from (0, 0) to (1, 1) is; "": it is not drawn


class BoxPlot(NamedTuple):
    """How values spread, a box per model, the models side by side within each group."""

    name: str
    title: str
    y_label: str
    groups: Mapping[str, Mapping[str, Series]]  # by group, in order along x, and by model within it


class Point(NamedTuple):
    """One marked place of a frame."""

    x: float
    y: float
    label: str  # beside the mark; "": none
    kind: str  # points of one kind have one marker and one colour, such as "standard, student"


class Scatter(NamedTuple):
    """Points in one frame whose axes have one unit."""

    name: str
    title: str
    points: Sequence[Point]
    note: str  # below, such as the share of the variance that is shown


Chart = Histogram | Curve | BoxPlot | Scatter
