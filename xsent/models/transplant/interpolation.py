"""Word embeddings of new pieces: softmax-weighted means over the nearest anchors in an aligned static space."""

from typing import NamedTuple

import torch
from torch import Tensor

from xsent.similarity import unit

BLOCK = 2**25  # cosines held in memory at a time; changes speed and memory only


class NewEmbeddings(NamedTuple):
    """Embeddings of V pieces, and where each comes from."""

    embeddings: Tensor  # (V, E)
    copied: Tensor  # (V,) bool
    unmatched: Tensor  # (V,) bool; the others are interpolated


def new_embeddings(
    static: Tensor,
    source: Tensor,
    copies: Tensor,
    anchors: Tensor,
    *,
    neighbours: int,
    temperature: float,
    norm: float | None,
) -> NewEmbeddings:
    """Copy the embeddings of pieces that the source model knows, and interpolate the others from anchors.

    Args:
        static: (V, D) vectors of all pieces in the aligned space.
        source: (W, E) word embeddings of the source model.
        copies: (V,) row of ``source`` for each piece, -1 for a piece to interpolate.
        anchors: (V,) bool: pieces to interpolate from, among the copied ones.
        neighbours: most anchors K of a mean.
        temperature: of the softmax over their cosines; near 0, the nearest anchor alone counts.
        norm: length of an interpolated embedding, relative to the mean length of the copied ones; None: as it comes. A
            mean of different embeddings is shorter than they are.

    A piece whose static vector is 0 is unmatched: it gets the mean of the copied embeddings.

    Source:
        Copies: Dobler and de Melo 2023 (FOCUS, arXiv:2305.14481). Means over the nearest neighbours in aligned static
        vectors, with a softmax: Minixhofer et al. 2022 (WECHSEL, arXiv:2112.06598).
    """
    copied = copies >= 0
    embeddings = source.new_zeros(len(static), source.size(1))
    embeddings[copied] = source[copies[copied]]
    unmatched = ~copied & ~static.any(dim=1)
    interpolated = ~copied & ~unmatched
    means = interpolate(
        static[interpolated], static[anchors], embeddings[anchors], neighbours=neighbours, temperature=temperature
    )
    # Differs from both papers, which keep the length of the mean.
    if norm is not None:
        means = unit(means) * norm * embeddings[copied].norm(dim=1).mean()
    embeddings[interpolated] = means
    # Differs from both papers, which draw such a piece at random: the mean needs no seed.
    embeddings[unmatched] = embeddings[copied].mean(dim=0)
    return NewEmbeddings(embeddings, copied, unmatched)


def interpolate(queries: Tensor, anchors: Tensor, values: Tensor, *, neighbours: int, temperature: float) -> Tensor:
    """Softmax-weighted mean of the values of each query's nearest anchors.

    Args:
        queries: (Q, D) static vectors.
        anchors: (A, D) static vectors.
        values: (A, E) embeddings of the anchors.
        neighbours: most anchors K of a mean.
        temperature: of the softmax over cosines.

    Returns:
        (Q, E).
    """
    keys = unit(anchors).T  # (D, A)
    means = [values.new_zeros(0, values.size(1))]
    for block in torch.split(unit(queries), max(1, BLOCK // len(anchors))):
        cosines, nearest = (block @ keys).topk(min(neighbours, len(anchors)), dim=1)  # (B, K)
        weights = torch.softmax(cosines / temperature, dim=1)
        # A product for each neighbour: the gathered values (B, K, E) would need K times the memory.
        parts = (weights[:, i, None] * values[nearest[:, i]] for i in range(nearest.size(1)))
        means.append(sum(parts, start=torch.zeros(())))
    return torch.cat(means)
