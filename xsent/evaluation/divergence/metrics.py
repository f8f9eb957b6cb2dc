"""Metrics of equivalence and divergence: of sentence pairs, and of pairs by their divergent words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from xsent.evaluation.statistics.items import PERCENT, Items
from xsent.evaluation.statistics.thresholds import Bools, Floats, area_under, best_point, roc_curve


class Rates(NamedTuple):
    """Precision, recall and F1 of a class, percent."""

    precision: float
    recall: float
    f1: float


def rates(predicted: Bools, true: Bools) -> Rates:
    """Precision, recall and F1 of the class ``true`` (N,); 0 without hits, as in scikit-learn.

    NaN if the class has neither members nor predictions.
    """
    hits, named, members = int((predicted & true).sum()), int(predicted.sum()), int(true.sum())
    if not named and not members:
        return Rates(math.nan, math.nan, math.nan)
    shares = (hits / named if named else 0.0, hits / members if members else 0.0, 2 * hits / (named + members))
    return Rates(*(100 * share for share in shares))


def weighted(predicted: Bools, true: Bools) -> Rates:
    """Mean over both classes, weighted by their shares of the pairs (scikit-learn's ``weighted``); N >= 1."""
    share = float(true.mean())
    classes = [(share, rates(predicted, true)), (1 - share, rates(~predicted, ~true))]
    # A class without members has weight 0 and may be NaN.
    return Rates(*(sum(weight * of_class[i] for weight, of_class in classes if weight) for i in range(3)))


def sentence_metrics(predicted: Bools, equivalent: Bools) -> dict[str, float]:
    """Percent: precision, recall and F1 of equivalent and of divergent pairs, and weighted by their shares.

    Args:
        predicted, equivalent: (N,), pairs classified as equivalent, and pairs that are.

    Source:
        Briakou & Carpuat 2020 (arXiv:2010.03662), Table 3.
    """
    classes = {"equivalent": rates(predicted, equivalent), "divergent": rates(~predicted, ~equivalent)}
    metrics = {
        f"{name}_{label}": value for label, of_class in classes.items() for name, value in of_class._asdict().items()
    }
    return metrics | weighted(predicted, equivalent)._asdict()


def sentence_items(predicted: Bools, equivalent: Bools) -> dict[str, Items]:
    """Items of ``sentence_metrics``."""
    items: dict[str, Items] = {}
    for label, guess, truth in (("equivalent", predicted, equivalent), ("divergent", ~predicted, ~equivalent)):
        hits, named, members = (values.astype(np.float64) for values in (guess & truth, guess, truth))
        parts = {"precision": (hits, named), "recall": (hits, members), "f1": (2 * hits, named + members)}
        items |= {f"{name}_{label}": Items.of("ratio", *part, scale=PERCENT) for name, part in parts.items()}
    items["recall"] = Items.percentage(predicted == equivalent)  # weighted by the shares of the classes: the accuracy
    for name in ("precision", "f1"):
        items[name] = Items.of(f"weighted_{name}", predicted, equivalent, scale=PERCENT)
    return items


class Calibrated(NamedTuple):
    """A calibrated threshold."""

    threshold: float  # pairs with a higher score are equivalent
    f1: float  # weighted, percent, on these pairs


def calibrate(scores: Floats, equivalent: Bools, *, balanced: bool = False) -> Calibrated:
    """The threshold with the best weighted F1; of equally good thresholds the highest.

    It is halfway between neighbouring scores. Classifying all pairs alike is chosen only if it is better than every
    threshold between two scores.

    Args:
        scores: (N,), higher means more likely equivalent.
        equivalent: (N,).
        balanced: weigh both classes equally, whatever their sizes.

    Raises:
        ValueError: there is only one class, or a score is NaN.
    """
    roc = roc_curve(scores, equivalent)
    hits, wrong = roc.positives, roc.negatives  # (K + 1,)
    members, negatives = int(hits[-1]), int(wrong[-1])
    if balanced:  # each pair has as weight the size of the other class
        hits, wrong = hits * negatives, wrong * members
        members = negatives = members * negatives
    accepted = hits + wrong
    yes = 2 * hits / (accepted + members)
    no = 2 * (negatives - wrong) / (members + negatives - accepted + negatives)
    f1: Floats = (members * yes + negatives * no) / (members + negatives)
    best = best_point(f1)
    return Calibrated(_threshold_below(roc.scores, best), 100 * float(f1[best]))


def _threshold_below(scores: Floats, count: int) -> float:
    """A threshold below exactly ``count`` of the distinct scores, which are descending."""
    if count == 0:
        return float(scores[0])
    lowest = float(scores[count - 1])
    if count == len(scores):
        return lowest - max(1.0, abs(lowest))
    following = float(scores[count])
    middle = (lowest + following) / 2
    return middle if following <= middle < lowest else following  # neighbouring floats have no midpoint


def ranking_metrics(scores: Floats, equivalent: Bools) -> dict[str, float]:
    """``roc_auc`` and ``best_f1``, percent; NaN if there is one class.

    ``best_f1`` is the weighted F1 at the best threshold for these very pairs, which is optimistic.
    """
    if equivalent.all() or not equivalent.any():
        return {"roc_auc": math.nan, "best_f1": math.nan}
    area = area_under(roc_curve(scores, equivalent))
    return {"roc_auc": 100 * area, "best_f1": calibrate(scores, equivalent).f1}


@dataclass(frozen=True)
class PercentRule:
    """Separates two kinds of divergent pairs by their share of divergent words (Table 5).

    Args:
        above: kind of the pairs with more divergent words.
        below: kind of the pairs with fewer.
        percents: thresholds, in percent of the words of both sides.
        strict: a pair at exactly the threshold is ``below``; the paper does not say.
    """

    above: str
    below: str
    percents: Sequence[int]
    strict: bool

    def __call__(self, shares: Floats, kinds: Sequence[str]) -> dict[str, float]:
        """Percent by metric: ``div10_above_precision`` etc., and the weighted ``div10_f1``.

        Args:
            shares: (N,), percent of divergent words of each pair.
            kinds: of the N pairs; others than the two are ignored. If either is absent, there are no metrics.
        """
        if not {self.above, self.below} <= set(kinds):
            return {}
        rows = np.isin(kinds, [self.above, self.below])
        shares, is_above = shares[rows], np.array(kinds)[rows] == self.above
        metrics: dict[str, float] = {}
        for percent in self.percents:
            predicted = shares > percent if self.strict else shares >= percent
            for side, of_side in (("above", rates(predicted, is_above)), ("below", rates(~predicted, ~is_above))):
                metrics |= {f"div{percent}_{side}_{name}": value for name, value in of_side._asdict().items()}
            metrics[f"div{percent}_f1"] = weighted(predicted, is_above).f1
        return metrics
