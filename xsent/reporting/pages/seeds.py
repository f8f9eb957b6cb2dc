"""Runs that differ by seed alone: their groups, mean figures with standard deviations, and items of the means."""

import math
from collections.abc import Mapping, Sequence
from itertools import takewhile
from statistics import mean, stdev
from typing import NamedTuple

from xsent.evaluation.statistics.items import Items, mean_over
from xsent.reporting.pages.run_folder import RunFiles
from xsent.reporting.tables.results import decimals

SEPARATORS = "/_-= "


class Figures(NamedTuple):
    """Figures of a run, before or after training, or of several runs that differ by seed; the items they are of."""

    label: str  # "meaning vectors", or the name of a run
    metrics: Mapping[str, float]  # means over the runs
    outcomes: Mapping[str, Items]
    by_seed: Mapping[int, Mapping[str, float]] = {}  # metrics of each of several runs

    @property
    def heading(self) -> str:
        """``mini``, or of several runs ``mini (n = 5)``."""
        return f"{self.label} (n = {len(self.by_seed)})" if self.by_seed else self.label

    def scores(self, metric: str) -> list[float]:
        """The metric of each of several runs."""
        return [metrics[metric] for metrics in self.by_seed.values()]

    def text(self, metric: str) -> str:
        """``62.80``, or of several runs ``62.80 ± 0.41``: mean and standard deviation."""
        digits, value = decimals(metric), self.metrics.get(metric, math.nan)
        deviation = f" ± {stdev(self.scores(metric)):.{digits}f}" if self.by_seed else ""
        return f"{value:.{digits}f}{deviation}" if math.isfinite(value) else "none"


def figures_of(name: str, runs: Sequence[RunFiles]) -> Figures:
    """Figures of one run, or of several runs of different seeds."""
    first, *others = runs
    if not others:
        return Figures(name, first.metrics, first.outcomes)
    shared = [metric for metric in first.metrics if all(metric in run.metrics for run in others)]
    by_seed = {int(run.config["seed"]): {metric: run.metrics[metric] for metric in shared} for run in runs}
    known = [metric for metric in shared if all(metric in run.outcomes for run in runs)]
    outcomes = {metric: mean_over(run.outcomes[metric] for run in runs) for metric in known}
    means = {metric: mean(row[metric] for row in by_seed.values()) for metric in shared}
    return Figures(name, means, outcomes, by_seed)


def group_seeds(runs: Mapping[str, RunFiles], configs: Mapping[str, Mapping[str, object]]) -> dict[str, list[RunFiles]]:
    """Runs by group; finished ones with different seeds and otherwise equal configs and test sets are one group.

    A group is named by what the names of its runs share.

    Args:
        runs: by name.
        configs: flat config of each run without its paths.
    """
    groups: dict[str, dict[str, RunFiles]] = {}
    for name, run in runs.items():
        seed = run.config.get("seed")
        settings = {
            key: None if key.rpartition(".")[2] == "seed" and value == seed else value
            for key, value in configs[name].items()
        }
        key = repr((settings, run.about.get("test_sets")))
        seeds = [member.config["seed"] for member in groups.get(key, {}).values()]
        is_alone = not run.finished or not isinstance(seed, int) or seed in seeds
        groups.setdefault(name if is_alone else key, {})[name] = run
    return {_shared_name(list(group)): list(group.values()) for group in groups.values()}


def _shared_name(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    equal = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    beginning = "".join(letters[0] for letters in equal).rstrip("0123456789").rstrip(SEPARATORS)
    return beginning.removesuffix("seed").rstrip(SEPARATORS) or names[0]
