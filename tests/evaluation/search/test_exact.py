"""Exact search: brute force, ties, backends, and search in parts."""

from typing import Any

import pytest
import torch
from torch import Tensor

from xsent.evaluation.search import exact as search
from xsent.evaluation.search.exact import (
    EXTRA,
    Candidates,
    Neighbours,
    collect_candidates,
    knn,
    knn_both,
    merge_candidates,
    rescore,
)
from xsent.similarity import unit


def brute_force(x: Tensor, y: Tensor, k: int) -> Neighbours:
    scores = unit(x.float()).double() @ unit(y.float()).double().T
    ordered = scores.sort(dim=1, descending=True, stable=True)
    return Neighbours(ordered.values[:, :k], ordered.indices[:, :k])


def assert_equal(result: Neighbours, expected: Neighbours) -> None:
    torch.testing.assert_close(result.scores, expected.scores, rtol=0, atol=1e-12)
    assert result.rows.tolist() == expected.rows.tolist()


@pytest.fixture(params=["faiss", "torch"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "torch":
        monkeypatch.setattr(search, "_has_faiss", lambda: False)
    return str(request.param)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (5, 3, 4), (37, 101, 4), (64, 200, 100)])
def test_equals_brute_force(backend: str, m: int, n: int, k: int) -> None:
    torch.manual_seed(m)
    x, y = torch.randn(m, 16), torch.randn(n, 16)
    assert_equal(knn(x, y, k), brute_force(x, y, min(k, n)))


def test_ties_go_to_the_lowest_row_for_any_k_and_backend(backend: str) -> None:
    torch.manual_seed(0)
    distinct = torch.randn(7, 8)
    pool = distinct[torch.randint(0, 7, (300,))]  # each vector about forty times: more ties than candidates
    queries = torch.randn(20, 8)
    first = knn(queries, pool, 1)
    many = knn(queries, pool, 100)
    assert_equal(many, brute_force(queries, pool, 100))
    assert first.rows[:, 0].tolist() == many.rows[:, 0].tolist()


@pytest.mark.parametrize(("tile", "group"), [(4, 2), (7, 2), (16, 4), (1024, 32)])
def test_one_pass_equals_brute_force(monkeypatch: pytest.MonkeyPatch, tile: int, group: int) -> None:
    monkeypatch.setattr(search, "ROWS", tile)
    monkeypatch.setattr(search, "COLUMNS", tile + 1)
    monkeypatch.setattr(search, "GROUP", group)
    torch.manual_seed(1)
    x, y = torch.randn(45, 6), torch.randn(130, 6)
    y[10:40] = y[0]  # more equal rows than candidates
    y[100:103] = 0
    forward, back = knn_both(x, y, 4)
    assert_equal(forward, brute_force(x, y, 4))
    assert_equal(back, brute_force(y, x, 4))


def test_one_pass_over_many_tiles_equals_two_searches() -> None:
    torch.manual_seed(2)
    x, y = torch.randn(3000, 8), torch.randn(2500, 8)
    y[torch.randint(0, 2500, (500,))] = y[7].clone()
    forward, back = knn_both(x, y, 4)
    assert_equal(forward, knn(x, y, 4))
    assert_equal(back, knn(y, x, 4))


def test_zero_vectors_have_cosine_0_and_the_arguments_do_not_change() -> None:
    x = torch.tensor([[0.0, 0.0], [5.0, 0.0]])
    assert knn(x, x, 2).scores.tolist() == [[0, 0], [1, 0]]
    assert x.tolist() == [[0, 0], [5, 0]]


# ---- in parts


@pytest.mark.parametrize("block", [1, 3, 50, 129, 130])
def test_merged_blocks_equal_one_search(tied_xy: tuple[Tensor, Tensor], block: int) -> None:
    k = 4
    x, y = (unit(side) for side in tied_xy)
    forward_parts, back = [], Candidates(torch.empty(len(y), 0), torch.empty(len(y), 0, dtype=torch.int64))
    for first in range(0, len(x), block):
        part = x[first : first + block]
        forward, backward = collect_candidates(part, y, k, min(k, len(part)))
        forward_parts.append(rescore(part, y, forward.rows, k))
        back = merge_candidates([back, Candidates(backward.scores, backward.rows + first)], k + EXTRA)
    expected = knn_both(*tied_xy, k)
    for result, neighbours in zip((forward_parts, [rescore(y, x, back.rows, k)]), expected, strict=True):
        assert torch.equal(torch.cat([part.rows for part in result]), neighbours.rows)
        assert torch.equal(torch.cat([part.scores for part in result]), neighbours.scores)


def test_equal_vectors_have_bit_identical_scores() -> None:
    torch.manual_seed(1)
    x, y = torch.randn(9, 257), torch.randn(40, 257)
    y[5::7] = y[2]
    forward, _ = knn_both(x, y, 40)
    for scores, rows in zip(forward.scores, forward.rows, strict=True):
        is_tied = torch.isin(rows, torch.tensor([2, *range(5, 40, 7)]))
        assert len(scores[is_tied].unique()) == 1


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_gives_the_same_neighbours() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(100, 32), torch.randn(500, 32)
    on_gpu: Any = knn(x.cuda(), y.cuda(), 4)
    assert on_gpu.rows.cpu().tolist() == knn(x, y, 4).rows.tolist()
