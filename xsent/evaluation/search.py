"""Exact nearest neighbours by inner product of unit vectors, ties in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm import tqdm

from xsent.distributed import rank
from xsent.similarity import unit

EXTRA = 8  # candidates beyond k whose scores are computed again in float64
SLACK = 1e-5  # more than the rounding of a float32 cosine
TIE = 1e-6  # scores this near in float64 may have been in another order in float32
# A tile of the one-pass search. Fewer, taller ones cost less beside the products (tried: 0.28 of them; 1,024 x 1,024
# 0.44), as long as the products stay in the cache that the cores share.
ROWS, COLUMNS = 4096, 1024
GROUP = 16  # numbers of a tile whose maximum is looked at first


class Neighbours(NamedTuple):
    """The k nearest pool rows of M queries, best first, equal scores by lowest index.

    A search that looks at a part of the pool may find fewer: what is missing has score -inf and row -1.
    """

    scores: Tensor  # (M, k) float64, cosines
    rows: Tensor  # (M, k) int64, of the pool


class Candidates(NamedTuple):
    """What may be among the k nearest of M queries, a few more than k, in any order."""

    scores: Tensor  # (M, c) float32, cosines; -inf where there is none
    rows: Tensor  # (M, c) int64, of the pool; -1 where there is none


class Vectors(Protocol):
    """Unit vectors (N, D), in memory or elsewhere: a tensor is one."""

    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice | Tensor, /) -> Tensor: ...


def knn(queries: Tensor, pool: Tensor, k: int) -> Neighbours:
    """The k nearest rows of ``pool`` (N, D) for each of ``queries`` (M, D) by cosine.

    ``k`` is at most N. FAISS searches on the CPU, and on a GPU where faiss-gpu is installed; torch does
    otherwise. The result is the same: candidates are scored again in float64 and ordered by
    (-score, index), so it depends neither on the backend nor on k.
    """
    queries, pool = _unit(queries), _unit(pool)
    k = min(k, len(pool))
    found = _candidates(queries, pool, min(k + EXTRA, len(pool)))
    return rescored(queries, pool, found, k)


def knn_both(x: Tensor, y: Tensor, k: int) -> tuple[Neighbours, Neighbours]:
    """``knn(x, y, k)`` and ``knn(y, x, k)`` of (M, D) and (N, D), from one pass over the products."""
    x, y = _unit(x), _unit(y)
    k_x, k_y = min(k, len(y)), min(k, len(x))
    found_x, found_y = scan(x, y, k_x, k_y)
    return rescored(x, y, found_x.rows, k_x), rescored(y, x, found_y.rows, k_y)


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


def scan(x: Tensor, y: Vectors, k_x: int, k_y: int) -> tuple[Candidates, Candidates]:
    """Candidates of both directions; every product is computed once.

    Args:
        x: (M, D) unit vectors.
        y: (N, D), likewise; read a tile at a time, each once.
        k_x, k_y: neighbours that are wanted of a row of ``x`` (at most N) and of ``y`` (at most M).
    """
    best_x, best_y = Running(len(x), len(y), k_x, x), Running(len(y), len(x), k_y, x)
    buffer = x.new_empty(min(ROWS, len(x)) * min(COLUMNS, len(y)))
    starts = range(0, len(y), COLUMNS)
    quiet = rank() > 0
    for column in tqdm(starts, desc="searching", unit_scale=COLUMNS, unit=" rows", delay=2, leave=False, disable=quiet):
        y_tile = y[column : column + COLUMNS].to(x.device)
        columns = torch.arange(column, column + len(y_tile), device=x.device)
        for row in range(0, len(x), ROWS):
            x_tile = x[row : row + ROWS]
            products = buffer[: len(x_tile) * len(y_tile)].view(len(x_tile), len(y_tile))
            torch.mm(x_tile, y_tile.T, out=products)
            take_in(products, torch.arange(row, row + len(x_tile), device=x.device), columns, best_x, best_y)
    return best_x.found(), best_y.found()


def take_in(products: Tensor, rows: Tensor, columns: Tensor, best_x: Running, best_y: Running) -> None:
    """Show a tile of products (r, c) to the candidates of both directions; it is rows x columns of the whole."""
    r, c = products.shape
    odd_r, odd_c = -r % GROUP, -c % GROUP
    if odd_r or odd_c:  # a margin of what is never found makes all groups whole
        products = F.pad(products, (0, odd_c, 0, odd_r), value=float("-inf"))
    in_rows = products[:r].view(r, GROUP, -1)
    in_columns = products.view(GROUP, -1, products.size(1))[:, :, :c]
    # The maxima before the axes are put in order: the other way round they take forty times as long.
    best_x.update(in_rows.transpose(1, 2), in_rows.amax(dim=1), rows, F.pad(columns, (0, odd_c), value=-1))
    best_y.update(in_columns.permute(2, 1, 0), in_columns.amax(dim=0).T, columns, F.pad(rows, (0, odd_r), value=-1))


class Running:
    """Candidates for the best k columns of every row of a matrix that comes in tiles.

    Args:
        rows, columns: size of the matrix.
        k: columns that are wanted of each row.
        like: a tensor of the type and device of the tiles.
    """

    def __init__(self, rows: int, columns: int, k: int, like: Tensor) -> None:
        self.k = k
        self.scores = like.new_full((rows, min(k + EXTRA, columns)), float("-inf"))
        self.index = torch.full_like(self.scores, -1, dtype=torch.int64)

    def found(self) -> Candidates:
        """What was found so far."""
        return Candidates(self.scores, self.index)

    def update(self, tile: Tensor, maxima: Tensor, rows: Tensor, columns: Tensor) -> None:
        """Take in a tile.

        Args:
            tile: (r, n, g): columns j, j + n, j + 2n, ... of a row are the group j.
            maxima: (r, n), of the groups: they tell which are worth a closer look.
            rows, columns: (r,) and (n * g,), which of the matrix they are; -1 is none, and all it has is -inf.
        """
        r, n, _ = tile.shape
        known = self.scores[rows]
        reach = known[:, self.k - 1 : self.k] - SLACK  # (r, 1): what is below it is not among the best k
        fresh = known[:, -1].isinf().nonzero().squeeze(1)
        if len(fresh):  # they have too few candidates yet to leave any out
            self._begin(tile, maxima, rows, columns, fresh)
            if len(fresh) == r:
                return
            reach[fresh] = float("inf")
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
        new_index = torch.full_like(new_scores, -1, dtype=torch.int64)
        new_scores[compact, place] = scores[which, member]
        new_index[compact, place] = columns[group[which] + n * member]
        self._merge(rows[near_rows], new_scores, new_index)

    def _begin(self, tile: Tensor, maxima: Tensor, rows: Tensor, columns: Tensor, fresh: Tensor) -> None:
        _, n, g = tile.shape
        width = self.scores.size(1)
        # The best numbers are in the groups of the best maxima, one in each at worst.
        groups = maxima[fresh].topk(min(width, n), dim=1).indices  # (f, w)
        scores = tile[fresh[:, None], groups].flatten(1)  # (f, w * g)
        index = groups[:, :, None] + n * torch.arange(g, device=tile.device)
        best = scores.topk(min(width, scores.size(1)), dim=1)
        self._merge(rows[fresh], best.values, columns[index.flatten(1).gather(1, best.indices)])

    def _merge(self, rows: Tensor, scores: Tensor, index: Tensor) -> None:
        here = Candidates(self.scores[rows], self.index[rows])
        self.scores[rows], self.index[rows] = merged([here, Candidates(scores, index)], self.scores.size(1))


def merged(parts: Sequence[Candidates], width: int) -> Candidates:
    """The best ``width`` candidates of every row, from parts that looked at different rows of one pool."""
    scores, rows = (torch.cat(column, dim=1) for column in zip(*parts, strict=True))
    kept = scores.topk(min(width, scores.size(1)), dim=1)
    return Candidates(kept.values, rows.gather(1, kept.indices))


# ---- the order that is returned


def rescored(queries: Vectors, pool: Vectors, found: Tensor, k: int) -> Neighbours:
    """The first k of the candidates by (-float64 score, row).

    Args:
        queries, pool: (M, D) and (N, D) unit vectors.
        found: (M, c) rows of the pool, -1 for none; where ties may run past them, the whole pool is asked.
        k: at most c.
    """
    scores, index = found.new_empty(len(found), k, dtype=torch.float64), found.new_empty(len(found), k)
    # 8 MB of float64 at a time: what stays in the cache is rescored seven times as fast as what does not.
    rows = max(1, 2**20 // max(1, found.size(1) * queries[:1].size(1)))
    open_ended = []
    for start in range(0, len(found), rows):
        here = slice(start, start + rows)
        candidates = found[here].sort(dim=1).values  # a stable sort by score then keeps the lowest row first
        exact = _dots(queries[here][:, None], pool[candidates.clamp(min=0)])
        exact[candidates < 0] = float("-inf")
        ordered = exact.sort(dim=1, descending=True, stable=True)
        scores[here], index[here] = ordered.values[:, :k], candidates.gather(1, ordered.indices[:, :k])
        if candidates.size(1) < len(pool):
            # A tie may run past the candidates: then only the whole pool knows the lowest row.
            gap = ordered.values[:, k - 1] - ordered.values[:, -1]  # not a number where there were fewer than k
            open_ended.append((gap <= TIE).nonzero().squeeze(1) + start)
    for several in torch.split(torch.cat(open_ended), 512) if open_ended else ():
        scores[several], index[several] = _whole(queries[several], pool, scores[several, -1], k)
    return Neighbours(scores, index)


def _dots(a: Tensor, b: Tensor) -> Tensor:
    # A product and a sum, not a matrix product: the last bit is then the same wherever a pair stands in a batch.
    return (a.double() * b.double()).sum(dim=-1)


def _whole(queries: Tensor, pool: Vectors, least: Tensor, k: int) -> Neighbours:
    """The k nearest of a few queries among all rows, given a score (M,) that k of them reach."""
    scores = torch.zeros(len(queries), k, dtype=torch.float64, device=queries.device)
    rows = torch.arange(k, device=queries.device).repeat(len(queries), 1)
    # A zero vector is equally near to all rows: the first k are the answer already.
    some = (queries != 0).any(dim=1).nonzero().squeeze(1)
    reach = least[some, None].float() - SLACK
    near = []
    for start in range(0, len(pool), 2**15):
        query, row = (queries[some] @ pool[start : start + 2**15].T > reach).nonzero(as_tuple=True)
        near.append(torch.stack([some[query], row + start]))
    query, row = torch.cat(near, dim=1)  # every pair that may be among the best, lower rows first
    parts = zip(torch.split(query, 2**12), torch.split(row, 2**12), strict=True)
    exact = torch.cat([_dots(queries[some_queries], pool[some_rows]) for some_queries, some_rows in parts])
    order = exact.sort(descending=True, stable=True).indices
    order = order[query[order].sort(stable=True).indices]  # by query, then score, then row
    counts = torch.bincount(query, minlength=len(queries))[some]
    best = order[(counts.cumsum(0) - counts)[:, None] + torch.arange(k, device=queries.device)]
    scores[some], rows[some] = exact[best], row[best]
    return Neighbours(scores, rows)
