"""Is a sentence nearer to its translation than to all near-copies of it: verdicts from vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xsent.similarity import pairwise_cos_sim

Bools = NDArray[np.bool_]


class Verdicts(NamedTuple):
    """What was found for N items with K distractors each."""

    cosines: NDArray[np.float32]  # (N, 1 + K) of the source with the translation, and with each distractor
    best: NDArray[np.int64]  # (N,) the distractor that is nearest to the source, the first of equal ones, from 0

    @property
    def margins(self) -> NDArray[np.float32]:
        """By how much the translation is nearer than the nearest distractor: (N,), cosine units."""
        nearest: NDArray[np.float32] = self.cosines[:, 1:].max(axis=1)
        return self.cosines[:, 0] - nearest

    @property
    def right(self) -> Bools:
        """Whether the translation is strictly nearer than every distractor: (N,)."""
        right: Bools = self.margins > 0
        return right

    @property
    def tied(self) -> Bools:
        """Whether the translation and the nearest distractor are equally near, which is an error: (N,)."""
        tied: Bools = self.margins == 0
        return tied


def verdicts(source: Tensor, candidates: Sequence[Tensor]) -> Verdicts:
    """Compare sources with their candidates, in float32 whatever the vectors are.

    Args:
        source: (N, D).
        candidates: 1 + K of (N, D): the translations, then each row's first distractor, second distractor and so on.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), P@1; the strict inequality is the released notebook's.
    """
    # One way for all candidates, and one layout, which decides the order of sums: equal vectors have equal cosines to
    # the last bit.
    columns = [pairwise_cos_sim(source.float(), column.float().contiguous()) for column in candidates]
    cosines: NDArray[np.float32] = torch.stack(columns, dim=1).numpy(force=True)  # (N, 1 + K)
    return Verdicts(cosines, cosines[:, 1:].argmax(axis=1).astype(np.int64))


def percent(share: Bools) -> float:
    """How many of N are true, x 100."""
    return 100 * float(share.mean())


class Bucket(NamedTuple):
    """How many values are from ``low`` to below ``high``; the last bucket of several holds its upper edge, too."""

    low: float
    high: float
    values: int

    @property
    def label(self) -> str:
        """``0.6_to_0.7``."""
        return f"{self.low:g}_to_{self.high:g}"


def buckets(values: Sequence[float], edges: Sequence[float]) -> list[Bucket]:
    """How many values lie between neighbouring edges, which ascend; NaN lies nowhere."""
    counts, _ = np.histogram(np.array(values, dtype=np.float64), np.array(edges, dtype=np.float64))
    return [Bucket(low, high, int(n)) for low, high, n in zip(edges[:-1], edges[1:], counts, strict=True)]
