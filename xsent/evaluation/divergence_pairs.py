"""Pairs that are equivalent or divergent, numbers that say which, and how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from xsent.batch import WordPair
from xsent.evaluation.charts import Histogram, Panel
from xsent.evaluation.test_sets import TwoSided
from xsent.evaluation.thresholds import Floats

CALIBRATED = "calibrated_"


class DivergencePairs(TwoSided, Protocol):
    """N pairs, and whether the sides of each mean the same."""

    @property
    def name(self) -> str: ...
    @property
    def pairs(self) -> Sequence[WordPair]: ...
    @property
    def equivalent(self) -> list[bool]: ...
    @property
    def kinds(self) -> list[str]: ...  # "": nothing beyond the label
    @property
    def highlights(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]] | None: ...  # per word, by how many
    @property
    def annotators(self) -> int: ...
    @property
    def source_lang(self) -> str: ...
    @property
    def target_lang(self) -> str: ...
    def digest(self) -> str: ...


class Thresholds(NamedTuple):
    """A pair is equivalent when its score is above a threshold."""

    fixed: float  # by convention
    calibrated: float | None  # chosen on other pairs; None: there were none
    tuned_on: str

    def by_prefix(self) -> dict[str, float]:
        """By what begins the names of their metrics."""
        return {"": self.fixed} | ({} if self.calibrated is None else {CALIBRATED: self.calibrated})


class Scored(NamedTuple):
    """A number for each pair of a set."""

    of: DivergencePairs
    values: Floats  # (N,)
    thresholds: Thresholds | None  # None: the values decide nothing

    @property
    def lines(self) -> dict[str, float]:
        """The thresholds by what begins the names of their metrics."""
        return {} if self.thresholds is None else self.thresholds.by_prefix()


def histogram(name: str, title: str, label: str, scored: Sequence[Scored]) -> Histogram:
    """Values by what the pairs are, a panel per set; the calibrated threshold is marked where there is one."""
    panels: list[Panel] = []
    line_label = "threshold"
    for one in scored:
        *_, (prefix, line) = one.lines.items() or [("", None)]
        line_label = f"{prefix.replace('_', ' ')}threshold"
        panels.append(Panel(one.of.name, _by_kind(one.of, one.values), line))
    return Histogram(name, title, label, "pairs", line_label, panels)


def _by_kind(one: DivergencePairs, values: Floats) -> dict[str, Floats]:
    plain = {True: "equivalent", False: "divergent"}
    labels = np.array([kind or plain[label] for kind, label in zip(one.kinds, one.equivalent, strict=True)])
    return {label.replace("_", " "): values[labels == label] for label in dict.fromkeys(labels.tolist())}
