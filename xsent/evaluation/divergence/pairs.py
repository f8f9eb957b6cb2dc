"""Divergence test sets, scores of their pairs, and histograms of the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from xsent.batch import WordPair
from xsent.evaluation.charts import Histogram, Panel
from xsent.evaluation.evaluator import Bitext
from xsent.evaluation.statistics.thresholds import Floats


class DivergencePairs(Bitext, Protocol):
    """N pairs, each equivalent or divergent in meaning."""

    name: str
    pairs: Sequence[WordPair]
    equivalent: list[bool]
    kinds: list[str]  # "": only the label is known
    highlights: list[tuple[tuple[int, ...], tuple[int, ...]]] | None  # annotators per word
    annotators: int

    def digest(self) -> str: ...


class Thresholds(NamedTuple):
    """A pair with a score above the threshold is classified as equivalent."""

    fixed: float  # by convention
    calibrated: float | None  # chosen on dev pairs; None: there are none
    tuned_on: str

    def by_prefix(self) -> dict[str, float]:
        """Thresholds by prefix of their metrics' names."""
        return {"": self.fixed} | ({} if self.calibrated is None else {"calibrated_": self.calibrated})


class ScoredSet(NamedTuple):
    """A test set with a number for each pair."""

    pairs: DivergencePairs
    values: Floats  # (N,)
    thresholds: Thresholds | None  # None: the values classify nothing


def histogram(name: str, title: str, label: str, sets: Sequence[ScoredSet]) -> Histogram:
    """Values by kind of pair, a panel per set, with the calibrated threshold if there is one."""
    panels: list[Panel] = []
    line_label = "threshold"
    for scored in sets:
        kinds = zip(scored.pairs.kinds, scored.pairs.equivalent, strict=True)
        labels = np.array([kind or ("equivalent" if label else "divergent") for kind, label in kinds])
        values = {label.replace("_", " "): scored.values[labels == label] for label in dict.fromkeys(labels.tolist())}
        line = None
        if scored.thresholds is not None:
            prefix, line = list(scored.thresholds.by_prefix().items())[-1]
            line_label = f"{prefix.replace('_', ' ')}threshold"
        panels.append(Panel(scored.pairs.name, values, line))
    return Histogram(name, title, label, "pairs", line_label, panels)
