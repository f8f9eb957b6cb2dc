"""Vectors in fewer bits: half precision, whole numbers of 8 bits, or signs alone; and back to float32.

Each vector is stored by itself, without ranges of a data set, so parts of a text can be encoded at any time.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# numpy's type of stored vectors, by the names of ``xsent.batch.Precision``.
DTYPES: dict[str, np.dtype[np.generic]] = {
    "float32": np.dtype(np.float32),
    "bfloat16": np.dtype(np.float32),  # of the weights, while computing
    "float16": np.dtype(np.float16),
    "int8": np.dtype(np.int8),
    "binary": np.dtype(np.uint8),
}
SCALED = ("int8", "binary")  # keep the direction of a vector alone


def check_length_one(precision: str, *, option: str) -> None:
    """Raise ``ValueError`` if vectors of this precision cannot have length one, as the option asks."""
    if precision in SCALED:
        raise ValueError(f"{option}: a vector of precision {precision} cannot have length one, cosines do not need it")


def stored_size(dim: int, precision: str) -> int:
    """Numbers of a stored vector: D, or D / 8 bytes of signs.

    Raises:
        ValueError: the signs of D numbers do not fill whole bytes.
    """
    if precision != "binary":
        return dim
    if dim % 8:
        shorter = f"; truncate them to {dim - dim % 8}" if dim > 8 else ""
        raise ValueError(f"precision=binary: expected vectors whose size is a multiple of 8, found {dim}{shorter}")
    return dim // 8


def quantise(vectors: Tensor, precision: str) -> NDArray[np.generic]:
    """Vectors (N, D) float32 as they are stored: (N, ``stored_size``) of the type in ``DTYPES``.

    ``int8`` scales each vector to its own largest number, 127, so a zero vector stays zero. ``binary`` packs eight
    signs into a byte as ``numpy.packbits``: 1 above 0, else 0; the first number of a vector is the highest bit.

    Raises:
        ValueError: a number is too large for ``float16``.
    """
    if precision == "int8":
        largest = vectors.abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(torch.float32).tiny)
        return (vectors / largest * 127).round().to(torch.int8).numpy(force=True)
    if precision == "binary":
        return np.packbits((vectors > 0).numpy(force=True), axis=1)
    if precision == "float16":
        half = vectors.half()
        if not bool(half.isfinite().all()):
            raise ValueError("precision=float16: a number is above 65,504; use float32, or vectors of length one")
        vectors = half
    array: NDArray[np.generic] = vectors.numpy(force=True)
    return array


def dequantise(vectors: Tensor) -> Tensor:
    """Stored vectors (N, ...) of any precision as float32 (N, D): numbers as they are, packed signs as 1 and -1."""
    if vectors.dtype != torch.uint8:
        return vectors.float()
    bits = np.unpackbits(vectors.numpy(force=True), axis=1)
    return torch.from_numpy(bits).to(vectors.device).float() * 2 - 1
