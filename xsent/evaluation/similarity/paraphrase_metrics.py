"""Metrics and charts of labelled pairs, from a cosine and a threshold for each."""

import math
from collections.abc import Iterable, Sequence
from statistics import mean
from typing import NamedTuple, Protocol

import numpy as np

from xsent.evaluation.charts import Chart, Curve, Histogram, Line, Panel
from xsent.evaluation.evaluator import Bitext
from xsent.evaluation.statistics.items import PERCENT, Items
from xsent.evaluation.statistics.thresholds import (
    Bools,
    Decisions,
    Floats,
    Roc,
    area_under,
    decision_quality,
    equal_error_rate,
    roc_curve,
)

CURVE_POINTS = 1000  # enough for a picture


class LabelledPairs(Bitext, Protocol):
    """Sentence pairs of one part, kind and language pair."""

    part: str  # "valid", for choosing thresholds, or "test"
    kind: str
    label: list[int]  # 1: same meaning, 0: not


class ClassifiedPairs(NamedTuple):
    """N labelled pairs; a cosine of at least ``threshold`` means paraphrase."""

    pairs: LabelledPairs
    cosines: Floats  # (N,)
    labels: Bools  # (N,)
    threshold: float  # the same for all pairs of a kind


def by_kind(sets: Iterable[ClassifiedPairs]) -> dict[str, list[ClassifiedPairs]]:
    """The sets of each kind, kinds in order of occurrence."""
    kinds: dict[str, list[ClassifiedPairs]] = {}
    for classified in sets:
        kinds.setdefault(classified.pairs.kind, []).append(classified)
    return kinds


def pool(sets: Sequence[ClassifiedPairs]) -> tuple[Floats, Bools]:
    """Cosines and labels of all pairs."""
    return np.concatenate([pairs.cosines for pairs in sets]), np.concatenate([pairs.labels for pairs in sets])


def percent_right(sets: Sequence[ClassifiedPairs]) -> Decisions:
    """Accuracy and F1, in percent, of all pairs, each with the threshold of its kind."""
    positive = np.concatenate([pairs.cosines >= pairs.threshold for pairs in sets])
    return Decisions(*(100 * share for share in decision_quality(positive, pool(sets)[1])))


def mean_percent_right(sets: Iterable[ClassifiedPairs]) -> Decisions:
    """Accuracy and F1, in percent, unweighted means over the kinds."""
    kinds = [percent_right(of_kind) for of_kind in by_kind(sets).values()]
    return Decisions(mean(kind.accuracy for kind in kinds), mean(kind.f1 for kind in kinds))


def decision_items(classified: ClassifiedPairs) -> dict[str, Items]:
    """Items of accuracy and F1 at the threshold, and of ``roc_auc`` and ``eer``."""
    labels, positive = classified.labels, classified.cosines >= classified.threshold
    counts = 2.0 * (positive & labels), positive.astype(np.float64) + labels
    return {
        "accuracy": Items.percentage(positive == labels),
        "f1": Items.of("ratio", *counts, scale=PERCENT),
        **{name: Items.of(name, classified.cosines, labels, scale=PERCENT) for name in ("roc_auc", "eer")},
    }


def kind_metrics(of_kind: Sequence[ClassifiedPairs]) -> dict[str, float]:
    """Metrics of pairs of one kind, in percent except ``threshold``."""
    _, labels = pool(of_kind)
    roc = kind_roc(of_kind)
    return percent_right(of_kind)._asdict() | {
        "majority": 100 * float(max(labels.mean(), 1 - labels.mean())),
        "roc_auc": math.nan if roc is None else 100 * area_under(roc),
        "eer": math.nan if roc is None else 100 * equal_error_rate(roc),
        "threshold": of_kind[0].threshold,
    }


def kind_roc(of_kind: Sequence[ClassifiedPairs]) -> Roc | None:
    """ROC of pairs of one kind; None if all have one label."""
    cosines, labels = pool(of_kind)
    return roc_curve(cosines, labels) if 0 < labels.sum() < len(labels) else None


def charts(name: str, sets: Iterable[ClassifiedPairs]) -> list[Chart]:
    """Histograms of the cosines of paraphrases and others, a panel per kind, and the ROC curve of each kind."""
    kinds = by_kind(sets)
    panels = []
    for kind, of_kind in kinds.items():
        cosines, labels = pool(of_kind)
        values = {"paraphrases": cosines[labels], "others": cosines[~labels]}
        panels.append(Panel(kind, values, of_kind[0].threshold))
    histogram = Histogram(f"{name}_cosines", f"Cosines of pairs: {name}", "cosine", "pairs", "threshold", panels)
    rocs = {kind: roc for kind, of_kind in kinds.items() if (roc := kind_roc(of_kind)) is not None}
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


def _line(roc: Roc, threshold: float) -> Line:
    x, y = roc.rates
    points = np.unique(np.linspace(0, len(x) - 1, min(len(x), CURVE_POINTS)).round().astype(np.int64))
    mark = int((roc.scores >= threshold).sum())  # point of the threshold
    return Line(x[points], y[points], (float(x[mark]), float(y[mark])), f"AUC {100 * area_under(roc):.1f}")
