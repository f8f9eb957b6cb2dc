"""A search that is done in parts, or misses some pairs, and what margins make of it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from xsent.evaluation.margin import best_neighbours, best_targets
from xsent.evaluation.search import EXTRA, Candidates, Neighbours, knn_both, merged, rescored, scan
from xsent.similarity import unit


@pytest.fixture
def xy() -> tuple[Tensor, Tensor]:
    """Raw vectors, some of them equal, more than there are candidates; some zero."""
    torch.manual_seed(0)
    x, y = torch.randn(130, 12), torch.randn(170, 12)
    x[20:60], y[100:140] = x[3], y[5]
    x[70:72], y[0] = 0, 0
    return x, y


@pytest.mark.parametrize("block", [1, 3, 50, 129, 130])
def test_blocks_merge_to_what_the_whole_gives(xy: tuple[Tensor, Tensor], block: int) -> None:
    k = 4
    x, y = (unit(side) for side in xy)
    there, back = [], Candidates(torch.empty(len(y), 0), torch.empty(len(y), 0, dtype=torch.int64))
    for first in range(0, len(x), block):
        part = x[first : first + block]
        forward, backward = scan(part, y, k, min(k, len(part)))
        there.append(rescored(part, y, forward.rows, k))
        back = merged([back, Candidates(backward.scores, backward.rows + first)], k + EXTRA)
    expected = knn_both(*xy, k)
    for found, whole in zip((there, [rescored(y, x, back.rows, k)]), expected, strict=True):
        assert torch.equal(torch.cat([part.rows for part in found]), whole.rows)
        assert torch.equal(torch.cat([part.scores for part in found]), whole.scores)


def test_equal_scores_are_equal_to_the_bit_wherever_their_rows_stand() -> None:
    torch.manual_seed(1)
    x, y = torch.randn(9, 257), torch.randn(40, 257)
    y[5::7] = y[2]
    there, _ = knn_both(x, y, 40)
    for scores, rows in zip(there.scores, there.rows, strict=True):
        same = torch.isin(rows, torch.tensor([2, *range(5, 40, 7)]))
        assert len(scores[same].unique()) == 1


def test_margins_average_those_neighbours_that_were_found() -> None:
    # The first row found two neighbours, the second one, the third none.
    inf = float("inf")
    there = Neighbours(
        torch.tensor([[0.8, 0.4], [0.6, -inf], [-inf, -inf]], dtype=torch.float64),
        torch.tensor([[1, 0], [0, -1], [-1, -1]]),
    )
    back = Neighbours(
        torch.tensor([[0.6, 0.4], [0.8, -inf]], dtype=torch.float64), torch.tensor([[1, 0], [0, -1]])
    )  # fmt: skip
    forward, backward = best_neighbours(there, back, margin="distance", k=2)
    # A = 0.6, 0.6, none; B = 0.5, 0.8. Row 0: 0.8 - (0.6 + 0.8) / 2 = 0.1 beats 0.4 - 0.55.
    torch.testing.assert_close(forward.scores, torch.tensor([0.1, 0.05, -inf], dtype=torch.float64))
    assert forward.rows.tolist() == [1, 0, 0]
    torch.testing.assert_close(backward.scores, torch.tensor([0.05, 0.1], dtype=torch.float64))
    assert backward.rows.tolist() == [1, 0]


@pytest.mark.parametrize("margin", ["absolute", "distance", "ratio"])
@pytest.mark.parametrize("k", [1, 4])
def test_neighbours_searched_before_give_the_same_best(xy: tuple[Tensor, Tensor], margin: str, k: int) -> None:
    expected = best_targets(*xy, margin=margin, k=k, candidates="knn")
    found = best_neighbours(*knn_both(*xy, max(k, 2)), margin=margin, k=k)
    for one, other in zip(found, expected, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
