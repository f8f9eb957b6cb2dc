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


Chart = Histogram | Curve
