"""Disentangling heads: split a sentence embedding into a meaning and a language embedding."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from xsent.batch import Parts


class DisentanglingHeads(nn.Module):
    """Two maps of a sentence embedding: meaning and language.

    Args:
        dim: size D of the embedding and of both parts.
        hidden: sizes of hidden layers, with tanh between them; empty: one affine map each.

    Source:
        Ki, Park, Kim 2024 call them multi-layer perceptrons; all released code has one affine layer.
    """

    def __init__(self, dim: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.meaning = mlp(dim, hidden)
        self.language = mlp(dim, hidden)

    def forward(self, embeddings: Tensor) -> Parts:
        """(B, D) -> two times (B, D)."""
        return Parts(self.meaning(embeddings), self.language(embeddings))


def mlp(dim: int, hidden: Sequence[int]) -> nn.Module:
    """Affine maps from ``dim`` over the hidden sizes back to ``dim``, tanh between them."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise([dim, *hidden, dim]):
        layers += [nn.Linear(inputs, outputs), nn.Tanh()]
    layers.pop()
    return layers[0] if len(layers) == 1 else nn.Sequential(*layers)
