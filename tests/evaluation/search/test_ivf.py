"""Inverted file: exact with all cells, and exact among the compared vectors."""

import pytest
import torch
from torch import Tensor

from xsent.evaluation.search import ivf as module
from xsent.evaluation.search.exact import Neighbours, collect_candidates, rescore
from xsent.evaluation.search.ivf import (
    InvertedFile,
    collect_ivf_candidates,
    nearest_cells,
    sort_by_cell,
    train_centroids,
)
from xsent.similarity import unit


def in_cells(y: Tensor, centroids: Tensor) -> InvertedFile:
    order, starts = sort_by_cell(nearest_cells(y, centroids, 1).squeeze(1), len(centroids))
    return InvertedFile(centroids, starts, order, y[order])


def exact_search(x: Tensor, y: Tensor, k: int) -> tuple[Neighbours, Neighbours]:
    forward, back = collect_candidates(x, y, k, k)
    return rescore(x, y, forward.rows, k), rescore(y, x, back.rows, k)


def search(x: Tensor, y: Tensor, k: int, centroids: Tensor, probes: int) -> tuple[Neighbours, Neighbours]:
    forward, back = collect_ivf_candidates(x, in_cells(y, centroids), k, probes=probes)
    return rescore(x, y, forward.rows, k), rescore(y, x, back.rows, k)


@pytest.fixture
def xy() -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    y = torch.randn(700, 16)
    x = y[torch.randint(0, 700, (500,))] + 0.5 * torch.randn(500, 16)
    y[600:] = y[3]  # more equal rows than candidates
    x[10:12] = 0
    return unit(x), unit(y)


@pytest.mark.parametrize("queries", [7, 48, 4096])
def test_with_all_cells_the_search_is_exact(
    xy: tuple[Tensor, Tensor], queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUERIES", queries)
    centroids = train_centroids(torch.cat(xy), 20, iterations=3, seed=0)
    for result, expected in zip(search(*xy, 4, centroids, 20), exact_search(*xy, 4), strict=True):
        assert torch.equal(result.rows, expected.rows)
        assert torch.equal(result.scores, expected.scores)


def test_a_pair_is_compared_if_the_cell_of_the_target_is_probed() -> None:
    torch.manual_seed(1)
    x, y = unit(torch.randn(90, 8)), unit(torch.randn(120, 8))
    centroids = train_centroids(y, 12, iterations=4, seed=0)
    probes, cell = nearest_cells(x, centroids, 3), nearest_cells(y, centroids, 1)
    is_probed = (probes[:, :, None] == cell.T[None]).any(dim=1)  # (90, 120)
    scores = torch.where(is_probed, x.double() @ y.double().T, float("-inf"))
    forward, back = search(x, y, 2, centroids, 3)
    for result, all_scores in ((forward, scores), (back, scores.T)):
        expected = all_scores.sort(dim=1, descending=True, stable=True)
        torch.testing.assert_close(result.scores, expected.values[:, :2], rtol=0, atol=1e-12)
        is_compared = expected.values[:, :2] > float("-inf")
        assert torch.equal(result.rows[is_compared], expected.indices[:, :2][is_compared])
        assert (result.rows[~is_compared] == -1).all()


def test_centroids_find_well_separated_clusters_with_any_seed() -> None:
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


def test_empty_cells_get_another_centroid() -> None:
    # Two distinct vectors for three cells: one is empty, and its centroid must not become zero.
    sample = torch.eye(2).repeat(5, 1)
    assert (train_centroids(sample, 3, iterations=4, seed=0).norm(dim=1) > 0.99).all()


def test_equally_near_cells_are_in_ascending_order() -> None:
    centroids = torch.eye(4)
    x = unit(torch.tensor([[1.0, 1, 1, 1], [0, 0, 1, 1]]))
    assert nearest_cells(x, centroids, 2).sort(dim=1).values.tolist() == [[0, 1], [2, 3]]
    assert nearest_cells(x, centroids, 1).tolist() == [[0], [2]]


def test_vectors_are_sorted_by_cell_and_then_by_row() -> None:
    order, starts = sort_by_cell(torch.tensor([2, 0, 2, 0, 3]), 4)
    assert order.tolist() == [1, 3, 0, 2, 4]
    assert starts.tolist() == [0, 2, 2, 4, 5]


def test_nearest_neighbours_of_separated_clusters_are_in_one_cell() -> None:
    torch.manual_seed(3)
    middle = unit(torch.randn(10, 32)).repeat(40, 1)
    x, y = (unit(middle + 0.05 * torch.randn(400, 32)) for _ in range(2))
    forward, _ = search(x, y, 1, train_centroids(y, 10, iterations=10, seed=1), 2)
    exact, _ = exact_search(x, y, 1)
    assert (forward.rows == exact.rows).float().mean() > 0.97
