"""Exact search in parts, and margin scores of neighbours that were searched before."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from xsent.evaluation.search.exact import (
    EXTRA,
    Candidates,
    Neighbours,
    collect_candidates,
    knn_both,
    merge_candidates,
    rescore,
)
from xsent.evaluation.search.margin import best_neighbours, best_targets
from xsent.similarity import unit


@pytest.fixture
def xy() -> tuple[Tensor, Tensor]:
    """Vectors with more equal rows than candidates, and zero rows; not normalised."""
    torch.manual_seed(0)
    x, y = torch.randn(130, 12), torch.randn(170, 12)
    x[20:60], y[100:140] = x[3], y[5]
    x[70:72], y[0] = 0, 0
    return x, y


@pytest.mark.parametrize("block", [1, 3, 50, 129, 130])
def test_merged_blocks_equal_one_search(xy: tuple[Tensor, Tensor], block: int) -> None:
    k = 4
    x, y = (unit(side) for side in xy)
    forward_parts, back = [], Candidates(torch.empty(len(y), 0), torch.empty(len(y), 0, dtype=torch.int64))
    for first in range(0, len(x), block):
        part = x[first : first + block]
        forward, backward = collect_candidates(part, y, k, min(k, len(part)))
        forward_parts.append(rescore(part, y, forward.rows, k))
        back = merge_candidates([back, Candidates(backward.scores, backward.rows + first)], k + EXTRA)
    expected = knn_both(*xy, k)
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


def test_margins_average_only_existing_neighbours() -> None:
    # The first row has two neighbours, the second one, the third none.
    inf = float("inf")
    neighbours = Neighbours(
        torch.tensor([[0.8, 0.4], [0.6, -inf], [-inf, -inf]], dtype=torch.float64),
        torch.tensor([[1, 0], [0, -1], [-1, -1]]),
    )
    back = Neighbours(torch.tensor([[0.6, 0.4], [0.8, -inf]], dtype=torch.float64), torch.tensor([[1, 0], [0, -1]]))
    forward, backward = best_neighbours(neighbours, back, margin="distance", k=2)
    # A = 0.6, 0.6, none; B = 0.5, 0.8. Row 0: 0.8 - (0.6 + 0.8) / 2 = 0.1 beats 0.4 - 0.55.
    torch.testing.assert_close(forward.scores, torch.tensor([0.1, 0.05, -inf], dtype=torch.float64))
    assert forward.rows.tolist() == [1, 0, 0]
    torch.testing.assert_close(backward.scores, torch.tensor([0.05, 0.1], dtype=torch.float64))
    assert backward.rows.tolist() == [1, 0]


@pytest.mark.parametrize("margin", ["absolute", "distance", "ratio"])
@pytest.mark.parametrize("k", [1, 4])
def test_best_neighbours_equal_best_targets(xy: tuple[Tensor, Tensor], margin: str, k: int) -> None:
    expected = best_targets(*xy, margin=margin, k=k, candidates="knn")
    result = best_neighbours(*knn_both(*xy, max(k, 2)), margin=margin, k=k)
    for row, expected_row in zip(result, expected, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(row, expected_row, strict=True))
