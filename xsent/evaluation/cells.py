"""Approximate nearest neighbours: only pairs that meet in a cell of the space are compared (an inverted file)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from xsent.evaluation.search import TIE, Candidates, Running, Vectors, take_in
from xsent.similarity import unit

ROWS = 2**14  # vectors that are compared with the centroids at a time
QUERIES = 4096  # rows of a tile: with the members of a usual cell, the products stay in the cache


@dataclass(frozen=True)
class Cells:
    """N vectors in the order of their cells; a cell is what is nearest to its centroid.

    Attributes:
        centroids: (C, D) unit vectors.
        starts: (C + 1,) int64; the members of cell c are the places starts[c] to starts[c + 1].
        order: (N,) int64, the row that stands at each place.
        vectors: (N, D) unit vectors, by place.
    """

    centroids: Tensor
    starts: Tensor
    order: Tensor
    vectors: Vectors


def train_centroids(sample: Tensor, cells: int, *, iterations: int, seed: int) -> Tensor:
    """Spherical k-means: centroids (C, D) of length one.

    Args:
        sample: (n, D) unit vectors.
        cells: C, at most n.
        iterations: how often vectors are assigned and centroids moved.
        seed: of the vectors that the centroids begin as.
    """
    generator = torch.Generator().manual_seed(seed)
    centroids = sample[torch.randperm(len(sample), generator=generator)[:cells].to(sample.device)]
    for _ in range(iterations):
        nearness, cell = _nearest(sample, centroids)
        # Sums in float64 and in the order of the rows: the same whatever the number of threads.
        sums = torch.zeros(len(centroids), sample.size(1), dtype=torch.float64, device=sample.device)
        sums.index_add_(0, cell, sample.double())
        empty = (torch.bincount(cell, minlength=len(centroids)) == 0).nonzero().squeeze(1)
        # A cell without vectors moves to one of those that are worst served.
        sums[empty] = sample[nearness.sort(stable=True).indices[: len(empty)]].double()
        centroids = unit(sums).float()
    return centroids


def nearest_cells(x: Tensor, centroids: Tensor, probes: int) -> Tensor:
    """The cells (M, probes) int64 nearest to each of ``x`` (M, D) unit vectors, in no order.

    Where two cells are equally near the lower one comes first, so that the last bit of a float32 product,
    which depends on the machine, decides nothing.
    """
    if probes >= len(centroids):
        return torch.arange(len(centroids), device=x.device).repeat(len(x), 1)
    chosen = []
    for rows in torch.split(x, ROWS):
        best = (rows @ centroids.T).topk(probes + 1, dim=1)
        cells = best.indices[:, :probes].contiguous()
        close = (best.values[:, -2] - best.values[:, -1] <= TIE).nonzero().squeeze(1)
        for several in torch.split(close, 256):
            exact = rows[several].double() @ centroids.T.double()
            cells[several] = exact.sort(dim=1, descending=True, stable=True).indices[:, :probes]
        chosen.append(cells)
    return torch.cat(chosen)


def arranged(cell: Tensor, cells: int) -> tuple[Tensor, Tensor]:
    """``order`` (N,) and ``starts`` (C + 1,) of ``Cells``, from the cell (N,) of each vector."""
    starts = torch.zeros(cells + 1, dtype=torch.int64)
    starts[1:] = torch.bincount(cell, minlength=cells).cumsum(0)
    return cell.sort(stable=True).indices, starts


def scan_cells(x: Tensor, y: Cells, k: int, *, probes: int) -> tuple[Candidates, Candidates]:
    """Candidates of both directions among the pairs (i, j) where j's cell is one of the nearest to i.

    Args:
        x: (M, D) unit vectors.
        y: the N vectors of the other side; read a cell at a time, each once.
        k: neighbours that are wanted, of either side.
        probes: cells that each of ``x`` looks into.

    Returns:
        As of ``search.scan``; rows of ``y`` are those before it was arranged. Who met fewer than k lacks some.
    """
    found_x, found_y = Running(len(x), len(y.order), k, x), Running(len(y.order), len(x), k, x)
    visitors, visits = arranged(nearest_cells(x, y.centroids, probes).flatten().cpu(), len(y.centroids))
    visitors = (visitors // min(probes, len(y.centroids))).to(x.device)  # from a probe to the row that makes it
    order = y.order.to(x.device)
    for cell in range(len(y.centroids)):
        first, last = int(y.starts[cell]), int(y.starts[cell + 1])
        rows = visitors[visits[cell] : visits[cell + 1]]
        if first == last or not len(rows):
            continue
        members, columns = y.vectors[first:last].to(x.device).T, order[first:last]
        for some in torch.split(rows, QUERIES):
            take_in(x[some] @ members, some, columns, found_x, found_y)
    return found_x.found(), found_y.found()


def _nearest(x: Tensor, centroids: Tensor) -> tuple[Tensor, Tensor]:
    best = [(rows @ centroids.T).max(dim=1) for rows in torch.split(x, ROWS)]
    return torch.cat([part.values for part in best]), torch.cat([part.indices for part in best])
