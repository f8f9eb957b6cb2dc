"""Metrics of equivalence and divergence: of sentence pairs, of words, and of pairs by their divergent words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xsent.evaluation.statistics.thresholds import Bools, Floats, Roc, area_under, roc_curve

Ints = NDArray[np.int64]


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
        predicted: (N,), pairs classified as equivalent.
        equivalent: (N,), equivalent pairs.

    Source:
        Briakou & Carpuat 2020 (arXiv:2010.03662), Table 3.
    """
    classes = {"equivalent": rates(predicted, equivalent), "divergent": rates(~predicted, ~equivalent)}
    metrics = {
        f"{name}_{label}": value for label, of_class in classes.items() for name, value in of_class._asdict().items()
    }
    return metrics | weighted(predicted, equivalent)._asdict()


# ---- thresholds


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
    f1 = _weighted_f1(roc, balanced)
    # Point 0, which accepts nothing, comes last: argmax returns the first of the best.
    best = (int(np.argmax(np.append(f1[1:], f1[0]))) + 1) % len(f1)
    return Calibrated(_above(roc.scores, best), 100 * float(f1[best]))


def _weighted_f1(roc: Roc, balanced: bool) -> Floats:
    """(K + 1,), weighted F1 of each point as a share."""
    members, negatives = int(roc.positives[-1]), int(roc.negatives[-1])
    hits, wrong = roc.positives, roc.negatives
    if balanced:  # each pair has as weight the size of the other class
        hits, wrong = hits * negatives, wrong * members
        members = negatives = members * negatives
    accepted = hits + wrong
    yes = 2 * hits / (accepted + members)
    no = 2 * (negatives - wrong) / (members + negatives - accepted + negatives)
    f1: Floats = (members * yes + negatives * no) / (members + negatives)
    return f1


def _above(scores: Floats, count: int) -> float:
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
    return {
        "roc_auc": 100 * area_under(roc_curve(scores, equivalent)),
        "best_f1": calibrate(scores, equivalent).f1,
    }


# ---- words


def highlight_levels(annotators: int) -> dict[str, int]:
    """Number of annotators that must highlight a divergent word, by name of the level; ``union`` alone for one."""
    return {"union": 1, "pairwise_union": 2, "intersection": annotators} if annotators > 1 else {"union": 1}


def word_metrics(predicted: Bools, highlighted: Ints, minimum: int) -> dict[str, float]:
    """Percent: F1 of the divergent and of the equivalent words, all words pooled, and the product of the two.

    Args:
        predicted: (N,), words predicted as divergent.
        highlighted: (N,), number of annotators that highlighted each word.
        minimum: number of annotators that makes a word divergent.

    Source:
        Briakou & Carpuat 2020, Table 4, which has shares instead of percent.
    """
    truth = highlighted >= minimum
    return _word_f1(rates(predicted, truth).f1, rates(~predicted, ~truth).f1)


def coin_metrics(highlighted: Ints, minimum: int) -> dict[str, float]:
    """``word_metrics`` of a coin flip: the F1 of its expected precision (the share of the class) and recall (1/2)."""
    share = float((highlighted >= minimum).mean())
    return _word_f1(*(100 * part / (part + 0.5) for part in (share, 1 - share)))


def _word_f1(divergent: float, equivalent: float) -> dict[str, float]:
    return {"f1_div": divergent, "f1_eq": equivalent, "f1_mul": divergent * equivalent / 100}


# ---- pairs by their words


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

    def __call__(self, shares: Floats, is_above: Bools) -> dict[str, float]:
        """Percent by metric: ``div10_above_precision`` etc., and the weighted ``div10_f1``.

        Args:
            shares: (N,), percent of divergent words of each pair.
            is_above: (N,), pairs of kind ``above``.
        """
        metrics: dict[str, float] = {}
        for percent in self.percents:
            predicted = shares > percent if self.strict else shares >= percent
            for kind, of_kind in (("above", rates(predicted, is_above)), ("below", rates(~predicted, ~is_above))):
                metrics |= {f"div{percent}_{kind}_{name}": value for name, value in of_kind._asdict().items()}
            metrics[f"div{percent}_f1"] = weighted(predicted, is_above).f1
        return metrics


def percent_divergent(sides: Iterable[Bools]) -> float:
    """Percent of the words of a pair that are predicted as divergent, both sides pooled; 0 without words."""
    words = np.concatenate(list(sides))
    return 100 * float(words.mean()) if len(words) else 0.0
