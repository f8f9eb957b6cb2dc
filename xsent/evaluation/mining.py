"""Bitext mining: which sentences of two collections translate each other, and from what score on to believe it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xsent.evaluation.margin import Best, best_targets

STRATEGIES = ("forward", "backward", "intersect", "max")


class MinedPairs(NamedTuple):
    """P pairs, best first; equal scores by lowest source, then lowest target."""

    scores: Tensor  # (P,) float64, margin scores
    source: Tensor  # (P,) int64, rows of the source side
    target: Tensor  # (P,) int64, rows of the target side


class Threshold(NamedTuple):
    """What is found when pairs of at least ``threshold`` are extracted."""

    threshold: float  # infinity: no pair is worth extracting
    precision: float  # shares, 0 to 1
    recall: float
    f1: float


def mine(x: Tensor, y: Tensor, *, margin: str, k: int, strategy: str, threshold: float | None) -> MinedPairs:
    """Pairs of ``x`` (M, D) and ``y`` (N, D) that are each other's best by margin score.

    Args:
        x, y: vectors of the source and the target side.
        margin, k: as in ``best_targets``; the k nearest may win.
        strategy, threshold: as in ``select_pairs``.

    Raises:
        ValueError: an unknown margin or strategy, or an empty side.
    """
    _check_strategy(strategy)
    forward, backward = best_targets(x, y, margin=margin, k=k, candidates="knn")
    return select_pairs(forward, backward, strategy=strategy, threshold=threshold)


def select_pairs(forward: Best, backward: Best, *, strategy: str, threshold: float | None) -> MinedPairs:
    """Pairs from the best target of each source and the best source of each target.

    ``forward`` takes every source with its best target, ``backward`` every target with its best source,
    ``intersect`` the pairs that are in both. ``max`` pools both, goes through them from the best score
    down and accepts a pair when neither of its sentences is in an accepted one.

    Args:
        forward: of the M sources, rows of targets.
        backward: of the N targets, rows of sources.
        strategy: ``forward``, ``backward``, ``intersect`` or ``max``.
        threshold: a pair is kept when its score is greater; None keeps all.

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
    if threshold is not None:  # before sorting: what is left out has no say in what is better
        kept = scores > threshold
        scores, source, target = scores[kept], source[kept], target[kept]
    order = np.lexsort((target, source, -scores))
    if strategy == "max":
        order = order[_first_uses(source[order], target[order])]
    return MinedPairs(*(torch.from_numpy(column[order]) for column in (scores, source, target)))


def best_threshold(scores: Tensor, is_gold: Tensor, n_gold: int) -> Threshold:
    """The threshold of the best F1, halfway between the last pair it takes and the first it leaves.

    Where all pairs are taken it is the last score. Pairs of one score are taken together, as any threshold
    must; of equally good ones the highest wins. Without a single gold pair among those mined the threshold
    is infinite and the shares are 0.

    Args:
        scores: (P,) of mined pairs, in any order.
        is_gold: (P,) bool, the pair is in the gold set.
        n_gold: size of the gold set, found or not.

    Raises:
        ValueError: there is no gold pair to be found.

    Source:
        Zweigenbaum et al. 2018 (BUCC shared task); LASER's bucc.py.
    """
    ordered = scores.double().sort(descending=True, stable=True)
    values, hits = ordered.values.numpy(force=True), is_gold[ordered.indices].cumsum(0).numpy(force=True)
    _check_gold(n_gold)
    if not len(values) or not hits[-1]:
        return Threshold(math.inf, 0.0, 0.0, 0.0)
    # Differs from LASER's script where scores are equal: a prefix that ends among them cannot be extracted.
    ends = np.append(np.flatnonzero(values[:-1] > values[1:]), len(values) - 1)
    best = ends[np.argmax(2 * hits[ends] / (ends + 1 + n_gold))]
    following = values[min(best + 1, len(values) - 1)]
    middle = (values[best] + following) / 2
    # Between neighbouring floats there is no middle.
    threshold = float(middle if middle > following else values[best])
    return at_threshold(scores, is_gold, n_gold, threshold)


def at_threshold(scores: Tensor, is_gold: Tensor, n_gold: int, threshold: float) -> Threshold:
    """Precision, recall and F1 of the pairs whose score is at least ``threshold``; arguments as above."""
    _check_gold(n_gold)
    taken = scores >= threshold
    extracted, hits = int(taken.sum()), int((taken & is_gold).sum())
    precision = hits / extracted if extracted else 0.0
    return Threshold(threshold, precision, hits / n_gold, 2 * hits / (extracted + n_gold))


def _check_strategy(strategy: str) -> None:
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy {strategy!r}: expected one of {', '.join(STRATEGIES)}")


def _check_gold(n_gold: int) -> None:
    if n_gold < 1:
        raise ValueError(f"expected at least 1 gold pair, found {n_gold}")


def _arrays(best: Best) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return best.scores.numpy(force=True), best.rows.numpy(force=True)


def _first_uses(source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of the pairs, in their order, whose source and target are in no pair accepted before."""
    # Each decision hangs on those before it. A loop over bytes takes a second for two million pairs.
    used_source = bytearray(int(source.max(initial=-1)) + 1)
    used_target = bytearray(int(target.max(initial=-1)) + 1)
    accepted = []
    for position, (i, j) in enumerate(zip(source.tolist(), target.tolist(), strict=True)):
        if not (used_source[i] or used_target[j]):
            used_source[i] = used_target[j] = 1
            accepted.append(position)
    return np.array(accepted, dtype=np.int64)
