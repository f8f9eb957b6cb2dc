"""Heads on top of a frozen sentence embedding."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from xsent.batch import Parts


class DisentanglingHeads(nn.Module):
    """Two maps of a sentence embedding, one to what it means and one to its language.

    Args:
        dim: size D of the embedding and of both parts.
        hidden: sizes of hidden layers, tanh between them; none is one affine map each.

    Source:
        Ki, Park, Kim 2024 call them multi-layer perceptrons; all released code has one affine layer.
    """

    def __init__(self, dim: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.meaning = perceptron(dim, hidden)
        self.language = perceptron(dim, hidden)

    def forward(self, embeddings: Tensor) -> Parts:
        """(B, D) -> two times (B, D)."""
        return Parts(self.meaning(embeddings), self.language(embeddings))


def perceptron(dim: int, hidden: Sequence[int]) -> nn.Module:
    """Affine maps from ``dim`` over the hidden sizes back to ``dim``, tanh between them."""
    sizes = [dim, *hidden, dim]
    layers: list[nn.Module] = []
    for size, following in pairwise(sizes):
        layers += [nn.Linear(size, following), nn.Tanh()]
    layers.pop()
    return layers[0] if len(layers) == 1 else nn.Sequential(*layers)
