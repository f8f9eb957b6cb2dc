"""Length-sorted batches within a token budget, smaller ones when memory runs out, and digests of tensors."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

if TYPE_CHECKING:
    from hashlib import _Hash

log = logging.getLogger(__name__)


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


def run_batches(
    run: Callable[[slice], None],
    lengths: NDArray[np.int64],
    token_budget: int,
    max_rows: int | None = None,
    *,
    name: str,
    rows: NDArray[np.intp],
) -> None:
    """Call ``run`` with the slices of ``batch_slices``; the budget is halved when memory runs out for a batch.

    Args:
        run: may be called again with a part of a slice for which it ran out of memory.
        lengths: (N,) tokens of each sentence, falling.
        name: of the model, for messages.
        rows: (N,) number of each sentence, for messages.

    Raises:
        RuntimeError: the memory is too small for one sentence; names it.
    """
    start, is_halved = 0, False
    while start < len(lengths):
        batch = next(batch_slices(lengths[start:], token_budget, max_rows))
        batch = slice(start, start + batch.stop)
        error = _memory_error(run, batch)
        if error is None:
            start = batch.stop
            continue
        size, longest = batch.stop - start, int(lengths[start])
        if size == 1:
            raise RuntimeError(
                f"{name}: not enough memory for row {rows[start]} alone, a text of {longest:,} tokens: {error}"
            )
        if not is_halved:
            log.warning("%s: not enough memory for %d texts of %d tokens; smaller batches follow", name, size, longest)
        is_halved, token_budget = True, size // 2 * longest
        torch.cuda.empty_cache()


def _memory_error(run: Callable[[slice], None], batch: slice) -> str | None:
    """Run a batch; first line of the error if memory ran out, as its traceback would keep the memory of the batch."""
    try:
        run(batch)
    except (MemoryError, RuntimeError) as error:
        is_of_cpu = "DefaultCPUAllocator" in str(error)  # a plain RuntimeError
        if not isinstance(error, MemoryError | torch.OutOfMemoryError) and not is_of_cpu:
            raise
        return (str(error).strip().splitlines() or [type(error).__name__])[0]
    return None


def hash_tensors(content: "_Hash", tensors: Mapping[str, Tensor]) -> None:
    """Add names, types, shapes and values to a digest, sorted by name."""
    for name, tensor in sorted(tensors.items()):
        content.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        content.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
