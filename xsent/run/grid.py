"""A grid of runs: which of them was best by the monitored figure, said at the end of a Hydra sweep."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, pvariance
from typing import Any, NamedTuple

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

log = logging.getLogger(__name__)


class Tried(NamedTuple):
    """A run of the grid."""

    options: str  # what is its own, as it was given: recipe.margin=5
    best: float  # of the monitored figure
    figures: list[float | None]  # None: not measured
    folder: Path


class GridReport(Callback):
    """At the end of a sweep a table of its runs, on screen and as ``grid.md``: the best first.

    The best is chosen by the figure that checkpoints are chosen by; what is measured on test sets stands beside it and
    chooses nothing.

    Args:
        mode: ``max`` or ``min``, what is best.
        figures: names in ``metrics.json`` to be shown, where they were measured.
        title: of the table.
        paper: by row, the paper's numbers: mean and variance of the monitored figure and of the first one shown, the
            best option, and the monitored figure with it.
    """

    def __init__(self, *, mode: str, figures: Sequence[str], title: str, paper: Mapping[str, Sequence[float]]) -> None:
        self.mode = mode
        self.figures = list(figures)
        self.title = title
        self.paper = paper

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        from xsent.reporting.files import write_text

        folder = Path(config.hydra.sweep.dir)
        tried = read_grid(folder, self.figures, mode=self.mode)
        if not tried:
            raise SystemExit(f"{folder}: no run of the grid came to its end; the log above says why")
        text = grid_table(tried, self.figures, title=self.title, paper=self.paper)
        write_text(folder / "grid.md", text)
        log.info("%s", text)
        log.info("best: %s, in %s; the table is %s", tried[0].options, tried[0].folder, folder / "grid.md")


def read_grid(folder: Path, figures: Sequence[str], *, mode: str) -> list[Tried]:
    """The finished runs of a sweep, the best first; of equals the one that was started first.

    Args:
        folder: of the sweep; its jobs have a folder each, named by number.
        figures: names in ``metrics.json``.
        mode: ``max`` or ``min``.
    """
    found = []
    for path in sorted(folder.glob("*/metrics.json"), key=lambda path: int(path.parent.name)):
        about = json.loads(path.read_text(encoding="utf-8"))
        own: Any = OmegaConf.to_container(OmegaConf.load(path.parent / ".hydra" / "overrides.yaml"))
        found.append(Tried(" ".join(own), about["best"], [about["metrics"].get(name) for name in figures], path.parent))
    shared = set.intersection(*(set(one.options.split(" ")) for one in found)) if len(found) > 1 else set()
    found = [one._replace(options=" ".join(o for o in one.options.split(" ") if o not in shared)) for one in found]
    return sorted(found, key=lambda one: -one.best if mode == "max" else one.best)


def grid_table(
    tried: Sequence[Tried], figures: Sequence[str], *, title: str, paper: Mapping[str, Sequence[float]]
) -> str:
    """Markdown: the runs, and below them mean and variance over the grid beside the paper's."""
    measured = [i for i in range(len(figures)) if any(one.figures[i] is not None for one in tried)]
    names = [figures[i].removeprefix("test/") for i in measured]
    lines = [f"## {title}", "", f"| options | {' | '.join(['monitored', *names])} |"]
    lines.append("| --- " + "| ---: " * (1 + len(names)) + "|")
    for one in tried:
        cells = [f"{one.best:.2f}", *("" if one.figures[i] is None else f"{one.figures[i]:.2f}" for i in measured)]
        lines.append(f"| {one.options} | {' | '.join(cells)} |")
    compared = figures[0].removeprefix("test/")  # what the paper has figures of, measured here or not
    header = ["", "monitored, mean", "variance", f"{compared}, mean", "variance", "best", "its figure"]
    lines += ["", f"| {' | '.join(header)} |", "| --- " + "| ---: " * 6 + "|"]
    lines += [f"| {row} | {' | '.join(f'{value:g}' for value in values)} |" for row, values in paper.items()]
    shown = [one.figures[0] for one in tried if one.figures[0] is not None]
    spread = [*_mean_and_variance([one.best for one in tried]), *_mean_and_variance(shown)]
    lines.append(f"| **ours** | {' | '.join([*spread, tried[0].options, f'{tried[0].best:.2f}'])} |")
    return "\n".join(lines) + "\n"


def _mean_and_variance(values: Sequence[float]) -> list[str]:
    return [f"{fmean(values):.2f}", f"{pvariance(values):.2f}"] if values else ["", ""]
