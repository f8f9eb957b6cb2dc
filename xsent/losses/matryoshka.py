"""Matryoshka loss: the same loss on prefixes of the vectors, so that truncated vectors are useful, too."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from xsent.config_checks import UsageError
from xsent.similarity import unit


def matryoshka(loss: Callable[..., Tensor], *vectors: Tensor, dims: Sequence[int] | None) -> Tensor:
    """Sum of a loss over prefixes of the vectors, each prefix scaled to length one.

    Call it on the vectors that enter the loss, after gathering: gradient caching and devices then make no difference.

    Args:
        loss: of vectors, at any size of theirs.
        vectors: (N, D) each.
        dims: sizes of the prefixes; D stands for the vectors as they are. None: the loss of the vectors alone.

    Returns:
        Scalar; each prefix has weight 1.

    Source:
        Kusupati et al. 2022 (arXiv:2205.13147), relative importance c_m = 1.
    """
    if dims is None:
        return loss(*vectors)
    return torch.stack([loss(*(_prefix(x, dim) for x in vectors)) for dim in dims]).sum()


def check_prefixes(dims: Sequence[int] | None, dim: int) -> None:
    """Raise ``UsageError`` unless these are distinct sizes of prefixes of vectors of a size, itself among them."""
    if dims is None:
        return
    sizes = list(dims) if isinstance(dims, Sequence) and not isinstance(dims, str) else []
    if any(not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= dim for size in sizes) or (
        not sizes or len(set(sizes)) < len(sizes)
    ):
        raise UsageError(f"recipe.matryoshka={dims}: expected different sizes from 1 to {dim}, that of the vectors")
    if dim not in sizes:
        raise UsageError(
            f"recipe.matryoshka={sizes}: expected {dim}, the size of the vectors, among them; the numbers after"
            f" {max(sizes)} would not be trained (for shorter vectors set encoder.dim={max(sizes)})"
        )


def _prefix(vectors: Tensor, dim: int) -> Tensor:
    return vectors if dim == vectors.size(-1) else unit(vectors[..., :dim])
