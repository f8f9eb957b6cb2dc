"""Semantic textual similarity: do cosines order sentence pairs as people do?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from torch import Tensor

from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.test_sets import TestSetEvaluator, TwoSided, zero_vectors
from xsent.similarity import pairwise_cos_sim

# Cosines of float32 vectors that differ by less differ by rounding alone.
RESOLUTION = 1e-6


class ScoredPairs(TwoSided, Protocol):
    """Sentence pairs of one language pair, ``eng-ara`` or ``ara-ara``, with a gold score each."""

    @property
    def name(self) -> str: ...
    @property
    def gold(self) -> list[float]: ...


class StsEvaluator(TestSetEvaluator[ScoredPairs]):
    """Rank correlation of the cosine of two sentences with the score that people gave them.

    Args:
        name: prefix of the metrics.
        root: folder of the test sets, for ``read``.
        pairs: which language pairs, for ``read``; None is all.
        read: ``(root, pairs)`` -> test sets.
        missing: a pair without files is an ``error``, or left out with a ``note``.

    Metrics:
        ``<name>/<eng-ara>/spearman``, Spearman's correlation x 100, and ``<name>/mean/spearman``; of several
        pairs also ``<name>/monolingual/spearman`` and ``<name>/crosslingual/spearman``. Averages are those of
        the pairs, unweighted. A correlation is NaN where all cosines (or all scores) are the same, and so is
        an average that it is part of: an encoder that tells nothing apart has no figure, not 0.
    """

    def __init__(
        self,
        *,
        name: str,
        root: str,
        pairs: Sequence[str] | None,
        read: Callable[[Any, Sequence[str] | None], Sequence[ScoredPairs]],
        missing: str,
    ) -> None:
        super().__init__(name=name, root=root, wanted=pairs, read=read, missing=missing)

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``."""
        figures: dict[str, float] = {}
        details: list[dict[str, object]] = []
        for pairs in self.test_sets:
            x, y = self.rows(vectors, pairs.source).double(), self.rows(vectors, pairs.target).double()
            rho = 100 * spearman(pairwise_cos_sim(x, y).numpy(force=True), pairs.gold)
            figures[pairs.name] = rho
            details.append(self._detail(pairs, rho, zero_vectors(x, y)))
        metrics = {**figures, **_averages(figures)}
        return Evaluation({f"{self.name}/{item}/spearman": value for item, value in metrics.items()}, details)

    def _detail(self, pairs: ScoredPairs, rho: float, zeros: int) -> dict[str, object]:
        return {
            "evaluator": self.name, "direction": pairs.name, "spearman": rho, "similarity": "cosine",
            "queries": len(pairs.gold), "undefined": "constant input" if math.isnan(rho) else "",
            "zero_vectors": zeros, "missing_pairs": " ".join(self.absent),
        }  # fmt: skip


def _averages(figures: dict[str, float]) -> dict[str, float]:
    monolingual = [value for pair, value in figures.items() if len(set(pair.split("-"))) == 1]
    crosslingual = [value for pair, value in figures.items() if len(set(pair.split("-"))) == 2]
    groups = {"mean": list(figures.values())}
    if len(figures) > 1:
        groups = {"monolingual": monolingual, "crosslingual": crosslingual} | groups
    return {group: sum(values) / len(values) for group, values in groups.items() if values}


def spearman(a: ArrayLike, b: ArrayLike) -> float:
    """Correlation of the ranks of two series (N,), -1 to 1; equal values share the average of their ranks.

    NaN where either series is constant: it has no order that could be compared.
    """
    ranks = []
    for series in (np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)):
        if not len(series) or np.ptp(series) < RESOLUTION:
            return math.nan
        ranks.append(rankdata(series))
    return float(np.corrcoef(*ranks)[0, 1])
