"""Bitext mining: select pairs from the best partners of both sides, and the best score threshold."""

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xsent.evaluation.search.margin import Best, best_targets
from xsent.evaluation.statistics.thresholds import count_accepted

STRATEGIES = ("forward", "backward", "intersect", "max")


class MinedPairs(NamedTuple):
    """P pairs, best first; equal scores by lowest source, then lowest target."""

    scores: Tensor  # (P,) float64, margin scores
    source: Tensor  # (P,) int64, rows of the source side
    target: Tensor  # (P,) int64, rows of the target side


class Threshold(NamedTuple):
    """Quality of the pairs with a score of at least ``threshold``."""

    threshold: float  # infinity: extract no pair
    precision: float  # shares, 0 to 1
    recall: float
    f1: float


def mine(x: Tensor, y: Tensor, *, margin: str, k: int, strategy: str, threshold: float | None) -> MinedPairs:
    """Mine pairs of ``x`` (M, D) and ``y`` (N, D) by margin score among the k nearest.

    Options and errors as in ``best_targets`` and ``select_pairs``.
    """
    _check_strategy(strategy)
    forward, backward = best_targets(x, y, margin=margin, k=k, candidates="knn")
    return select_pairs(forward, backward, strategy=strategy, threshold=threshold)


def select_pairs(forward: Best, backward: Best, *, strategy: str, threshold: float | None) -> MinedPairs:
    """Pairs from the best target of each source and the best source of each target.

    ``forward`` selects every source with its best target, ``backward`` every target with its best source,
    ``intersect`` the pairs in both. ``max`` pools both, goes from the best score down and accepts a pair if neither
    of its sentences is in an accepted pair.

    Args:
        forward: best target of each of M sources.
        backward: best source of each of N targets.
        threshold: only pairs with a greater score are kept; None keeps all.

    Returns:
        On the CPU; M, N or, for the last two, at most min(M, N) pairs.

    Raises:
        ValueError: an unknown strategy.

    Source:
        Artetxe and Schwenk 2019 (arXiv:1811.01136), section 3.
    """
    _check_strategy(strategy)
    parts = []
    if strategy != "backward":
        scores, target = _arrays(forward)
        source = np.arange(len(scores))
        if strategy == "intersect":
            mutual = _arrays(backward)[1][target] == source
            scores, source, target = scores[mutual], source[mutual], target[mutual]
        parts.append((scores, source, target))
    if strategy in ("backward", "max"):
        scores, source = _arrays(backward)
        parts.append((scores, source, np.arange(len(scores))))
    scores, source, target = (np.concatenate(column) for column in zip(*parts, strict=True))
    if threshold is not None:  # before sorting: removed pairs must not block others
        above = scores > threshold
        scores, source, target = scores[above], source[above], target[above]
    order = np.lexsort((target, source, -scores))
    if strategy == "max":
        order = order[_first_uses(source[order], target[order])]
    return MinedPairs(*(torch.from_numpy(column[order]) for column in (scores, source, target)))


def best_threshold(scores: Tensor, is_gold: Tensor, n_gold: int) -> Threshold:
    """The threshold of the best F1, halfway between the last extracted score and the next lower one.

    It is the lowest score if all pairs are extracted. Pairs with equal scores are extracted together; of equally good
    thresholds the highest is chosen. If no mined pair is gold, the threshold is infinite and the shares are 0.

    Args:
        scores: (P,) of mined pairs, in any order.
        is_gold: (P,) bool, the pair is in the gold set.
        n_gold: size of the gold set, mined or not.

    Raises:
        ValueError: ``n_gold`` is 0.

    Source:
        Zweigenbaum et al. 2018 (BUCC shared task); LASER's bucc.py.
    """
    if not bool(is_gold.any()):
        return at_threshold(scores, is_gold, n_gold, math.inf)
    # Differs from LASER's script where scores are equal: no threshold separates them.
    accepted = count_accepted(scores.double().numpy(force=True), is_gold.numpy(force=True))
    f1 = 2 * accepted.positives[1:] / (accepted.positives[1:] + accepted.negatives[1:] + n_gold)
    return at_threshold(scores, is_gold, n_gold, accepted.threshold(1 + int(np.argmax(f1))))


def at_threshold(scores: Tensor, is_gold: Tensor, n_gold: int, threshold: float) -> Threshold:
    """Precision, recall and F1 of the pairs with a score of at least ``threshold``; see ``best_threshold``."""
    if n_gold < 1:
        raise ValueError(f"expected at least 1 gold pair, found {n_gold}")
    extracted, hits = int((scores >= threshold).sum()), int(((scores >= threshold) & is_gold).sum())
    precision = hits / extracted if extracted else 0.0
    return Threshold(threshold, precision, hits / n_gold, 2 * hits / (extracted + n_gold))


def _check_strategy(strategy: str) -> None:
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy {strategy!r}: expected one of {', '.join(STRATEGIES)}")


def _arrays(best: Best) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return best.scores.numpy(force=True), best.rows.numpy(force=True)


def _first_uses(source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of the pairs whose source and target are in no pair accepted before."""
    # Each decision depends on those before it. A loop over bytes takes a second for two million pairs.
    used_source = bytearray(int(source.max(initial=-1)) + 1)
    used_target = bytearray(int(target.max(initial=-1)) + 1)
    accepted = []
    for position, (i, j) in enumerate(zip(source.tolist(), target.tolist(), strict=True)):
        if not (used_source[i] or used_target[j]):
            used_source[i] = used_target[j] = 1
            accepted.append(position)
    return np.array(accepted, dtype=np.int64)
