"""Exact nearest neighbours by inner product of unit vectors, ties in a fixed order."""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

import torch
from torch import Tensor
from tqdm import tqdm

from xsent.distributed import rank
from xsent.similarity import unit

EXTRA = 8  # candidates beyond k whose scores are computed again in float64
SLACK = 1e-5  # more than the rounding of a float32 cosine
TILE = 1024  # rows and columns of a tile of the one-pass search
GROUP = 16  # numbers of a tile whose maximum is looked at first


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
    """``knn(x, y, k)`` and ``knn(y, x, k)`` of (M, D) and (N, D), from one pass over the products."""
    x, y = _unit(x), _unit(y)
    k_x, k_y = min(k, len(y)), min(k, len(x))
    found_x, found_y = _one_pass(x, y, k_x, k_y)
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
    """Candidates (M, c) and (N, c) of both directions; every product is computed once."""
    best_x, best_y = _Running(len(x), len(y), k_x, x), _Running(len(y), len(x), k_y, y)
    buffer = x.new_empty(min(TILE, len(x)) * min(TILE, len(y)))
    starts = range(0, len(y), TILE)
    quiet = rank() > 0
    for column in tqdm(starts, desc="searching", unit_scale=TILE, unit=" rows", delay=2, leave=False, disable=quiet):
        y_tile = y[column : column + TILE]
        for row in range(0, len(x), TILE):
            x_tile = x[row : row + TILE]
            r, c = len(x_tile), len(y_tile)
            products = buffer[: r * c].view(r, c)
            torch.mm(x_tile, y_tile.T, out=products)
            by_row, by_column = (GROUP if size % GROUP == 0 else 1 for size in (c, r))
            rows, columns = products.view(r, by_row, c // by_row), products.view(by_column, r // by_column, c)
            # The maxima before the axes are put in order: the other way round they take forty times as long.
            best_x.update(rows.transpose(1, 2), rows.amax(dim=1), row, column)
            best_y.update(columns.permute(2, 1, 0), columns.amax(dim=0).T, column, row)
    return best_x.index, best_y.index


class _Running:
    """Candidates for the best k columns of every row of a matrix that comes in tiles."""

    def __init__(self, rows: int, columns: int, k: int, like: Tensor) -> None:
        self.k = k
        self.scores = like.new_full((rows, min(k + EXTRA, columns)), float("-inf"))
        self.index = torch.zeros_like(self.scores, dtype=torch.int64)

    def update(self, tile: Tensor, maxima: Tensor, row: int, column: int) -> None:
        """Take in a tile whose corner is (row, column).

        Args:
            tile: (r, n, g): columns j, j + n, j + 2n, ... of a row are the group j.
            maxima: (r, n), of the groups: they tell which are worth a closer look.
        """
        r, n, _ = tile.shape
        known = self.scores[row : row + r]
        if known[:, -1].isinf().any():  # there are too few candidates yet to leave any out
            scores = tile.transpose(1, 2).reshape(r, -1)
            best = scores.topk(min(known.size(1), scores.size(1)), dim=1)
            self._merge(torch.arange(row, row + r, device=tile.device), best.values, best.indices + column)
            return
        reach = known[:, self.k - 1 : self.k] - SLACK  # (r, 1): what is below it is not among the best k
        near, group = (maxima > reach).nonzero(as_tuple=True)
        scores = tile[near, group]  # (f, g)
        which, member = (scores > reach[near]).nonzero(as_tuple=True)
        if not len(which):
            return
        # The numbers that were found, as a row for each row of the tile that has any.
        of_row = torch.bincount(near[which], minlength=r)
        near_rows = of_row.nonzero().squeeze(1)
        count, compact = of_row[near_rows], ((of_row > 0).cumsum(0) - 1)[near[which]]
        place = torch.arange(len(which), device=tile.device) - (count.cumsum(0) - count)[compact]
        new_scores = scores.new_full((len(near_rows), int(count.max())), float("-inf"))
        new_index = torch.zeros_like(new_scores, dtype=torch.int64)
        new_scores[compact, place] = scores[which, member]
        new_index[compact, place] = column + group[which] + n * member
        self._merge(row + near_rows, new_scores, new_index)

    def _merge(self, rows: Tensor, scores: Tensor, index: Tensor) -> None:
        kept = torch.cat([self.scores[rows], scores], dim=1).topk(self.scores.size(1), dim=1)
        self.scores[rows] = kept.values
        self.index[rows] = torch.cat([self.index[rows], index], dim=1).gather(1, kept.indices)


# ---- the order that is returned


def _rescored(queries: Tensor, pool: Tensor, found: Tensor, k: int) -> Neighbours:
    """The first k of the candidates (M, c) by (-float64 score, index)."""
    scores, index = queries.new_empty(len(queries), k, dtype=torch.float64), found.new_empty(len(queries), k)
    # 8 MB of float64 at a time: what stays in the cache is rescored seven times as fast as what does not.
    rows = max(1, 2**20 // max(1, found.size(1) * queries.size(1)))
    for start in range(0, len(queries), rows):
        here = slice(start, start + rows)
        candidates = found[here].sort(dim=1).values  # a stable sort by score then keeps the lowest index first
        exact = torch.einsum("md,mcd->mc", queries[here].double(), pool[candidates].double())
        ordered = exact.sort(dim=1, descending=True, stable=True)
        scores[here], index[here] = ordered.values[:, :k], candidates.gather(1, ordered.indices[:, :k])
        if candidates.size(1) < len(pool):
            # A tie may run past the candidates: then only the whole row knows the lowest index.
            open_ended = ((ordered.values[:, k - 1] - ordered.values[:, -1]) <= 1e-6).nonzero().squeeze(1)
            for row in (start + open_ended).tolist():
                whole = _row_scores(pool, queries[row].double()).sort(descending=True, stable=True)
                scores[row], index[row] = whole.values[:k], whole.indices[:k]
    return Neighbours(scores, index)


def _row_scores(pool: Tensor, query: Tensor) -> Tensor:
    return torch.cat([pool[start : start + 2**16].double() @ query for start in range(0, len(pool), 2**16)])
