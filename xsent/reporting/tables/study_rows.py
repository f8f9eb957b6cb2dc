"""Metrics of a study's table for one vector space, with averages over some of its items and gaps between two items."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

AVERAGES = ("mean", "eng-xx", "xx-eng")  # items that average the other items of their evaluator


class Derived(NamedTuple):
    """Metrics that are computed from those of the table."""

    averages: Mapping[str, Sequence[str]]  # metric -> the metrics that it averages
    gaps: Mapping[str, tuple[str, str]]  # metric -> two metrics, the first less the second

    @property
    def names(self) -> list[str]:
        """All derived metrics."""
        return [*self.averages, *self.gaps]

    def add_to(self, row: Mapping[str, float]) -> dict[str, float]:
        """The row with its derived metrics; an average is over the items that the row has."""
        values = dict(row)
        for name, items in self.averages.items():
            if present := [row[item] for item in items if item in row]:
                values[name] = sum(present) / len(present)
        for name, (first, second) in self.gaps.items():
            if first in values and second in values:
                values[name] = values[first] - values[second]
        return values


def derived_metrics(paper: Mapping[str, Any], paper_encoder: str) -> Derived:
    """Averages and gaps of a table, for each evaluator and kind of metric that has their items.

    Args:
        paper: ``metrics``; ``averages``, a list of items by name or, by name and the paper's encoder, one for each
            encoder; ``gaps``, two items or averages by name.
        paper_encoder: whose items are averaged.
    """
    averages: dict[str, Sequence[str]] = {}
    gaps: dict[str, tuple[str, str]] = {}
    for evaluator, kind in dict.fromkeys((parts[0], parts[2]) for parts in map(_parts, paper["metrics"])):
        for name, given in paper["averages"].items():
            items = given.get(paper_encoder, []) if isinstance(given, Mapping) else given
            metrics = [f"{evaluator}/{item}/{kind}" for item in items]
            if present := [metric for metric in metrics if metric in paper["metrics"]]:
                averages[f"{evaluator}/{name}/{kind}"] = present
        for name, pair in paper["gaps"].items():
            first, second = (f"{evaluator}/{item}/{kind}" for item in pair)
            if all(metric in averages or metric in paper["metrics"] for metric in (first, second)):
                gaps[f"{evaluator}/{name}/{kind}"] = first, second
    return Derived(averages, gaps)


def averaged_items(metric: str, metrics: Sequence[str]) -> list[str]:
    """The metrics of the table that ``mean``, ``eng-xx`` or ``xx-eng`` averages; none if the metric is none of them."""
    evaluator, item, kind = _parts(metric)
    if item not in AVERAGES:
        return []
    parts = {name: _parts(name) for name in metrics}
    return [name for name in metrics if parts[name][::2] == [evaluator, kind] and parts[name][1] not in AVERAGES]


def is_average(metric: str, paper: Mapping[str, Any]) -> bool:
    """Whether a metric summarises others of its table."""
    return _parts(metric)[1] in {*AVERAGES, *paper["averages"], *paper["gaps"]}


def measured_row(metrics: Mapping[str, float], space: str, paper: Mapping[str, Any]) -> dict[str, float]:
    """The table's metrics that a cell measured for one vector space, or "" for none; NaN is not measured."""
    row = {}
    for metric in paper["metrics"]:
        evaluator, item, kind = _parts(metric)
        value = metrics.get(f"{evaluator}/{space}/{item}/{kind}" if space else metric, math.nan)
        if not math.isnan(value):
            row[metric] = value
    return row


def _parts(metric: str) -> list[str]:
    """Evaluator, item and kind."""
    return metric.split("/")
