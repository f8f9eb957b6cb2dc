"""Exact nearest neighbours by inner product of unit vectors, ties in a fixed order."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import NamedTuple

import torch
from torch import Tensor

from xsent.similarity import unit

log = logging.getLogger(__name__)

EXTRA = 8  # candidates beyond k whose scores are computed again in float64
ROWS = 1024  # queries in a tile of the one-pass search
COLUMNS = 8192  # pool rows in it


class Neighbours(NamedTuple):
    """The k nearest pool rows of M queries, best first, equal scores by lowest index."""

    scores: Tensor  # (M, k) float64, cosines
    rows: Tensor  # (M, k) int64, of the pool


def knn(queries: Tensor, pool: Tensor, k: int) -> Neighbours:
    """The k nearest rows of ``pool`` (N, D) for each of ``queries`` (M, D) by cosine.

    ``k`` is at most N. FAISS searches on the CPU, and on a GPU where faiss-gpu is installed; torch does
    otherwise. The result is the same: candidates are scored again in float64 and ordered by
    (-score, index), so it depends neither on the backend nor on k.
    """
    queries, pool = _unit(queries), _unit(pool)
    k = min(k, len(pool))
    found = _candidates(queries, pool, min(k + EXTRA, len(pool)))
    return _rescored(queries, pool, found, k)


def knn_both(x: Tensor, y: Tensor, k: int) -> tuple[Neighbours, Neighbours]:
    """``knn(x, y, k)`` and ``knn(y, x, k)`` of (M, D) and (N, D).

    On a CPU two searches by FAISS are faster than one pass that keeps the best of rows and columns
    (docs/performance.md); elsewhere every product is computed once.
    """
    if not x.is_cuda and _has_faiss():
        return knn(x, y, k), knn(y, x, k)
    x, y = _unit(x), _unit(y)
    k_x, k_y = min(k, len(y)), min(k, len(x))
    found_x, found_y = _one_pass(x, y, min(k_x + EXTRA, len(y)), min(k_y + EXTRA, len(x)))
    return _rescored(x, y, found_x, k_x), _rescored(y, x, found_y, k_y)


def _has_faiss() -> bool:
    return find_spec("faiss") is not None


def _unit(x: Tensor) -> Tensor:
    # A copy: the caller's vectors stay as they are.
    return unit(torch.as_tensor(x).float()).contiguous()


# ---- candidates in float32


def _candidates(queries: Tensor, pool: Tensor, k: int) -> Tensor:
    """(M, k) int64, nearest in float32; ties in any order."""
    if not _has_faiss():
        return _torch_top_k(queries, pool, k)
    import faiss

    on_gpu = queries.is_cuda
    # faiss on a GPU finds at most 2,048 neighbours.
    if on_gpu and (k > 2048 or not hasattr(faiss, "StandardGpuResources")):
        return _torch_top_k(queries, pool, k)
    index: faiss.Index = faiss.IndexFlatIP(pool.size(1))
    if on_gpu:
        index = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), queries.device.index or 0, index)
    index.add(pool.cpu().numpy())
    _, found = index.search(queries.cpu().numpy(), k)
    return torch.from_numpy(found).to(queries.device)


def _torch_top_k(queries: Tensor, pool: Tensor, k: int) -> Tensor:
    # Half a gigabyte of scores at a time.
    rows = max(1, 2**27 // max(1, len(pool)))
    return torch.cat(
        [(queries[start : start + rows] @ pool.T).topk(k, dim=1).indices for start in range(0, len(queries), rows)]
    )


def _one_pass(x: Tensor, y: Tensor, k_x: int, k_y: int) -> tuple[Tensor, Tensor]:
    """Candidates (M, k_x) and (N, k_y) of both directions; every product is computed once."""
    best_x, best_y = _Running(len(x), k_x, x), _Running(len(y), k_y, y)
    buffer = x.new_empty(min(ROWS, len(x)), min(COLUMNS, len(y)))
    for column in range(0, len(y), COLUMNS):
        y_tile = y[column : column + COLUMNS]
        for row in range(0, len(x), ROWS):
            x_tile = x[row : row + ROWS]
            products = buffer.view(-1)[: len(x_tile) * len(y_tile)].view(len(x_tile), len(y_tile))
            torch.mm(x_tile, y_tile.T, out=products)
            best_x.update(products, row, column)
            best_y.update(products.T, column, row)
    return best_x.index, best_y.index


class _Running:
    """The best k columns seen so far of every row of a matrix that comes in tiles."""

    def __init__(self, rows: int, k: int, like: Tensor) -> None:
        self.k = k
        self.scores = like.new_full((rows, k), float("-inf"))
        self.index = torch.zeros(rows, k, dtype=torch.int64, device=like.device)

    def update(self, tile: Tensor, row: int, column: int) -> None:
        """Take in a tile (r, c) whose corner is (row, column)."""
        scores = self.scores[row : row + len(tile)]
        # Most rows of most tiles hold nothing better than what is known: one maximum tells.
        better = (tile.amax(dim=1) > scores[:, -1]).nonzero().squeeze(1)
        if not len(better):
            return
        found = tile[better].topk(min(self.k, tile.size(1)), dim=1)
        all_scores = torch.cat([scores[better], found.values], dim=1)
        all_index = torch.cat([self.index[row + better], found.indices + column], dim=1)
        kept = all_scores.topk(self.k, dim=1)
        self.scores[row + better] = kept.values
        self.index[row + better] = all_index.gather(1, kept.indices)


# ---- the order that is returned


def _rescored(queries: Tensor, pool: Tensor, found: Tensor, k: int) -> Neighbours:
    """The first k of the candidates (M, c) by (-float64 score, index)."""
    scores, index = [], []
    rows = max(1, 2**24 // max(1, found.size(1) * queries.size(1)))  # 128 MB of float64 at a time
    for start in range(0, len(queries), rows):
        q, candidates = queries[start : start + rows].double(), found[start : start + rows]
        candidates = candidates.sort(dim=1).values  # a stable sort by score then keeps the lowest index first
        exact = torch.einsum("md,mcd->mc", q, pool[candidates].double())
        ordered = exact.sort(dim=1, descending=True, stable=True)
        scores.append(ordered.values[:, :k])
        index.append(candidates.gather(1, ordered.indices[:, :k]))
        if candidates.size(1) < len(pool):
            # A tie may run past the candidates: then only the whole row knows the lowest index.
            last = ordered.values[:, -1]
            open_ended = ((ordered.values[:, k - 1] - last) <= 1e-6).nonzero().squeeze(1)
            for row in open_ended.tolist():
                whole = _row_scores(pool, q[row]).sort(descending=True, stable=True)
                scores[-1][row] = whole.values[:k]
                index[-1][row] = whole.indices[:k]
    if not scores:
        return Neighbours(queries.new_zeros(0, k).double(), found.new_zeros(0, k))
    return Neighbours(torch.cat(scores), torch.cat(index))


def _row_scores(pool: Tensor, query: Tensor) -> Tensor:
    return torch.cat([pool[start : start + 2**16].double() @ query for start in range(0, len(pool), 2**16)])
