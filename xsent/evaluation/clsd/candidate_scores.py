"""Cosines of a source with its translation and the distractors of the translation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xsent.similarity import pairwise_cos_sim

Bools = NDArray[np.bool_]


class CandidateScores(NamedTuple):
    """Cosines of N items with K distractors each."""

    cosines: NDArray[np.float32]  # (N, 1 + K) of the source with the translation, then with each distractor
    nearest: NDArray[np.int64]  # (N,) distractor nearest to the source, from 0, the first on ties

    @property
    def nearest_cosines(self) -> NDArray[np.float32]:
        """Cosine of the source with the nearest distractor: (N,)."""
        return np.asarray(self.cosines[:, 1:].max(axis=1))

    @property
    def margins(self) -> NDArray[np.float32]:
        """Cosine of the translation minus that of the nearest distractor: (N,)."""
        return self.cosines[:, 0] - self.nearest_cosines

    @property
    def right(self) -> Bools:
        """Whether the translation is strictly nearer than every distractor: (N,)."""
        return np.asarray(self.margins > 0)

    @property
    def tied(self) -> Bools:
        """Whether translation and nearest distractor are equally near, which is an error: (N,)."""
        return np.asarray(self.margins == 0)


def score_candidates(source: Tensor, candidates: Sequence[Tensor]) -> CandidateScores:
    """Compare sources with their candidates in float32.

    Args:
        source: (N, D).
        candidates: 1 + K tensors (N, D): the translations, then each row's first distractor, second distractor etc.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), P@1; the strict inequality is that of the released notebook.
    """
    # The same operation and memory layout for all candidates, so that equal vectors have bit-identical cosines.
    columns = [pairwise_cos_sim(source.float(), column.float().contiguous()) for column in candidates]
    cosines: NDArray[np.float32] = torch.stack(columns, dim=1).numpy(force=True)  # (N, 1 + K)
    return CandidateScores(cosines, cosines[:, 1:].argmax(axis=1).astype(np.int64))


def percent(flags: Bools) -> float:
    """Percentage of true values."""
    return 100 * float(flags.mean())


class Bucket(NamedTuple):
    """Number of values from ``low`` to below ``high``; the last bucket includes its upper edge."""

    low: float
    high: float
    values: int

    @property
    def label(self) -> str:
        """``0.6_to_0.7``."""
        return f"{self.low:g}_to_{self.high:g}"


def buckets(values: Sequence[float], edges: Sequence[float]) -> list[Bucket]:
    """Histogram of values between ascending edges; NaN is not counted."""
    counts, _ = np.histogram(np.array(values, dtype=np.float64), np.array(edges, dtype=np.float64))
    return [Bucket(low, high, int(n)) for low, high, n in zip(edges[:-1], edges[1:], counts, strict=True)]
