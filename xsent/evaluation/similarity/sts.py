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
from xsent.evaluation.evaluator import Bitext, Evaluation
from xsent.evaluation.statistics.items import PERCENT, Items, mean_over
from xsent.similarity import pairwise_cos_sim

# Cosines of float32 vectors that differ by less differ by rounding only.
RESOLUTION = 1e-6


class ScoredPairs(Bitext, Protocol):
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

    @property
    def translation_sets(self) -> Sequence[Bitext]:
        return []

    @property
    def language_sets(self) -> Sequence[Bitext]:
        return self.test_sets

    def metric_names(self) -> list[str]:
        return list(self._metrics({pairs.name: 0.0 for pairs in self.test_sets}))

    def score(self, vectors: Tensor) -> Evaluation:
        correlations: dict[str, float] = {}
        details: list[dict[str, object]] = []
        items: dict[str, Items] = {}
        for pairs in self.test_sets:
            x, y = self.rows(vectors, pairs.source).double(), self.rows(vectors, pairs.target).double()
            cosines = pairwise_cos_sim(x, y).numpy(force=True)
            rho = 100 * spearman(cosines, pairs.gold)
            correlations[pairs.name] = rho
            items[pairs.name] = Items.of("spearman", cosines, pairs.gold, scale=PERCENT)
            row = {"evaluator": self.name, "direction": pairs.name, "spearman": rho, "similarity": "cosine"}
            row |= {"queries": len(pairs.gold), "undefined": "constant input" if math.isnan(rho) else ""}
            details.append({**row, "zero_vectors": zero_vectors(x, y), "missing_pairs": " ".join(self.absent)})
        averages = {group: mean_over(items[pair] for pair in pairs) for group, pairs in self._groups().items()}
        outcomes = {f"{self.name}/{item}/spearman": of_item for item, of_item in (items | averages).items()}
        return Evaluation(self._metrics(correlations), details, outcomes=outcomes)

    def _groups(self) -> dict[str, list[str]]:
        """Pairs of languages by average."""
        names = [pairs.name for pairs in self.test_sets]
        languages = {"monolingual": 1, "crosslingual": 2} if len(names) > 1 else {}
        groups = {
            group: [pair for pair in names if len(set(pair.split("-"))) == count] for group, count in languages.items()
        }
        return {group: pairs for group, pairs in (groups | {"mean": names}).items() if pairs}

    def _metrics(self, correlations: Mapping[str, float]) -> dict[str, float]:
        averages = {
            group: sum(correlations[pair] for pair in pairs) / len(pairs) for group, pairs in self._groups().items()
        }
        return {f"{self.name}/{item}/spearman": value for item, value in {**correlations, **averages}.items()}


def spearman(a: ArrayLike, b: ArrayLike) -> float:
    """Spearman's rank correlation of two series (N,), -1 to 1; equal values share the average of their ranks.

    NaN where either series is constant up to ``RESOLUTION``.
    """
    both = [np.asarray(series, dtype=np.float64) for series in (a, b)]
    if any(not len(series) or np.ptp(series) < RESOLUTION for series in both):
        return math.nan
    return float(np.corrcoef(*map(rankdata, both))[0, 1])
