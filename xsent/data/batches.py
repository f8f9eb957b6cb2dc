"""Data sets of whole batches: what a sampler yields says which, so nothing is left to collate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from torch.utils.data import Dataset

B = TypeVar("B")


class Batches(Dataset[B], Generic[B]):
    """Whole batches by what the sampler says of them, such as their rows.

    Args:
        size: rows that batches are made of.
        fetch: makes a batch.
    """

    def __init__(self, size: int, fetch: Callable[[Any], B]) -> None:
        self.size = size
        self.fetch = fetch

    def __getitem__(self, of: Any) -> B:
        return self.fetch(of)

    def __len__(self) -> int:
        return self.size
