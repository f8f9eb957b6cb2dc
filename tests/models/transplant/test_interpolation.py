"""Interpolated embeddings by paper and pencil."""

import math

import pytest
import torch

from xsent.models.transplant import interpolation
from xsent.models.transplant.interpolation import interpolate, new_embeddings

ANCHORS = torch.tensor([[1.0, 0.0], [0.0, 3.0]])
VALUES = torch.tensor([[10.0, 0.0, 2.0], [0.0, 4.0, 2.0]])


def test_the_weights_are_a_softmax_of_the_cosines() -> None:
    # Cosines 0.6 and 0.8 at temperature 0.1: the weights are in the ratio exp(-2).
    first = 1 / (1 + math.exp(2))
    expected = torch.tensor([[10 * first, 4 * (1 - first), 2.0]])
    queries = torch.tensor([[3.0, 4.0]])
    torch.testing.assert_close(interpolate(queries, ANCHORS, VALUES, neighbours=2, temperature=0.1), expected)
    # More neighbours than anchors: all of them.
    torch.testing.assert_close(interpolate(queries, ANCHORS, VALUES, neighbours=9, temperature=0.1), expected)


@pytest.mark.parametrize("settings", [{"neighbours": 2, "temperature": 1e-4}, {"neighbours": 1, "temperature": 5.0}])
def test_a_low_temperature_or_a_single_neighbour_gives_the_nearest_anchor(settings: dict[str, float]) -> None:
    queries = torch.tensor([[3.0, 4.0], [4.0, 3.0]])
    assert torch.equal(interpolate(queries, ANCHORS, VALUES, **settings), VALUES[[1, 0]])  # type: ignore[arg-type]


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    queries, anchors, values = (torch.randn(rows, 5, generator=generator) for rows in (40, 30, 30))
    expected = interpolate(queries, anchors, values, neighbours=4, temperature=0.1)
    monkeypatch.setattr(interpolation, "BLOCK", 100)  # three queries at a time
    torch.testing.assert_close(interpolate(queries, anchors, values, neighbours=4, temperature=0.1), expected)


def test_each_piece_is_copied_interpolated_or_unmatched() -> None:
    static = torch.tensor([[1.0, 0.0], [0.0, 1.0], [5.0, 0.1], [0.0, 0.0]])
    source = torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 7.0]])
    result = new_embeddings(
        static,
        source,
        torch.tensor([1, 2, -1, -1]),
        torch.tensor([True, True, False, False]),
        neighbours=1,
        temperature=0.1,
        norm=0.5,
    )
    # Copied rows have the lengths 5 and 7; the piece near the first anchor gets its direction and half the mean of 6.
    expected = torch.tensor([[3.0, 4.0], [0.0, 7.0], [1.8, 2.4], [1.5, 5.5]])
    torch.testing.assert_close(result.embeddings, expected)
    assert torch.equal(result.embeddings[:2], source[1:])
    assert result.copied.tolist() == [True, True, False, False]
    assert result.unmatched.tolist() == [False, False, False, True]
