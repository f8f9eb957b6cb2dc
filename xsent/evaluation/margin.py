"""Margin scores of Artetxe and Schwenk: how much nearer a candidate is than the neighbourhood."""

from __future__ import annotations

import logging
from typing import NamedTuple

import torch
from torch import Tensor

from xsent.evaluation.search import Neighbours, knn_both
from xsent.similarity import unit

log = logging.getLogger(__name__)

MARGINS = ("absolute", "distance", "ratio")
CANDIDATES = ("knn", "all")


class Best(NamedTuple):
    """For each of M queries the pool row of the best margin score."""

    scores: Tensor  # (M,) float64
    rows: Tensor  # (M,) int64, the lowest on ties
    tied: Tensor  # (M,) bool, another row has the same score


def best_targets(x: Tensor, y: Tensor, *, margin: str, k: int, candidates: str) -> tuple[Best, Best]:
    """The best row of ``y`` (N, D) for each of ``x`` (M, D), and of ``x`` for each of ``y``.

    With S the cosines, A the mean of a row's k largest and B of a column's: ``absolute`` is S_ij,
    ``distance`` S_ij - (A_i + B_j) / 2, ``ratio`` S_ij / ((A_i + B_j) / 2).

    Args:
        x, y: vectors of the two sides.
        margin: ``absolute``, ``distance`` or ``ratio``.
        k: neighbours that are averaged, at most as many as the other side has.
        candidates: who may win, the ``knn`` (as in LASER) or ``all``.

    Raises:
        ValueError: an unknown margin or set of candidates, or an empty side.
    """
    if margin not in MARGINS:
        raise ValueError(f"margin {margin!r}: expected one of {', '.join(MARGINS)}")
    if candidates not in CANDIDATES:
        raise ValueError(f"candidates {candidates!r}: expected one of {', '.join(CANDIDATES)}")
    if not len(x) or not len(y):
        raise ValueError(f"nothing to search: {len(x)} and {len(y)} sentences")
    both = knn_both(x, y, searched_neighbours(k))
    if candidates == "all":
        mean_x, mean_y = mean_cosines(both[0], k), mean_cosines(both[1], k)
        return _best_of_all(x, y, mean_x, mean_y, margin), _best_of_all(y, x, mean_y, mean_x, margin)
    return best_neighbours(*both, margin=margin, k=k)


def searched_neighbours(k: int) -> int:
    """How many neighbours to search so that k can be averaged: two at least, so that a tie of the first shows."""
    return max(k, 2)


def best_neighbours(there: Neighbours, back: Neighbours, *, margin: str, k: int) -> tuple[Best, Best]:
    """``best_targets`` from neighbours that were searched before; they are the ones that may win.

    Args:
        there: of the M rows of ``x``, ``searched_neighbours(k)`` each, or as many as there are. A row that
            has none (-1) gets score -inf, and row 0 of the other side stands in its place.
        back: of the N rows of ``y``, likewise.
        margin, k: as in ``best_targets``.
    """
    mean_x, mean_y = mean_cosines(there, k), mean_cosines(back, k)
    return _best_of_knn(there, mean_x, mean_y, margin, k), _best_of_knn(back, mean_y, mean_x, margin, k)


def mean_cosines(found: Neighbours, k: int) -> Tensor:
    """Mean cosine (M,) of the k nearest, or of those that were found; 0 where none was."""
    scores, there = found.scores[:, :k], found.rows[:, :k] >= 0
    return scores.masked_fill(~there, 0).sum(dim=1) / there.sum(dim=1).clamp(min=1)


def margin_scores(cosines: Tensor, own_mean: Tensor, other_mean: Tensor, margin: str) -> Tensor:
    """Margin scores of cosines, given the mean k-neighbour cosines of both sides, broadcast together."""
    if margin == "absolute":
        return cosines
    neighbourhood = (own_mean + other_mean) / 2
    if margin == "distance":
        return cosines - neighbourhood
    # A neighbourhood at or below 0 would turn the order around: such a pair scores by distance,
    # shifted by 1 so that "as near as the neighbourhood" is 1 for both.
    positive = neighbourhood > 0
    if not bool(positive.all()):
        log.warning("%d pairs have a neighbourhood at or below 0: scored by distance", int((~positive).sum()))
    return torch.where(positive, cosines / neighbourhood.clamp(min=1e-12), 1 + cosines - neighbourhood)


def _best_of_knn(found: Neighbours, own: Tensor, other: Tensor, margin: str, k: int) -> Best:
    # `absolute` has the first neighbour win whatever k; a tie with the second is seen beside it.
    width = found.scores.size(1) if margin == "absolute" else min(k, found.scores.size(1))
    cosines, rows = found.scores[:, :width], found.rows[:, :width].clamp(min=0)  # (M, k)
    scores = margin_scores(cosines, own[:, None], other[rows], margin)
    return _best(scores, rows)


def _best_of_all(x: Tensor, y: Tensor, own: Tensor, other: Tensor, margin: str) -> Best:
    queries, pool = unit(x.float()).double(), unit(y.float()).double()
    index = torch.arange(len(pool), device=pool.device)
    parts = []
    for start in range(0, len(queries), 512):
        chunk = slice(start, start + 512)
        scores = margin_scores(queries[chunk] @ pool.T, own[chunk, None], other[None, :], margin)
        parts.append(_best(scores, index.expand_as(scores)))
    return Best(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _best(scores: Tensor, index: Tensor) -> Best:
    best = scores.amax(dim=1)
    is_best = scores == best[:, None]
    lowest = torch.where(is_best, index, torch.iinfo(torch.int64).max).amin(dim=1)
    return Best(best, lowest, is_best.sum(dim=1) > 1)
