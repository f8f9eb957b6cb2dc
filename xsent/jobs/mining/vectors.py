"""Embeddings in shards on disk, read a few rows at a time."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xsent.jobs.work_folder import WorkFolder


@dataclass(frozen=True)
class StoredVectors:
    """Unit vectors (N, D) float32 that are indexed like a tensor.

    Attributes:
        work, kind: the shards; each has an array ``vectors``.
        rows: N.
        shard: rows per shard; the last may have fewer.
    """

    work: WorkFolder
    kind: str
    rows: int
    shard: int

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, rows: slice | Tensor, /) -> Tensor:
        """Copy rows: a slice, or a tensor (...) of row numbers, which gives (..., D)."""
        if isinstance(rows, slice):
            return torch.from_numpy(self._read(*rows.indices(self.rows)[:2]))
        numbers = rows.flatten().numpy()
        order = np.argsort(numbers, kind="stable")  # shard by shard, and forward in each
        ordered = numbers[order]
        vectors = np.empty((len(numbers), self.dim), dtype=np.float32)
        first = 0
        while first < len(ordered):
            number = int(ordered[first]) // self.shard
            last = int(np.searchsorted(ordered, (number + 1) * self.shard))
            vectors[order[first:last]] = self._open(number)[ordered[first:last] - number * self.shard]
            first = last
        return torch.from_numpy(vectors).view(*rows.shape, self.dim)

    @cached_property
    def dim(self) -> int:
        """D."""
        return int(self._open(0).shape[1])

    def _read(self, first: int, last: int) -> NDArray[np.float32]:
        vectors = np.empty((max(0, last - first), self.dim), dtype=np.float32)
        row = first
        while row < last:
            number, start = divmod(row, self.shard)
            part = self._open(number)[start : start + last - row]
            vectors[row - first : row - first + len(part)] = part
            row += len(part)
        return vectors

    def _open(self, number: int) -> NDArray[np.float32]:
        # Opened each time (0.1 ms), as pages of an open map count as memory of this process.
        return self.work.array(self.kind, number, "vectors")  # type: ignore[return-value]
