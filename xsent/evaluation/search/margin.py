"""Margin scores (Artetxe and Schwenk 2019): cosine of a pair relative to the neighbourhoods of both sentences."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from xsent.config_checks import check_choice, check_integer
from xsent.evaluation.evaluator import number_texts
from xsent.evaluation.search.exact import Neighbours, knn, knn_both
from xsent.evaluation.statistics.thresholds import Floats
from xsent.similarity import unit

log = logging.getLogger(__name__)

MARGINS = ("absolute", "distance", "ratio")
CANDIDATES = ("knn", "all")
CHUNK = 512  # rows whose float64 copies fit the cache


class Best(NamedTuple):
    """The pool row with the best margin score, for each of M queries."""

    scores: Tensor  # (M,) float64
    rows: Tensor  # (M,) int64, the lowest on ties
    tied: Tensor  # (M,) bool, another row has the same score


@dataclass(frozen=True)
class Answers:
    """Answers to M queries in a pool of N rows."""

    best: Best
    options: Neighbours  # margin scores and rows (M, c) of the best wrong answers and maybe the right one
    queries: Tensor  # (M, D)
    pool: Tensor  # (N, D)
    means: tuple[Tensor, Tensor]  # (M,) and (N,), mean cosines of both sides' neighbours
    margin: str

    def gaps(self, texts: Sequence[str] | None = None) -> Floats:
        """Margin gap (M,): score of the right answer, row i for query i, minus that of the best wrong one.

        Scores are those of the search: cosines if the margin is ``absolute``. The best wrong answer is one of the
        candidates; the right answer need not be. NaN where no answer is wrong.

        Args:
            texts: of the pool (N,); rows with the text of the right one are not wrong. None: all other rows are wrong.
        """
        count, device = len(self.queries), self.queries.device
        numbers = range(len(self.pool)) if texts is None else list(map(number_texts(texts).__getitem__, texts))
        text_of = torch.tensor(numbers, device=device)
        right = text_of[:count]
        is_right = text_of[self.options.rows] == right[:, None]
        scores = self.options.scores.masked_fill(~is_right, -torch.inf).amax(dim=1)
        for rows in torch.split(scores.isinf().nonzero().flatten(), CHUNK):  # the right answer is no candidate
            sides = (unit(side[rows].float()).double() for side in (self.queries, self.pool))
            cosines = torch.linalg.vecdot(*sides)
            scores[rows] = _scores(cosines, self.means[0][rows], self.means[1][rows], self.margin)
        wrong = self.options.scores.masked_fill(is_right, -torch.inf).amax(dim=1)
        for row in wrong.isinf().nonzero().flatten().tolist():  # all candidates have the text of the right answer
            others = (text_of != right[row]).nonzero().flatten()
            if len(others):
                products = unit(self.pool[others].float()).double() @ unit(self.queries[row].float()).double()
                wrong[row] = _scores(products, self.means[0][row], self.means[1][others], self.margin).max()
        gaps: Floats = (scores - wrong).masked_fill(wrong.isinf(), torch.nan).numpy(force=True)
        return gaps


@dataclass(frozen=True)
class MarginSearch:
    """``best_targets`` with the options of an evaluator.

    Raises:
        ValueError: an unknown margin or set of candidates, or no neighbour.
    """

    margin: str
    k: int
    candidates: str

    def __post_init__(self) -> None:
        check_choice("evaluator.margin", self.margin, MARGINS)
        check_choice("evaluator.candidates", self.candidates, CANDIDATES)
        check_integer("evaluator.k", self.k, minimum=1)

    def __call__(self, x: Tensor, y: Tensor) -> tuple[Answers, Answers]:
        """Answers of both directions, as of ``answers``."""
        return answers(x, y, margin=self.margin, k=self.k, candidates=self.candidates)

    def conditions(self, pool: int) -> dict[str, object]:
        """The options as details of a measurement in a pool of this size."""
        return {"margin": self.margin, "k": self.k, "k_used": min(self.k, pool), "candidates": self.candidates}


def best_targets(x: Tensor, y: Tensor, *, margin: str, k: int, candidates: str) -> tuple[Best, Best]:
    """The best row of ``y`` (N, D) for each row of ``x`` (M, D), and the best row of ``x`` for each row of ``y``.

    Arguments and errors as of ``answers``.
    """
    forward, backward = answers(x, y, margin=margin, k=k, candidates=candidates)
    return forward.best, backward.best


def answers(x: Tensor, y: Tensor, *, margin: str, k: int, candidates: str) -> tuple[Answers, Answers]:
    """Answers to each row of ``x`` (M, D) in ``y`` (N, D), and to each row of ``y`` in ``x``.

    With S the cosines, A the mean of a row's k largest and B of a column's: ``absolute`` is S_ij, ``distance``
    S_ij - (A_i + B_j) / 2, ``ratio`` S_ij / ((A_i + B_j) / 2).

    Args:
        k: number of neighbours to average; if the other side is smaller, all of it.
        candidates: possible answers, the k nearest neighbours (``knn``, as in LASER) or ``all`` rows.

    Raises:
        ValueError: an unknown margin or set of candidates, or an empty side.
    """
    for name, value, choices in (("margin", margin, MARGINS), ("candidates", candidates, CANDIDATES)):
        if value not in choices:
            raise ValueError(f"{name} {value!r}: expected one of {', '.join(choices)}")
    if not len(x) or not len(y):
        raise ValueError(f"nothing to search: {len(x)} and {len(y)} sentences")
    both = knn_both(x, y, search_width(k))
    mean_x, mean_y = mean_cosines(both[0], k), mean_cosines(both[1], k)
    sides = (x, y, mean_x, mean_y), (y, x, mean_y, mean_x)
    if candidates == "all":
        ranked = [_best_of_all(*side, margin) for side in sides]
    else:
        ranked = [_best_of_knn(near, *side[2:], margin, k) for near, side in zip(both, sides, strict=True)]
    forward, backward = (
        Answers(best, options, queries, pool, (query_mean, pool_mean), margin)
        for (best, options), (queries, pool, query_mean, pool_mean) in zip(ranked, sides, strict=True)
    )
    return forward, backward


def search_width(k: int) -> int:
    """Number of neighbours to search in order to average k: at least two, to detect ties of the first."""
    return max(k, 2)


def best_neighbours(forward: Neighbours, backward: Neighbours, *, margin: str, k: int) -> tuple[Best, Best]:
    """``best_targets`` among neighbours that were searched before.

    Args:
        forward: ``search_width(k)`` neighbours, or all, of each of the M rows of ``x``. A row without neighbours (-1)
            gets score -inf and row 0.
        backward: likewise for the N rows of ``y``.
    """
    mean_x, mean_y = mean_cosines(forward, k), mean_cosines(backward, k)
    return _best_of_knn(forward, mean_x, mean_y, margin, k)[0], _best_of_knn(backward, mean_y, mean_x, margin, k)[0]


def pair_margins(
    source: Tensor, target: Tensor, neighbourhood: tuple[Tensor, Tensor], *, margin: str, k: int
) -> Floats:
    """Margin score (P,) of each known pair.

    Args:
        source, target: (P, D), row i of both is a pair.
        neighbourhood: distinct sentences (M, D) and (N, D) of both sides. Neighbours of a source are searched in the
            second, those of a target in the first; a side of a pair that is in it counts as a neighbour.
        margin, k: as in ``best_targets``.

    Source:
        Artetxe & Schwenk 2019 (arXiv:1811.01136), equation 2.
    """
    cosines = torch.linalg.vecdot(unit(source.double()), unit(target.double()))
    source_mean = mean_cosines(knn(source, neighbourhood[1], k), k)
    target_mean = mean_cosines(knn(target, neighbourhood[0], k), k)
    scores: Floats = margin_scores(cosines, source_mean, target_mean, margin).numpy(force=True)
    return scores


def mean_cosines(neighbours: Neighbours, k: int) -> Tensor:
    """Mean cosine (M,) of the k nearest, or of as many as there are; 0 without neighbours."""
    scores, exists = neighbours.scores[:, :k], neighbours.rows[:, :k] >= 0
    return scores.masked_fill(~exists, 0).sum(dim=1) / exists.sum(dim=1).clamp(min=1)


def margin_scores(cosines: Tensor, query_mean: Tensor, pool_mean: Tensor, margin: str) -> Tensor:
    """Margin scores of cosines, given the mean k-neighbour cosines of both sides; all are broadcast."""
    if margin == "ratio" and (count := int((query_mean + pool_mean <= 0).sum())):
        log.warning("%d pairs have a neighbourhood at or below 0: scored by distance", count)
    return _scores(cosines, query_mean, pool_mean, margin)


def _scores(cosines: Tensor, query_mean: Tensor, pool_mean: Tensor, margin: str) -> Tensor:
    if margin == "absolute":
        return cosines
    neighbourhood = (query_mean + pool_mean) / 2
    if margin == "distance":
        return cosines - neighbourhood
    # The ratio reverses the order where the neighbourhood is negative: such a pair scores by distance instead,
    # shifted by 1 so that a pair as near as its neighbourhood has score 1 in both cases.
    positive = neighbourhood > 0
    return torch.where(positive, cosines / neighbourhood.clamp(min=1e-12), 1 + cosines - neighbourhood)


def _best_of_knn(
    neighbours: Neighbours, query_mean: Tensor, pool_mean: Tensor, margin: str, k: int
) -> tuple[Best, Neighbours]:
    # With `absolute` the first neighbour is best whatever k is; the second shows a tie.
    width = neighbours.scores.size(1) if margin == "absolute" else min(k, neighbours.scores.size(1))
    rows = neighbours.rows.clamp(min=0)  # (M, k)
    scores = margin_scores(neighbours.scores, query_mean[:, None], pool_mean[rows], margin)
    return _best(scores[:, :width], rows[:, :width]), Neighbours(scores, rows)


def _best_of_all(x: Tensor, y: Tensor, query_mean: Tensor, pool_mean: Tensor, margin: str) -> tuple[Best, Neighbours]:
    queries, pool = unit(x.float()).double(), unit(y.float()).double()
    index = torch.arange(len(pool), device=pool.device)
    parts = []
    for start in range(0, len(queries), CHUNK):
        chunk = slice(start, start + CHUNK)
        scores = margin_scores(queries[chunk] @ pool.T, query_mean[chunk, None], pool_mean[None, :], margin)
        highest = scores.topk(min(2, len(pool)), dim=1)  # one of them is wrong
        parts.append((*_best(scores, index.expand_as(scores)), highest.values, highest.indices))
    *best, values, rows = (torch.cat(column) for column in zip(*parts, strict=True))
    return Best(*best), Neighbours(values, rows)


def _best(scores: Tensor, index: Tensor) -> Best:
    best = scores.amax(dim=1)
    is_best = scores == best[:, None]
    lowest = torch.where(is_best, index, torch.iinfo(torch.int64).max).amin(dim=1)
    return Best(best, lowest, is_best.sum(dim=1) > 1)
