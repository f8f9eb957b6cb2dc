"""How right judgements of equivalence and divergence are: of sentence pairs, of words, and of pairs by their words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xsent.evaluation.thresholds import Bools, Floats, Roc, area_under, roc_curve

Ints = NDArray[np.int64]


class Rates(NamedTuple):
    """Of one class, percent."""

    precision: float
    recall: float
    f1: float


def rates(said: Bools, true: Bools) -> Rates:
    """How well ``said`` (N,) names the members of a class, ``true`` (N,); 0 where nothing is right, as in scikit-learn.

    A class that neither has has NaN.
    """
    hits, named, members = int((said & true).sum()), int(said.sum()), int(true.sum())
    if not named and not members:
        return Rates(math.nan, math.nan, math.nan)
    shares = (hits / named if named else 0.0, hits / members if members else 0.0, 2 * hits / (named + members))
    return Rates(*(100 * share for share in shares))


def weighted(said: Bools, true: Bools) -> Rates:
    """Both classes, each weighted by its share of the pairs (scikit-learn's ``weighted``); N >= 1."""
    yes, no = rates(said, true), rates(~said, ~true)
    share = float(true.mean())
    parts = [(share, yes), (1 - share, no)]
    # A class without members has no weight, whatever its figures.
    return Rates(*(sum(part * found[i] for part, found in parts if part) for i in range(3)))


def sentence_figures(said: Bools, equivalent: Bools) -> dict[str, float]:
    """Percent: precision, recall and F1 of the equivalent and of the divergent pairs, and weighted by their shares.

    Args:
        said: (N,), which pairs are called equivalent.
        equivalent: (N,), which are.

    Source:
        Briakou & Carpuat 2020 (arXiv:2010.03662), Table 3.
    """
    classes = {"equivalent": rates(said, equivalent), "divergent": rates(~said, ~equivalent)}
    figures = {f"{name}_{label}": value for label, found in classes.items() for name, value in found._asdict().items()}
    return figures | weighted(said, equivalent)._asdict()


# ---- thresholds


class Calibrated(NamedTuple):
    """The threshold of the best weighted F1 on some pairs."""

    threshold: float  # a pair is equivalent when its score is above it
    f1: float  # weighted, percent, on these pairs


def calibrate(scores: Floats, equivalent: Bools, *, balanced: bool = False) -> Calibrated:
    """The threshold of the best weighted F1; of equally good ones the highest.

    It lies halfway between neighbouring scores. To call none equivalent, or all, must be better than every threshold
    between two scores.

    Args:
        scores: (N,), the higher, the more likely equivalent.
        equivalent: (N,).
        balanced: both classes weigh the same, however many pairs they have: F1 is what as many of each would give.

    Raises:
        ValueError: as in ``roc_curve``: both classes must be there, and no score may be NaN.
    """
    roc = roc_curve(scores, equivalent)
    f1 = _weighted_f1(roc, balanced)
    # Point 0, which takes nothing, comes last: argmax gives the first of the best.
    best = (int(np.argmax(np.append(f1[1:], f1[0]))) + 1) % len(f1)
    return Calibrated(_above(roc.scores, best), 100 * float(f1[best]))


def _weighted_f1(roc: Roc, balanced: bool) -> Floats:
    """(K + 1,), shares, of taking the pairs of each point as equivalent."""
    members, others = int(roc.positives[-1]), int(roc.negatives[-1])
    hits, wrong = roc.positives, roc.negatives
    if balanced:  # each pair counts as often as the other class has pairs
        hits, wrong, members, others = hits * others, wrong * members, members * others, members * others
    taken = hits + wrong
    yes = 2 * hits / (taken + members)
    no = 2 * (others - wrong) / (members + others - taken + others)
    found: Floats = (members * yes + others * no) / (members + others)
    return found


def _above(scores: Floats, taken: int) -> float:
    """A threshold that exactly the ``taken`` highest of distinct scores, descending, are above."""
    if taken == 0:
        return float(scores[0])
    lowest = float(scores[taken - 1])
    if taken == len(scores):
        return lowest - max(1.0, abs(lowest))
    following = float(scores[taken])
    middle = (lowest + following) / 2
    return middle if following <= middle < lowest else following  # between neighbouring floats there is no middle


def ranking_figures(scores: Floats, equivalent: Bools) -> dict[str, float]:
    """What needs no threshold, percent: ``roc_auc``, and ``best_f1``, weighted, at the best threshold for these pairs.

    ``best_f1`` is optimistic: its threshold is chosen on the pairs it is measured on. NaN where there is one class.
    """
    if equivalent.all() or not equivalent.any():
        return {"roc_auc": math.nan, "best_f1": math.nan}
    return {
        "roc_auc": 100 * area_under(roc_curve(scores, equivalent)),
        "best_f1": calibrate(scores, equivalent).f1,
    }


# ---- words


def levels(annotators: int) -> dict[str, int]:
    """By name, how many annotators have to highlight a word to make it divergent; of one there is ``union`` alone."""
    found = {"union": 1, "pairwise_union": 2, "intersection": annotators}
    return found if annotators > 1 else {"union": 1}


def word_figures(divergent: Bools, highlighted: Ints, least: int) -> dict[str, float]:
    """Percent: F1 of the divergent and of the equivalent words, all words pooled, and the product of the two.

    Args:
        divergent: (N,), which words are called divergent.
        highlighted: (N,), by how many annotators each is highlighted.
        least: so many make a word divergent.

    Source:
        Briakou & Carpuat 2020, Table 4, which has shares in place of percent.
    """
    truth = highlighted >= least
    return _named(rates(divergent, truth).f1, rates(~divergent, ~truth).f1)


def coin_figures(highlighted: Ints, least: int) -> dict[str, float]:
    """``word_figures`` of a fair coin: the F1 of its expected precision (the share of the class) and recall (1/2)."""
    share = float((highlighted >= least).mean())
    return _named(*(100 * part / (part + 0.5) for part in (share, 1 - share)))


def _named(divergent: float, equivalent: float) -> dict[str, float]:
    return {"f1_div": divergent, "f1_eq": equivalent, "f1_mul": divergent * equivalent / 100}


# ---- pairs by their words


@dataclass(frozen=True)
class PercentRule:
    """Two kinds of divergent pairs told apart by how many of their words diverge (Table 5).

    Args:
        above: kind of the pairs with more divergent words.
        below: kind of the pairs with fewer.
        percents: of the words of both sides, each a threshold of its own.
        strict: whether a pair at the very percent is ``below``; the paper does not say.
    """

    above: str
    below: str
    percents: Sequence[int]
    strict: bool

    def __call__(self, shares: Floats, is_above: Bools) -> dict[str, float]:
        """By metric, percent: ``div10_above_precision`` and so on, and ``div10_f1``, weighted.

        Args:
            shares: (N,), percent of each pair's words that diverge.
            is_above: (N,), which pairs are of kind ``above``.
        """
        found: dict[str, float] = {}
        for percent in self.percents:
            said = shares > percent if self.strict else shares >= percent
            for kind, of_kind in (("above", rates(said, is_above)), ("below", rates(~said, ~is_above))):
                found |= {f"div{percent}_{kind}_{name}": value for name, value in of_kind._asdict().items()}
            found[f"div{percent}_f1"] = weighted(said, is_above).f1
        return found


def percent_divergent(sides: Iterable[Bools]) -> float:
    """Percent of the words of a pair that are called divergent, both sides pooled; 0 without words."""
    words = np.concatenate(list(sides))
    return 100 * float(words.mean()) if len(words) else 0.0
