"""Cosine similarity, every pair and row by row; the check that vectors are finite."""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
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


class NotFiniteError(FloatingPointError):
    """A vector has NaN or infinite numbers, or a length beyond float32.

    Args:
        name: of the encoder.
        row: of the vector, from 0.
        text: of that row, if it is known.
    """

    def __init__(self, name: str, row: int, text: str | None = None) -> None:
        self.name, self.row = name, row
        excerpt = "" if text is None else f" ({text[:40]!r})"
        super().__init__(f"{name}: the vector of row {row}{excerpt} is not finite; {ADVICE}")

    def at(self, location: str) -> FloatingPointError:
        """The same error with the position of the text, e.g. ``text.de:18``, instead of its row."""
        return FloatingPointError(f"{location}: the vector of {self.name} is not finite; {ADVICE}")


ADVICE = "the weights of the encoder diverged in training or are damaged: use another checkpoint"


def encoder_name(encoder: object) -> str:
    """Name of an encoder, or of the encoder whose method it is, for messages."""
    encoder = getattr(encoder, "__self__", encoder)
    return str(getattr(encoder, "name", type(encoder).__name__))


def check_finite(
    vectors: Tensor, name: str, *, texts: Sequence[str] | None = None, rows: NDArray[np.intp] | None = None
) -> None:
    """Raise ``NotFiniteError`` with the first of the vectors (N, D) that is not finite.

    Args:
        name: of the encoder.
        texts: by row.
        rows: (N,) row of each vector; None: 0 to N - 1.
    """
    # Lengths instead of numbers: far faster, and a vector whose length overflows would be zero as a unit vector.
    is_finite = torch.linalg.vector_norm(vectors.float(), dim=1).isfinite()
    if not bool(is_finite.all()):
        positions = (~is_finite).nonzero().flatten().tolist()
        row = min(positions if rows is None else (int(rows[position]) for position in positions))
        raise NotFiniteError(name, row, None if texts is None else texts[row])
