"""Search in cells: exact where all cells are looked into, and always exact about what it looks at."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from xsent.evaluation import cells as module
from xsent.evaluation.cells import Cells, arranged, nearest_cells, scan_cells, train_centroids
from xsent.evaluation.search import Neighbours, rescored, scan
from xsent.similarity import unit


def in_cells(y: Tensor, centroids: Tensor) -> Cells:
    order, starts = arranged(nearest_cells(y, centroids, 1).squeeze(1), len(centroids))
    return Cells(centroids, starts, order, y[order])


def exact_search(x: Tensor, y: Tensor, k: int) -> tuple[Neighbours, Neighbours]:
    there, back = scan(x, y, k, k)
    return rescored(x, y, there.rows, k), rescored(y, x, back.rows, k)


def search(x: Tensor, y: Tensor, k: int, centroids: Tensor, probes: int) -> tuple[Neighbours, Neighbours]:
    there, back = scan_cells(x, in_cells(y, centroids), k, probes=probes)
    return rescored(x, y, there.rows, k), rescored(y, x, back.rows, k)


@pytest.fixture
def xy() -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    y = torch.randn(700, 16)
    x = y[torch.randint(0, 700, (500,))] + 0.5 * torch.randn(500, 16)
    y[600:] = y[3]  # more equal ones than there are candidates
    x[10:12] = 0
    return unit(x), unit(y)


@pytest.mark.parametrize("queries", [7, 48, 4096])
def test_with_all_cells_the_search_is_exact(
    xy: tuple[Tensor, Tensor], queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUERIES", queries)
    centroids = train_centroids(torch.cat(xy), 20, iterations=3, seed=0)
    for found, expected in zip(search(*xy, 4, centroids, 20), exact_search(*xy, 4), strict=True):
        assert torch.equal(found.rows, expected.rows)
        assert torch.equal(found.scores, expected.scores)


def test_a_pair_is_looked_at_when_the_targets_cell_is_probed() -> None:
    torch.manual_seed(1)
    x, y = unit(torch.randn(90, 8)), unit(torch.randn(120, 8))
    centroids = train_centroids(y, 12, iterations=4, seed=0)
    probes, cell = nearest_cells(x, centroids, 3), nearest_cells(y, centroids, 1)
    met = (probes[:, :, None] == cell.T[None]).any(dim=1)  # (90, 120)
    scores = torch.where(met, x.double() @ y.double().T, float("-inf"))
    there, back = search(x, y, 2, centroids, 3)
    for found, all_scores in ((there, scores), (back, scores.T)):
        expected = all_scores.sort(dim=1, descending=True, stable=True)
        torch.testing.assert_close(found.scores, expected.values[:, :2], rtol=0, atol=1e-12)
        some = expected.values[:, :2] > float("-inf")
        assert torch.equal(found.rows[some], expected.indices[:, :2][some])
        assert (found.rows[~some] == -1).all()


def test_centroids_find_well_separated_clusters_whatever_the_seed() -> None:
    torch.manual_seed(2)
    true = torch.eye(6)
    sample = unit(true.repeat(50, 1) + 0.05 * torch.randn(300, 6))
    for seed in range(5):
        centroids = train_centroids(sample, 12, iterations=10, seed=seed)
        nearest = nearest_cells(true, centroids, 1).squeeze(1)
        assert (centroids[nearest] * true).sum(dim=1).min() > 0.99


def test_centroids_have_length_one_and_are_the_same_for_the_same_seed() -> None:
    sample = unit(torch.randn(400, 8))
    first, again = (train_centroids(sample, 30, iterations=3, seed=5) for _ in range(2))
    assert torch.equal(first, again)
    torch.testing.assert_close(first.norm(dim=1), torch.ones(30))


def test_cells_that_lose_all_their_vectors_move_elsewhere() -> None:
    # Two distinct vectors for three cells: k-means would leave one empty; it must not become zero.
    sample = torch.eye(2).repeat(5, 1)
    assert (train_centroids(sample, 3, iterations=4, seed=0).norm(dim=1) > 0.99).all()


def test_equally_near_cells_come_in_their_order() -> None:
    centroids = torch.eye(4)
    x = unit(torch.tensor([[1.0, 1, 1, 1], [0, 0, 1, 1]]))
    assert nearest_cells(x, centroids, 2).sort(dim=1).values.tolist() == [[0, 1], [2, 3]]
    assert nearest_cells(x, centroids, 1).tolist() == [[0], [2]]


def test_members_stand_in_the_order_of_their_cells_and_then_of_their_rows() -> None:
    order, starts = arranged(torch.tensor([2, 0, 2, 0, 3]), 4)
    assert order.tolist() == [1, 3, 0, 2, 4]
    assert starts.tolist() == [0, 2, 2, 4, 5]


def test_ten_clusters_keep_their_nearest_neighbours_in_one_cell() -> None:
    torch.manual_seed(3)
    middle = unit(torch.randn(10, 32)).repeat(40, 1)
    x, y = (unit(middle + 0.05 * torch.randn(400, 32)) for _ in range(2))
    there, _ = search(x, y, 1, train_centroids(y, 10, iterations=10, seed=1), 2)
    exact, _ = exact_search(x, y, 1)
    assert (there.rows == exact.rows).float().mean() > 0.97
