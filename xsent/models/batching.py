"""Length-sorted batches within a token budget, and digests of tensors."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

if TYPE_CHECKING:
    from hashlib import _Hash


def flatten_ids(
    token_ids: Sequence[Sequence[int]], dtype: type[np.integer] = np.int64
) -> tuple[NDArray, NDArray[np.int64]]:  # type: ignore[type-arg]
    """Concatenate the ids of N sentences: ids (M,) and lengths (N,)."""
    lengths = np.fromiter(map(len, token_ids), dtype=np.int64, count=len(token_ids))
    return np.fromiter(chain.from_iterable(token_ids), dtype=dtype, count=int(lengths.sum())), lengths


def longest_first(lengths: NDArray[np.int64]) -> NDArray[np.intp]:
    """Order of the sentences by falling length, stable; sentences without a token are left out."""
    order = np.argsort(-lengths, kind="stable")
    return order[lengths[order] > 0]


def reordered_positions(lengths: NDArray[np.int64], order: NDArray[np.intp]) -> NDArray[np.int64]:
    """Indices into concatenated ids that put the sentences of ``order`` one after the other."""
    starts, selected = (np.cumsum(lengths) - lengths)[order], lengths[order]
    shift = starts - (np.cumsum(selected) - selected)  # from a new position to the old one
    return np.repeat(shift, selected) + np.arange(int(selected.sum()))


def batch_slices(lengths: NDArray[np.int64], token_budget: int, max_rows: int | None = None) -> Iterator[slice]:
    """Consecutive sentences of falling length, at least one, within a budget of padded tokens and rows."""
    start = 0
    while start < len(lengths):
        rows = max(1, token_budget // int(lengths[start]))
        stop = min(start + min(rows, max_rows or rows), len(lengths))
        yield slice(start, stop)
        start = stop


def hash_tensors(content: "_Hash", tensors: Mapping[str, Tensor]) -> None:
    """Add names, types, shapes and values to a digest, sorted by name."""
    for name, tensor in sorted(tensors.items()):
        content.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        content.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
