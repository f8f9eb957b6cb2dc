"""Semantic textual similarity (STS): rank correlation of cosines with human scores."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from torch import Tensor

from xsent.evaluation.dataset_evaluator import DatasetEvaluator, zero_vectors
from xsent.evaluation.evaluator import Evaluation, TwoSided
from xsent.similarity import pairwise_cos_sim

# Cosines of float32 vectors that differ by less differ by rounding only.
RESOLUTION = 1e-6


class ScoredPairs(TwoSided, Protocol):
    """Sentence pairs of one language pair, ``eng-ara`` or ``ara-ara``, each with a gold score."""

    name: str
    gold: list[float]


@dataclass(kw_only=True, eq=False, repr=False)
class StsEvaluator(DatasetEvaluator[ScoredPairs]):
    """Spearman correlation of the cosine of two sentences with their human score.

    Metrics:
        ``<name>/<eng-ara>/spearman``, Spearman's correlation x 100, and ``<name>/mean/spearman``; of several pairs also
        ``<name>/monolingual/spearman`` and ``<name>/crosslingual/spearman``. Averages are unweighted means over pairs.
        A correlation is NaN where all cosines (or all gold scores) are equal, and so is an average that contains it.
    """

    requested_by = "pairs"
    pairs: Sequence[str] | None  # requested language pairs, for ``read``; None is all

    def metric_names(self) -> list[str]:
        return list(self._metrics({pairs.name: 0.0 for pairs in self.test_sets}))

    def score(self, vectors: Tensor) -> Evaluation:
        correlations: dict[str, float] = {}
        details: list[dict[str, object]] = []
        for pairs in self.test_sets:
            x, y = self.rows(vectors, pairs.source).double(), self.rows(vectors, pairs.target).double()
            rho = 100 * spearman(pairwise_cos_sim(x, y).numpy(force=True), pairs.gold)
            correlations[pairs.name] = rho
            row = {"evaluator": self.name, "direction": pairs.name, "spearman": rho, "similarity": "cosine"}
            row |= {"queries": len(pairs.gold), "undefined": "constant input" if math.isnan(rho) else ""}
            details.append({**row, "zero_vectors": zero_vectors(x, y), "missing_pairs": " ".join(self.absent)})
        return Evaluation(self._metrics(correlations), details)

    def _metrics(self, correlations: Mapping[str, float]) -> dict[str, float]:
        languages = {"monolingual": 1, "crosslingual": 2} if len(correlations) > 1 else {}
        groups = {
            group: [rho for pair, rho in correlations.items() if len(set(pair.split("-"))) == count]
            for group, count in languages.items()
        }
        groups["mean"] = list(correlations.values())
        figures = {**correlations, **{group: sum(rhos) / len(rhos) for group, rhos in groups.items() if rhos}}
        return {f"{self.name}/{item}/spearman": value for item, value in figures.items()}


def spearman(a: ArrayLike, b: ArrayLike) -> float:
    """Spearman's rank correlation of two series (N,), -1 to 1; equal values share the average of their ranks.

    NaN where either series is constant up to ``RESOLUTION``.
    """
    both = [np.asarray(series, dtype=np.float64) for series in (a, b)]
    if any(not len(series) or np.ptp(series) < RESOLUTION for series in both):
        return math.nan
    return float(np.corrcoef(*map(rankdata, both))[0, 1])
