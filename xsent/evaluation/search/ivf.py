"""Approximate k-nearest-neighbour search with an inverted file (IVF): compares vectors of the nearest cells only."""

from dataclasses import dataclass

import torch
from torch import Tensor

from xsent.evaluation.search.exact import TIE, Candidates, RunningTopK, Vectors, update_candidates
from xsent.similarity import check_finite, unit

ROWS = 2**14  # vectors compared with the centroids at a time
QUERIES = 4096  # rows of a tile; its products with the vectors of a typical cell fit the cache


@dataclass(frozen=True)
class InvertedFile:
    """N vectors ordered by cell; a vector belongs to the cell of its nearest centroid.

    Attributes:
        centroids: (C, D) unit vectors.
        starts: (C + 1,) int64; cell c has the positions starts[c] to starts[c + 1].
        order: (N,) int64, the original row at each position.
        vectors: (N, D) unit vectors, by position.
    """

    centroids: Tensor
    starts: Tensor
    order: Tensor
    vectors: Vectors


def train_centroids(sample: Tensor, cells: int, *, iterations: int, seed: int) -> Tensor:
    """Unit centroids (C, D) of at least C ``sample`` unit vectors (n, D), by spherical k-means.

    ``cells`` is C, ``iterations`` the number of assignment and update steps, ``seed`` that of the initial centroids.
    """
    generator = torch.Generator().manual_seed(seed)
    centroids = sample[torch.randperm(len(sample), generator=generator)[:cells].to(sample.device)]
    for _ in range(iterations):
        nearness, cell = _nearest(sample, centroids)
        # Sums in float64 in row order do not depend on the number of threads.
        sums = torch.zeros(len(centroids), sample.size(1), dtype=torch.float64, device=sample.device)
        sums.index_add_(0, cell, sample.double())
        empty = (torch.bincount(cell, minlength=len(centroids)) == 0).nonzero().squeeze(1)
        # An empty cell moves to one of the vectors farthest from their centroids.
        sums[empty] = sample[nearness.sort(stable=True).indices[: len(empty)]].double()
        centroids = unit(sums).float()
    return centroids


def nearest_cells(x: Tensor, centroids: Tensor, probes: int) -> Tensor:
    """The cells (M, probes) int64 nearest to each of ``x`` (M, D) unit vectors, in any order.

    Of two equally near cells the lower one is chosen, so that the machine-dependent last bit of a float32 product
    has no effect.
    """
    check_finite(centroids, "centroids of the cells")
    if probes >= len(centroids):
        return torch.arange(len(centroids), device=x.device).repeat(len(x), 1)
    chosen = []
    for rows in torch.split(x, ROWS):
        best = (rows @ centroids.T).topk(probes + 1, dim=1)
        cells = best.indices[:, :probes].contiguous()
        close = (best.values[:, -2] - best.values[:, -1] <= TIE).nonzero().squeeze(1)
        for tied in torch.split(close, 256):
            exact = rows[tied].double() @ centroids.T.double()
            cells[tied] = exact.sort(dim=1, descending=True, stable=True).indices[:, :probes]
        chosen.append(cells)
    return torch.cat(chosen)


def sort_by_cell(cell: Tensor, cells: int) -> tuple[Tensor, Tensor]:
    """``order`` (N,) and ``starts`` (C + 1,) of ``Cells``, from the cell (N,) of each vector."""
    starts = torch.zeros(cells + 1, dtype=torch.int64)
    starts[1:] = torch.bincount(cell, minlength=cells).cumsum(0)
    return cell.sort(stable=True).indices, starts


def collect_ivf_candidates(x: Tensor, y: InvertedFile, k: int, *, probes: int) -> tuple[Candidates, Candidates]:
    """Candidates in both directions among the pairs (i, j) where the cell of j is one of the nearest to i.

    Args:
        x: (M, D) unit vectors.
        y: the N vectors of the other side, read cell by cell, each once.
        k: number of neighbours in each direction; ``probes``: number of cells to search for each row of ``x``.

    Returns:
        As ``collect_candidates``, with the original rows of ``y``; there may be fewer than k.
    """
    best_x, best_y = RunningTopK(len(x), len(y.order), k, x), RunningTopK(len(y.order), len(x), k, x)
    visitors, visits = sort_by_cell(nearest_cells(x, y.centroids, probes).flatten().cpu(), len(y.centroids))
    visitors = (visitors // min(probes, len(y.centroids))).to(x.device)  # query row of each probe
    order = y.order.to(x.device)
    for cell in range(len(y.centroids)):
        first, last = int(y.starts[cell]), int(y.starts[cell + 1])
        rows = visitors[visits[cell] : visits[cell + 1]]
        if first == last or not len(rows):
            continue
        members, columns = y.vectors[first:last].to(x.device), order[first:last]
        check_finite(members, "search", rows=columns.numpy(force=True))
        for tile_rows in torch.split(rows, QUERIES):
            update_candidates(x[tile_rows] @ members.T, tile_rows, columns, best_x, best_y)
    return best_x.best, best_y.best


def _nearest(x: Tensor, centroids: Tensor) -> tuple[Tensor, Tensor]:
    best = [(rows @ centroids.T).max(dim=1) for rows in torch.split(x, ROWS)]
    return torch.cat([part.values for part in best]), torch.cat([part.indices for part in best])
