"""Labelled pairs with a cosine and a threshold each: figures and charts of any collection of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import NamedTuple, Protocol

import numpy as np

from xsent.evaluation.charts import Chart, Curve, Histogram, Line, Panel
from xsent.evaluation.test_sets import Bitext
from xsent.evaluation.thresholds import (
    Bools,
    Floats,
    Roc,
    Verdict,
    area_under,
    equal_error_rate,
    roc_curve,
    verdict,
)

CURVE_POINTS = 1000  # more than a picture can show


class LabelledPairs(Bitext, Protocol):
    """Sentence pairs of one part, kind and language pair."""

    @property
    def part(self) -> str: ...  # "valid", which thresholds are chosen on, or "test"
    @property
    def kind(self) -> str: ...
    @property
    def label(self) -> list[int]: ...  # 1: the same meaning, 0: not


class Judged(NamedTuple):
    """N pairs, how similar they are and from what cosine on they count as paraphrases."""

    pairs: LabelledPairs
    cosines: Floats  # (N,)
    labels: Bools  # (N,)
    threshold: float  # one for all pairs of a kind


def by_kind(judged: Iterable[Judged]) -> dict[str, list[Judged]]:
    """Those of each kind, in the order the kinds first occur."""
    found: dict[str, list[Judged]] = {}
    for one in judged:
        found.setdefault(one.pairs.kind, []).append(one)
    return found


def pooled(judged: Sequence[Judged]) -> tuple[Floats, Bools]:
    """Cosines and labels of all pairs."""
    return np.concatenate([one.cosines for one in judged]), np.concatenate([one.labels for one in judged])


def percent_right(judged: Sequence[Judged]) -> Verdict:
    """Accuracy and F1, in percent, of all pairs, each with the threshold of its kind."""
    taken = np.concatenate([one.cosines >= one.threshold for one in judged])
    return Verdict(*(100 * share for share in verdict(taken, pooled(judged)[1])))


def mean_percent_right(judged: Iterable[Judged]) -> Verdict:
    """Accuracy and F1, in percent, averaged over the kinds, each with the same weight."""
    found = [percent_right(of_kind) for of_kind in by_kind(judged).values()]
    return Verdict(mean(one.accuracy for one in found), mean(one.f1 for one in found))


def figures(of_kind: Sequence[Judged]) -> dict[str, float]:
    """Figures of pairs of one kind, in percent but for the threshold."""
    _, labels = pooled(of_kind)
    roc = roc_of(of_kind)
    return percent_right(of_kind)._asdict() | {
        "majority": 100 * float(max(labels.mean(), 1 - labels.mean())),
        "roc_auc": math.nan if roc is None else 100 * area_under(roc),
        "eer": math.nan if roc is None else 100 * equal_error_rate(roc),
        "threshold": of_kind[0].threshold,
    }


def roc_of(of_kind: Sequence[Judged]) -> Roc | None:
    """What every threshold would take of pairs of one kind; None where all have one label."""
    cosines, labels = pooled(of_kind)
    return roc_curve(cosines, labels) if 0 < labels.sum() < len(labels) else None


def charts(name: str, judged: Iterable[Judged]) -> list[Chart]:
    """Cosines of paraphrases and others, a panel per kind, and the ROC curve of each kind that has both."""
    kinds = by_kind(judged)
    histogram = Histogram(
        name=f"{name}_cosines",
        title=f"Cosines of pairs: {name}",
        x_label="cosine",
        y_label="pairs",
        line_label="threshold",
        panels=[_panel(kind, of_kind) for kind, of_kind in kinds.items()],
    )
    rocs = {kind: roc for kind, of_kind in kinds.items() if (roc := roc_of(of_kind)) is not None}
    if not rocs:
        return [histogram]
    curve = Curve(
        name=f"{name}_roc",
        title=f"ROC: {name}",
        x_label="false positive rate",
        y_label="true positive rate",
        mark_label="at the threshold",
        lines={kind: _line(roc, kinds[kind][0].threshold) for kind, roc in rocs.items()},
        diagonal="chance",
    )
    return [histogram, curve]


def _panel(kind: str, of_kind: Sequence[Judged]) -> Panel:
    cosines, labels = pooled(of_kind)
    values: Mapping[str, Floats] = {"paraphrases": cosines[labels], "others": cosines[~labels]}
    return Panel(kind, values, of_kind[0].threshold)


def _line(roc: Roc, threshold: float) -> Line:
    x, y = roc.false_positive_rate, roc.true_positive_rate
    shown = np.unique(np.linspace(0, len(x) - 1, min(len(x), CURVE_POINTS)).round().astype(np.int64))
    taken = int((roc.scores >= threshold).sum())  # the point of the threshold
    return Line(x[shown], y[shown], (float(x[taken]), float(y[taken])), f"AUC {100 * area_under(roc):.1f}")
