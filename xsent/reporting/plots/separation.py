"""Pictures of a study: how far the scores of meaning and language vectors are apart (figures 3, 4 and 6 of ORACLE)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from xsent.reporting.plots.canvas import COLOURS, new_figure

GREY = "#8C8C8C"
SHAPES = ("o", "^")  # of the host and of the objective that adds to it
WIDTH, HEIGHT = 3.6, 3.4  # inches of a panel of points
ROW = 0.32  # inches of a bar


class Scores(NamedTuple):
    """Scores of one objective."""

    meaning: float
    language: float


class Arrows(NamedTuple):
    """Panel of points: a host's scores and those with the addition."""

    title: str
    items: Mapping[str, tuple[Scores, Scores]]  # by label: before, after
    average: tuple[Scores, Scores] | None


class Bars(NamedTuple):
    """Panel of bars."""

    title: str
    objectives: Mapping[str, Scores]


def draw_arrows(panels: Sequence[Sequence[Arrows]], *, title: str, unit: str, path: Path) -> Path:
    """Draw a grid of panels: language on x, meaning on y, an arrow from before to after for each item.

    Args:
        panels: rows of the grid, of one length.
        title: above the grid.
        unit: of the scores.
        path: PNG file.
    """
    figure = new_figure(WIDTH * len(panels[0]) + 0.4, HEIGHT * len(panels) + 0.8)
    axes = figure.subplots(len(panels), len(panels[0]), squeeze=False)
    for row, drawn in zip(panels, axes, strict=True):
        for panel, axis in zip(row, drawn, strict=True):
            _draw_arrows(axis, panel)
            axis.set(xlabel=f"language, {unit}", ylabel=f"meaning, {unit}")
    handles = [
        Line2D([], [], color=colour, marker=shape, linestyle="", label=label)
        for colour, shape, label in (
            (COLOURS[0], SHAPES[0], "host"),
            (COLOURS[0], SHAPES[1], "with ORACLE"),
            (GREY, "s", "grey: average"),
        )
    ]
    figure.suptitle(title)
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=130)
    return path


def _draw_arrows(axis: Axes, panel: Arrows) -> None:
    average = [] if panel.average is None else [("", panel.average, GREY)]
    for label, (before, after), colour in [*((name, pair, COLOURS[0]) for name, pair in panel.items.items()), *average]:
        ends = (before.language, after.language), (before.meaning, after.meaning)
        axis.plot(*ends, color=colour, linewidth=0.8, alpha=0.6)
        for scores, shape in zip((before, after), SHAPES, strict=True):
            axis.plot(scores.language, scores.meaning, color=colour, marker=shape, markersize=6, linestyle="")
        # The hosts' points lie further apart than those of the objectives that push language down.
        axis.annotate(
            label, (before.language, before.meaning), xytext=(4, 3), textcoords="offset points", fontsize="x-small"
        )
    axis.set_title(panel.title, fontsize="medium")
    axis.spines[["top", "right"]].set_visible(False)
    axis.margins(0.12)


def draw_bars(panels: Sequence[Bars], *, title: str, unit: str, path: Path) -> Path:
    """Draw a panel below the other: per objective a bar from the language score (star) to the meaning score (dot)."""
    rows = [len(panel.objectives) for panel in panels]
    figure = new_figure(7.2, ROW * sum(rows) + 0.75 * len(panels) + 0.7)
    axes = figure.subplots(len(panels), 1, squeeze=False, sharex=True, height_ratios=[count + 1 for count in rows])
    for panel, axis in zip(panels, axes[:, 0], strict=True):
        for position, scores in enumerate(panel.objectives.values()):
            axis.plot([scores.language, scores.meaning], [position, position], color=COLOURS[0], linewidth=3, alpha=0.5)
            axis.plot(scores.meaning, position, color=COLOURS[0], marker="o", markersize=7)
            axis.plot(scores.language, position, color=COLOURS[6], marker="*", markersize=10)
            middle = (scores.language + scores.meaning) / 2
            gap = f"{scores.meaning - scores.language:+.1f}"
            axis.annotate(gap, (middle, position), ha="center", va="bottom", fontsize="x-small")
        axis.set_yticks(range(len(panel.objectives)), list(panel.objectives), parse_math=False)
        axis.set_ylim(len(panel.objectives) - 0.4, -0.8)
        axis.set_title(panel.title, fontsize="medium", loc="left")
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1, 0].set_xlabel(unit)
    handles = [
        Line2D([], [], color=COLOURS[0], marker="o", linestyle="", label="meaning"),
        Line2D([], [], color=COLOURS[6], marker="*", markersize=10, linestyle="", label="language"),
    ]
    figure.suptitle(title)
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path, dpi=130)
    return path
