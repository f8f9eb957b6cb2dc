"""Cosine similarity, every pair and row by row."""

import torch.nn.functional as F
from torch import Tensor

# A vector shorter than this counts as zero and has cosine 0 with everything.
EPS = 1e-8


def unit(x: Tensor) -> Tensor:
    """Rows of length one, (..., D) -> (..., D); a zero row stays zero."""
    return F.normalize(x, dim=-1, eps=EPS)


def cos_sim(a: Tensor, b: Tensor) -> Tensor:
    """Cosine of every row of ``a`` (M, D) with every row of ``b`` (N, D): (M, N)."""
    return unit(a) @ unit(b).T


def pairwise_cos_sim(a: Tensor, b: Tensor) -> Tensor:
    """Cosine of row i of ``a`` (..., D) with row i of ``b`` (..., D): (...)."""
    return (unit(a) * unit(b)).sum(dim=-1)
