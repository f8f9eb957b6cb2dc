"""Pooling and heads."""

import pytest
import torch

from xsent.models.encoders.disentangled import DisentanglingHeads
from xsent.models.pooling import POOLING


@pytest.mark.parametrize("name", POOLING)
def test_padding_never_changes_the_embedding(name: str) -> None:
    tokens, mask = torch.randn(2, 3, 4), torch.ones(2, 3)
    padded = torch.cat([tokens, torch.full((2, 5, 4), 1e6)], dim=1)
    padded_mask = torch.cat([mask, torch.zeros(2, 5)], dim=1)
    torch.testing.assert_close(POOLING[name](padded, padded_mask), POOLING[name](tokens, mask))


def test_poolings_of_a_hand_computed_sentence() -> None:
    tokens = torch.tensor([[[1.0, -4.0], [3.0, -2.0], [99.0, 99.0]]])
    mask = torch.tensor([[1, 1, 0]])
    assert POOLING["cls"](tokens, mask).tolist() == [[1.0, -4.0]]
    assert POOLING["mean"](tokens, mask).tolist() == [[2.0, -3.0]]
    assert POOLING["max"](tokens, mask).tolist() == [[3.0, -2.0]]


@pytest.mark.parametrize("name", ["mean", "max"])
def test_no_token_at_all_gives_zero(name: str) -> None:
    pooled = POOLING[name](torch.randn(1, 2, 3), torch.zeros(1, 2, dtype=torch.int64))
    assert pooled.tolist() == [[0.0, 0.0, 0.0]]


def test_heads_without_hidden_layers_are_one_affine_map_each() -> None:
    heads = DisentanglingHeads(3, [])
    x = torch.randn(5, 3)
    parts = heads(x)
    torch.testing.assert_close(parts.meaning, x @ heads.meaning.weight.T + heads.meaning.bias)
    torch.testing.assert_close(parts.language, x @ heads.language.weight.T + heads.language.bias)
    assert sum(p.numel() for p in heads.parameters()) == 2 * (9 + 3)


def test_hidden_layers_of_heads_have_tanh_between_and_none_after() -> None:
    heads = DisentanglingHeads(3, [7])
    assert [type(layer).__name__ for layer in heads.meaning] == ["Linear", "Tanh", "Linear"]
    assert heads(torch.randn(2, 3)).meaning.shape == (2, 3)
