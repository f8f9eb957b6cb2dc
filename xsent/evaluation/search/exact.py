"""Exact k-nearest-neighbour search by cosine, with deterministic ties."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm import tqdm

from xsent.distributed import rank
from xsent.quantization import dequantise
from xsent.similarity import check_finite, unit

EXTRA = 8  # candidates beyond k that are rescored in float64
SLACK = 1e-5  # above the rounding error of a float32 cosine
TIE = 1e-6  # float32 may order scores differently that differ by less in float64
# Tile of the one-pass search. Top-k selection costs 0.28 of the matrix products with these tiles, 0.44 with 1,024 x
# 1,024; larger tiles no longer fit the cache that the cores share.
ROWS, COLUMNS = 4096, 1024
GROUP = 16  # numbers of a tile with a common maximum, which is compared first


class Neighbours(NamedTuple):
    """The k nearest pool rows of M queries, best first, equal scores by lowest index.

    Approximate search may find fewer: missing neighbours have score -inf and row -1.
    """

    scores: Tensor  # (M, k) float64, cosines
    rows: Tensor  # (M, k) int64, of the pool


class Candidates(NamedTuple):
    """Candidates for the k nearest of M queries, a few more than k, in any order."""

    scores: Tensor  # (M, c) float32, cosines; -inf where there is none
    rows: Tensor  # (M, c) int64, of the pool; -1 where there is none


class Vectors(Protocol):
    """Unit vectors (N, D), such as a tensor or a memory-mapped file."""

    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice | Tensor, /) -> Tensor: ...


def knn(queries: Tensor, pool: Tensor, k: int) -> Neighbours:
    """The k nearest rows of ``pool`` (N, D) for each of ``queries`` (M, D) by cosine, of any precision.

    If ``k`` is above N, it is N. FAISS searches on the CPU, and on a GPU if faiss-gpu is installed; otherwise torch.
    Candidates are rescored in float64 and ordered by (-score, index), so the result does not depend on the backend.
    """
    queries, pool = _unit(queries), _unit(pool)
    k = min(k, len(pool))
    return rescore(queries, pool, _candidates(queries, pool, min(k + EXTRA, len(pool))), k)


def knn_both(x: Tensor, y: Tensor, k: int) -> tuple[Neighbours, Neighbours]:
    """``knn(x, y, k)`` and ``knn(y, x, k)`` of (M, D) and (N, D); every product is computed once."""
    x, y = _unit(x), _unit(y)
    k_x, k_y = min(k, len(y)), min(k, len(x))
    best_x, best_y = collect_candidates(x, y, k_x, k_y)
    return rescore(x, y, best_x.rows, k_x), rescore(y, x, best_y.rows, k_y)


def _has_faiss() -> bool:
    return find_spec("faiss") is not None


def _unit(x: Tensor) -> Tensor:
    x = dequantise(torch.as_tensor(x))
    check_finite(x, "search")
    return unit(x).contiguous()


# ---- candidates in float32


def _candidates(queries: Tensor, pool: Tensor, k: int) -> Tensor:
    """(M, k) int64, nearest in float32; ties in any order."""
    if not _has_faiss():
        return _torch_top_k(queries, pool, k)
    import faiss

    on_gpu = queries.is_cuda
    # FAISS on a GPU finds at most 2,048 neighbours.
    if on_gpu and (k > 2048 or not hasattr(faiss, "StandardGpuResources")):
        return _torch_top_k(queries, pool, k)
    index: faiss.Index = faiss.IndexFlatIP(pool.size(1))
    if on_gpu:
        index = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), queries.device.index or 0, index)
    index.add(pool.cpu().numpy())
    _, rows = index.search(queries.cpu().numpy(), k)
    return torch.from_numpy(rows).to(queries.device)


def _torch_top_k(queries: Tensor, pool: Tensor, k: int) -> Tensor:
    # Half a gigabyte of scores at a time.
    rows = max(1, 2**27 // max(1, len(pool)))
    return torch.cat(
        [(queries[start : start + rows] @ pool.T).topk(k, dim=1).indices for start in range(0, len(queries), rows)]
    )


def collect_candidates(x: Tensor, y: Vectors, k_x: int, k_y: int) -> tuple[Candidates, Candidates]:
    """Candidates in both directions; every product is computed once.

    Args:
        x: (M, D) unit vectors.
        y: (N, D) unit vectors, read tile by tile, each once.
        k_x, k_y: number of neighbours of a row of ``x`` (at most N) and of ``y`` (at most M).
    """
    best_x, best_y = RunningTopK(len(x), len(y), k_x, x), RunningTopK(len(y), len(x), k_y, x)
    buffer = x.new_empty(min(ROWS, len(x)) * min(COLUMNS, len(y)))
    starts = range(0, len(y), COLUMNS)
    quiet = rank() > 0
    for column in tqdm(starts, desc="searching", unit_scale=COLUMNS, unit=" rows", delay=2, leave=False, disable=quiet):
        y_tile = y[column : column + COLUMNS].to(x.device)
        check_finite(y_tile, "search", rows=np.arange(column, column + len(y_tile)))
        columns = torch.arange(column, column + len(y_tile), device=x.device)
        for row in range(0, len(x), ROWS):
            x_tile = x[row : row + ROWS]
            products = buffer[: len(x_tile) * len(y_tile)].view(len(x_tile), len(y_tile))
            torch.mm(x_tile, y_tile.T, out=products)
            update_candidates(products, torch.arange(row, row + len(x_tile), device=x.device), columns, best_x, best_y)
    return best_x.best, best_y.best


def update_candidates(
    products: Tensor, rows: Tensor, columns: Tensor, best_x: RunningTopK, best_y: RunningTopK
) -> None:
    """Update the candidates of both directions with a tile of products (r, c), at these rows and columns."""
    r, c = products.shape
    odd_r, odd_c = -r % GROUP, -c % GROUP
    if odd_r or odd_c:  # padding completes the last groups
        products = F.pad(products, (0, odd_c, 0, odd_r), value=float("-inf"))
    in_rows = products[:r].view(r, GROUP, -1)
    in_columns = products.view(GROUP, -1, products.size(1))[:, :, :c]
    # Maxima before the transposition: after it they take forty times as long.
    best_x.update(in_rows.transpose(1, 2), in_rows.amax(dim=1), rows, F.pad(columns, (0, odd_c), value=-1))
    best_y.update(in_columns.permute(2, 1, 0), in_columns.amax(dim=0).T, columns, F.pad(rows, (0, odd_r), value=-1))


class RunningTopK:
    """Candidates for the best k columns of every row of a matrix (rows, columns) that is processed in tiles.

    ``like`` is a tensor with the type and device of the tiles.
    """

    def __init__(self, rows: int, columns: int, k: int, like: Tensor) -> None:
        self.k = k
        scores = like.new_full((rows, min(k + EXTRA, columns)), float("-inf"))
        self.best = Candidates(scores, torch.full_like(scores, -1, dtype=torch.int64))

    def update(self, tile: Tensor, maxima: Tensor, rows: Tensor, columns: Tensor) -> None:
        """Update the candidates with a tile.

        Args:
            tile: (r, n, g): columns j, j + n, j + 2n, ... of a row are group j.
            maxima: (r, n), of the groups; only groups with a sufficient maximum are compared.
            rows, columns: (r,) and (n * g,), positions in the matrix; -1 is padding, where all scores are -inf.
        """
        r, n, _ = tile.shape
        current = self.best.scores[rows]
        reach = current[:, self.k - 1 : self.k] - SLACK  # (r, 1): lower scores are not among the best k
        fresh = current[:, -1].isinf().nonzero().squeeze(1)
        if len(fresh):  # rows with too few candidates to discard any
            self._begin(tile, maxima, rows, columns, fresh)
            if len(fresh) == r:
                return
            reach[fresh] = float("inf")
        near, group = (maxima > reach).nonzero(as_tuple=True)
        scores = tile[near, group]  # (f, g)
        selected, member = (scores > reach[near]).nonzero(as_tuple=True)
        if not len(selected):
            return
        # The selected scores, one row for each tile row that has any.
        of_row = torch.bincount(near[selected], minlength=r)
        near_rows = of_row.nonzero().squeeze(1)
        count, compact = of_row[near_rows], ((of_row > 0).cumsum(0) - 1)[near[selected]]
        place = torch.arange(len(selected), device=tile.device) - (count.cumsum(0) - count)[compact]
        new_scores = scores.new_full((len(near_rows), int(count.max())), float("-inf"))
        new_index = torch.full_like(new_scores, -1, dtype=torch.int64)
        new_scores[compact, place] = scores[selected, member]
        new_index[compact, place] = columns[group[selected] + n * member]
        self._merge(rows[near_rows], new_scores, new_index)

    def _begin(self, tile: Tensor, maxima: Tensor, rows: Tensor, columns: Tensor, fresh: Tensor) -> None:
        _, n, g = tile.shape
        width = self.best.scores.size(1)
        # The best scores are in the groups of the best maxima, in the worst case one in each.
        groups = maxima[fresh].topk(min(width, n), dim=1).indices  # (f, w)
        scores = tile[fresh[:, None], groups].flatten(1)  # (f, w * g)
        index = groups[:, :, None] + n * torch.arange(g, device=tile.device)
        best = scores.topk(min(width, scores.size(1)), dim=1)
        self._merge(rows[fresh], best.values, columns[index.flatten(1).gather(1, best.indices)])

    def _merge(self, rows: Tensor, scores: Tensor, index: Tensor) -> None:
        parts = [Candidates(*(column[rows] for column in self.best)), Candidates(scores, index)]
        self.best.scores[rows], self.best.rows[rows] = merge_candidates(parts, self.best.scores.size(1))


def merge_candidates(parts: Sequence[Candidates], width: int) -> Candidates:
    """The best ``width`` candidates of every row, from searches in disjoint parts of one pool."""
    scores, rows = (torch.cat(column, dim=1) for column in zip(*parts, strict=True))
    best = scores.topk(min(width, scores.size(1)), dim=1)
    return Candidates(best.values, rows.gather(1, best.indices))


# ---- rescoring in float64


def rescore(queries: Vectors, pool: Vectors, candidates: Tensor, k: int) -> Neighbours:
    """The first k of the candidates by (-float64 score, row).

    Args:
        queries, pool: (M, D) and (N, D) unit vectors.
        candidates: (M, c) rows of the pool, -1 for none; where ties may extend beyond them, all pool rows are compared.
        k: at most c.
    """
    scores = candidates.new_empty(len(candidates), k, dtype=torch.float64)
    index = candidates.new_empty(len(candidates), k)
    # 8 MB of float64 at a time fit the cache, which makes rescoring seven times as fast.
    chunk = max(1, 2**20 // max(1, candidates.size(1) * queries[:1].size(1)))
    tied = []
    for start in range(0, len(candidates), chunk):
        part = slice(start, start + chunk)
        sorted_rows = candidates[part].sort(dim=1).values  # the stable sort by score then keeps the lowest row first
        exact = _dots(queries[part][:, None], pool[sorted_rows.clamp(min=0)])
        exact[sorted_rows < 0] = float("-inf")
        ordered = exact.sort(dim=1, descending=True, stable=True)
        scores[part], index[part] = ordered.values[:, :k], sorted_rows.gather(1, ordered.indices[:, :k])
        if sorted_rows.size(1) < len(pool):
            # A tie may extend beyond the candidates: then all pool rows are compared to find the lowest one.
            gap = ordered.values[:, k - 1] - ordered.values[:, -1]  # NaN if there were fewer than k
            tied.append((gap <= TIE).nonzero().squeeze(1) + start)
    for rows in torch.split(torch.cat(tied), 512) if tied else ():
        scores[rows], index[rows] = _compare_all(queries[rows], pool, scores[rows, -1], k)
    return Neighbours(scores, index)


def _dots(a: Tensor, b: Tensor) -> Tensor:
    # Product and sum, not a matrix product: the last bit must not depend on the position in a batch.
    return (a.double() * b.double()).sum(dim=-1)


def _compare_all(queries: Tensor, pool: Vectors, minimum: Tensor, k: int) -> Neighbours:
    """The k nearest of a few queries among all rows, given a score (M,) that at least k rows reach."""
    scores = torch.zeros(len(queries), k, dtype=torch.float64, device=queries.device)
    rows = torch.arange(k, device=queries.device).repeat(len(queries), 1)
    # A zero vector is equally near to all rows, so the first k rows are its result.
    nonzero = (queries != 0).any(dim=1).nonzero().squeeze(1)
    reach = minimum[nonzero, None].float() - SLACK
    near = []
    for start in range(0, len(pool), 2**15):
        query, row = (queries[nonzero] @ pool[start : start + 2**15].T > reach).nonzero(as_tuple=True)
        near.append(torch.stack([nonzero[query], row + start]))
    query, row = torch.cat(near, dim=1)  # all possible pairs, lower rows first
    parts = zip(torch.split(query, 2**12), torch.split(row, 2**12), strict=True)
    exact = torch.cat([_dots(queries[part_queries], pool[part_rows]) for part_queries, part_rows in parts])
    order = exact.sort(descending=True, stable=True).indices
    order = order[query[order].sort(stable=True).indices]  # by query, then score, then row
    counts = torch.bincount(query, minlength=len(queries))[nonzero]
    best = order[(counts.cumsum(0) - counts)[:, None] + torch.arange(k, device=queries.device)]
    scores[nonzero], rows[nonzero] = exact[best], row[best]
    return Neighbours(scores, rows)
