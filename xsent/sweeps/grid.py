"""Report of a Hydra grid (multirun): its runs ranked by the monitored metric, in a table beside the paper's figures."""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, pvariance
from typing import Any, NamedTuple

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from xsent.atomic import write_text
from xsent.run.start import read_record

log = logging.getLogger(__name__)


class GridRun(NamedTuple):
    """A finished run of the grid."""

    options: str  # overrides that not all runs share: recipe.margin=5
    best: float  # of the monitored metric
    figures: list[float | None]  # None: not measured
    folder: Path


class GridReport(Callback):
    """Hydra callback that writes ``grid.md`` when all runs have ended.

    The monitored metric of the checkpoints ranks the runs; metrics of test sets are shown and rank nothing.

    Args:
        mode: ``max`` or ``min``: which value of the monitored metric is best.
        figures: names in ``metrics.json`` to show.
        title: of the table.
        paper: the paper's numbers by row: mean and variance of the monitored metric and of the first figure, the best
            option, and the monitored metric with it.
    """

    def __init__(self, *, mode: str, figures: Sequence[str], title: str, paper: Mapping[str, Sequence[float]]) -> None:
        self.mode = mode
        self.figures = list(figures)
        self.title = title
        self.paper = paper

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        folder = Path(config.hydra.sweep.dir)
        runs = read_grid(folder, self.figures, mode=self.mode)
        if not runs:
            raise SystemExit(f"{folder}: no run of the grid finished; see the log above")
        text = grid_table(runs, self.figures, title=self.title, paper=self.paper)
        write_text(folder / "grid.md", text)
        log.info("%s", text)
        log.info("best: %s, in %s; table: %s", runs[0].options, runs[0].folder, folder / "grid.md")


def read_grid(folder: Path, figures: Sequence[str], *, mode: str) -> list[GridRun]:
    """Finished runs of a sweep, the best first; of equals the first.

    Args:
        folder: of the sweep, with one folder per job, named by its number.
        figures: names in ``metrics.json``.
        mode: ``max`` or ``min``.
    """
    runs: list[GridRun] = []
    overrides: list[list[str]] = []
    for path in sorted(folder.glob("*/metrics.json"), key=lambda path: int(path.parent.name)):
        metrics = json.loads(path.read_text(encoding="utf-8"))
        overrides.append(read_record(path.parent)["overrides"])
        runs.append(GridRun("", metrics["best"], [metrics["metrics"].get(name) for name in figures], path.parent))
    shared: set[str] = set.intersection(*(set(items) for items in overrides)) if len(runs) > 1 else set()
    options = [" ".join(option for option in items if option not in shared) for items in overrides]
    runs = [run._replace(options=text) for run, text in zip(runs, options, strict=True)]
    return sorted(runs, key=lambda run: -run.best if mode == "max" else run.best)


def grid_table(
    runs: Sequence[GridRun], figures: Sequence[str], *, title: str, paper: Mapping[str, Sequence[float]]
) -> str:
    """Markdown: the runs, then mean and variance over the grid beside the paper's."""
    measured = [i for i in range(len(figures)) if any(run.figures[i] is not None for run in runs)]
    names = [figures[i].removeprefix("test/") for i in measured]
    lines = [f"## {title}", "", f"| options | {' | '.join(['monitored', *names])} |"]
    lines.append("| --- " + "| ---: " * (1 + len(names)) + "|")
    for run in runs:
        cells = [run.best, *(run.figures[i] for i in measured)]
        lines.append(f"| {run.options} | {' | '.join('' if cell is None else f'{cell:.2f}' for cell in cells)} |")
    compared = figures[0].removeprefix("test/")  # the paper reports it, whether or not it was measured here
    header = ["", "monitored, mean", "variance", f"{compared}, mean", "variance", "best", "its figure"]
    lines += ["", f"| {' | '.join(header)} |", "| --- " + "| ---: " * 6 + "|"]
    lines += [f"| {row} | {' | '.join(f'{value:g}' for value in values)} |" for row, values in paper.items()]
    first_figures = [run.figures[0] for run in runs if run.figures[0] is not None]
    statistics = [*_mean_and_variance([run.best for run in runs]), *_mean_and_variance(first_figures)]
    lines.append(f"| **ours** | {' | '.join([*statistics, runs[0].options, f'{runs[0].best:.2f}'])} |")
    return "\n".join(lines) + "\n"


def _mean_and_variance(values: Sequence[float]) -> list[str]:
    return [f"{fmean(values):.2f}", f"{pvariance(values):.2f}"] if values else ["", ""]
