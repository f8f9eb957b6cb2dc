"""How much an encoder notices of a changed word: the change of a cosine, in units of what the encoder has to give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from xsent.similarity import pairwise_cos_sim, unit

# Cosines of float32 vectors are known to about 1e-7: what a smaller range is made of is rounding.
SMALLEST = 1e-6


class Normaliser(NamedTuple):
    """What tells parallel from unrelated sentences: the difference of their mean cosines."""

    mean_parallel: float
    mean_unrelated: float
    unrelated_pairs: int

    @property
    def value(self) -> float:
        """The difference; NaN where there is none to speak of, or unrelated sentences are the nearer ones."""
        difference = self.mean_parallel - self.mean_unrelated
        return difference if difference > SMALLEST else math.nan


def normaliser(sets: Sequence[tuple[Tensor, Tensor]], *, n_unrelated: int | None, seed: int) -> Normaliser:
    """Mean cosine of parallel sentences less that of unrelated ones.

    Unrelated is each source with each target of the same set but its own translation; the pairs of all sets are
    pooled, and so are the parallel ones.

    Args:
        sets: of each test set the vectors of its sources (N, D) and of their translations (N, D).
        n_unrelated: so many different pairs, drawn at random; None is all of them, without a matrix of N by N.
        seed: of the draw.

    Raises:
        ValueError: no set has two pairs, or fewer than ``n_unrelated`` unrelated ones.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), section 3.3, footnote 2. Which pairs are unrelated, and whether the
        corpora are pooled, is not said. Ours: all pairs within a corpus, pooled, so that nothing depends on a draw.
    """
    units = [(unit(source.double()), unit(target.double())) for source, target in sets]
    sizes = [len(source) for source, _ in units]
    total = count_unrelated(sizes)
    if total == 0 or (n_unrelated is not None and not 1 <= n_unrelated <= total):
        wanted = "at least 1" if n_unrelated is None else f"{n_unrelated}"
        raise ValueError(f"expected {wanted} of the unrelated pairs of {sizes} parallel ones, found {total}")
    parallel = sum(float((source * target).sum()) for source, target in units)
    if n_unrelated is None:
        # The sum of all N x N cosines is the product of the sums; the diagonal is parallel.
        unrelated = sum(float(source.sum(dim=0) @ target.sum(dim=0)) for source, target in units) - parallel
    else:
        unrelated = _drawn(units, sizes, n_unrelated, seed)
    pairs = total if n_unrelated is None else n_unrelated
    return Normaliser(parallel / sum(sizes), unrelated / pairs, pairs)


def count_unrelated(sizes: Sequence[int]) -> int:
    """How many unrelated pairs there are within sets of so many parallel ones."""
    return sum(n * (n - 1) for n in sizes)


def _drawn(units: Sequence[tuple[Tensor, Tensor]], sizes: Sequence[int], count: int, seed: int) -> float:
    """Sum of the cosines of ``count`` different unrelated pairs."""
    drawn = np.random.default_rng(seed).choice(count_unrelated(sizes), size=count, replace=False, shuffle=False)
    found, start = 0.0, 0
    for (source, target), n in zip(units, sizes, strict=True):
        end = start + n * (n - 1)
        here = torch.from_numpy(drawn[(drawn >= start) & (drawn < end)] - start).to(source.device)
        rows = here // max(n - 1, 1)
        columns = here % max(n - 1, 1)
        columns = columns + (columns >= rows).long()  # past the diagonal
        found += float((source[rows] * target[columns]).sum())
        start = end
    return found


def similarity_change(source: Tensor, target: Tensor, distractor: Tensor, *, normaliser: float) -> Tensor:
    """How much nearer a distractor is to the source than the target is: 0, not noticed; above, the encoder is fooled.

    With the target as its own source it is the monolingual change, which is never above 0.

    Args:
        source, target: (..., D).
        distractor: (..., D), in the target's language.
        normaliser: ``Normaliser.value``; NaN makes all changes NaN.

    Returns:
        (...), float64, in units of the normaliser.

    Source:
        Michail et al. 2025, section 3.3. Their formula has cosine distances; the ones in it cancel.
    """
    source, target, distractor = source.double(), target.double(), distractor.double()
    return (pairwise_cos_sim(source, distractor) - pairwise_cos_sim(source, target)) / normaliser
