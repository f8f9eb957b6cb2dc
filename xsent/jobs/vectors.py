"""Vectors of a side, in shards on disk: a few rows at a time come into memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xsent.jobs.work import WorkFolder


@dataclass(frozen=True)
class StoredVectors:
    """Unit vectors (N, D) float32; reads like a tensor.

    Attributes:
        work, kind: where the shards are; each has an array ``vectors``.
        rows: N.
        shard: rows of a shard; the last may have fewer.
    """

    work: WorkFolder
    kind: str
    rows: int
    shard: int

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, rows: slice | Tensor, /) -> Tensor:
        """Copies of the rows: a slice, or a tensor (...) of row numbers that gives (..., D)."""
        if isinstance(rows, slice):
            return torch.from_numpy(self._run(*rows.indices(self.rows)[:2]))
        wanted = rows.flatten().numpy()
        order = np.argsort(wanted, kind="stable")  # shard by shard, and forward in each
        ordered = wanted[order]
        found = np.empty((len(wanted), self.dim), dtype=np.float32)
        first = 0
        while first < len(ordered):
            number = int(ordered[first]) // self.shard
            last = int(np.searchsorted(ordered, (number + 1) * self.shard))
            found[order[first:last]] = self._open(number)[ordered[first:last] - number * self.shard]
            first = last
        return torch.from_numpy(found).view(*rows.shape, self.dim)

    @cached_property
    def dim(self) -> int:
        """D."""
        return int(self._open(0).shape[1])

    def _run(self, first: int, last: int) -> NDArray[np.float32]:
        found = np.empty((max(0, last - first), self.dim), dtype=np.float32)
        row = first
        while row < last:
            number, start = divmod(row, self.shard)
            part = self._open(number)[start : start + last - row]
            found[row - first : row - first + len(part)] = part
            row += len(part)
        return found

    def _open(self, number: int) -> NDArray[np.float32]:
        # Opened anew each time (a tenth of a millisecond): what stays mapped counts as this process's memory.
        return self.work.array(self.kind, number, "vectors")  # type: ignore[return-value]
