"""Similarity change of a distractor: difference of cosines, relative to parallel and unrelated sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from xsent.similarity import pairwise_cos_sim, unit

# The precision of float32 cosines is about 1e-7: smaller differences are rounding errors.
MIN_DIFFERENCE = 1e-6


class Normaliser(NamedTuple):
    """Difference between the mean cosines of parallel and of unrelated sentences."""

    mean_parallel: float
    mean_unrelated: float
    unrelated_pairs: int

    @property
    def value(self) -> float:
        """The difference; NaN unless parallel sentences are nearer than unrelated ones."""
        difference = self.mean_parallel - self.mean_unrelated
        return difference if difference > MIN_DIFFERENCE else math.nan


def normaliser(sets: Sequence[tuple[Tensor, Tensor]], *, n_unrelated: int | None, seed: int) -> Normaliser:
    """Mean cosine of parallel minus unrelated sentences.

    Every source and every target of the same set except its translation are unrelated. Pairs of all sets are pooled.

    Args:
        sets: vectors of the sources (N, D) and of their translations (N, D), by test set.
        n_unrelated: size of a random sample of unrelated pairs; None is all, computed without an N x N matrix.
        seed: of the sample.

    Raises:
        ValueError: there are fewer unrelated pairs than ``n_unrelated``, or none.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), section 3.3, footnote 2. The paper does not say which pairs
        are unrelated and whether the corpora are pooled. Ours: all pairs within a corpus, pooled; no sampling.
    """
    units = [(unit(source.double()), unit(target.double())) for source, target in sets]
    sizes = [len(source) for source, _ in units]
    total = count_unrelated(sizes)
    if total == 0 or (n_unrelated is not None and not 1 <= n_unrelated <= total):
        expected = "at least 1" if n_unrelated is None else f"{n_unrelated}"
        raise ValueError(f"expected {expected} of the unrelated pairs of {sizes} parallel ones, found {total}")
    parallel = sum(float((source * target).sum()) for source, target in units)
    if n_unrelated is None:
        # The product of the sums is the sum of all N x N cosines; the diagonal is parallel.
        unrelated = sum(float(source.sum(dim=0) @ target.sum(dim=0)) for source, target in units) - parallel
    else:
        unrelated = _sample_sum(units, sizes, n_unrelated, seed)
    pairs = total if n_unrelated is None else n_unrelated
    return Normaliser(parallel / sum(sizes), unrelated / pairs, pairs)


def count_unrelated(sizes: Sequence[int]) -> int:
    """Number of unrelated pairs within sets of these numbers of parallel pairs."""
    return sum(n * (n - 1) for n in sizes)


def _sample_sum(units: Sequence[tuple[Tensor, Tensor]], sizes: Sequence[int], count: int, seed: int) -> float:
    """Sum of the cosines of ``count`` distinct unrelated pairs."""
    sampled = np.random.default_rng(seed).choice(count_unrelated(sizes), size=count, replace=False, shuffle=False)
    total, start = 0.0, 0
    for (source, target), n in zip(units, sizes, strict=True):
        end = start + n * (n - 1)
        pairs = torch.from_numpy(sampled[(sampled >= start) & (sampled < end)] - start).to(source.device)
        rows = pairs // max(n - 1, 1)
        columns = pairs % max(n - 1, 1)
        columns = columns + (columns >= rows).long()  # skip the diagonal
        total += float((source[rows] * target[columns]).sum())
        start = end
    return total


def similarity_change(source: Tensor, target: Tensor, distractor: Tensor, *, normaliser: float) -> Tensor:
    """By how much a distractor is nearer to the source than the target is; above 0 the encoder prefers the distractor.

    With the target as source it is the monolingual change, which is never above 0.

    Args:
        source, target: (..., D).
        distractor: (..., D), in the target's language.
        normaliser: ``Normaliser.value``; NaN gives NaN.

    Returns:
        (...), float64, in units of the normaliser.

    Source:
        Michail et al. 2025, section 3.3. Their formula uses cosine distances; the ones cancel.
    """
    source, target, distractor = source.double(), target.double(), distractor.double()
    return (pairwise_cos_sim(source, distractor) - pairwise_cos_sim(source, target)) / normaliser
