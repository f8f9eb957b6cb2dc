"""Retrieval between the sides of aligned test sets: accuracy (Tatoeba, FLORES, held-out pairs) and xSIM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.margin import CANDIDATES, MARGINS, Best, best_targets
from xsent.evaluation.test_sets import PIVOT, Bitext, TestSetEvaluator, check_choice, zero_vectors

COMPARISONS = ("index", "textual")
METRICS = ("accuracy", "error")


class Counted(NamedTuple):
    """What happened in one direction."""

    queries: str  # language
    pool: str  # language
    errors: int
    n: int  # queries


class RetrievalEvaluator(TestSetEvaluator[Bitext]):
    """Finds each sentence's translation among all sentences of the other side.

    Args:
        name: prefix of the metrics.
        root: file or folder of the test sets, for ``read``.
        languages: which test sets, for ``read``; None is all.
        read: ``(root, languages)`` -> test sets.
        missing: a language without files is an ``error``, or left out with a ``note``.
        metric: ``accuracy``, percent found, or ``error``, percent not found (xSIM).
        margin, k, candidates: as in ``best_targets``; ``absolute`` is plain cosine. Of a side with fewer
            than ``k`` sentences all are neighbours.
        comparison: ``index``: row i must be found; ``textual``: a row with the same text will do, so
            identical sentences are one answer.

    Metrics:
        ``<name>/<deu-eng>/<metric>`` for either direction, ``<name>/<deu>/<metric>`` for the mean of
        the two, ``<name>/mean/<metric>`` over all languages and both directions; ``<name>/eng-xx/<metric>``
        over the directions with English queries and ``<name>/xx-eng/<metric>`` over those that search
        English, where there are any. An ``accuracy`` mean averages the languages; an ``error`` mean is
        that of LASER: errors over sentences.
    """

    def __init__(
        self,
        *,
        name: str,
        root: str | None,
        languages: Sequence[str] | None,
        read: Callable[[Any, Sequence[str] | None], Sequence[Bitext]],
        missing: str,
        metric: str,
        margin: str,
        k: int,
        candidates: str,
        comparison: str,
    ) -> None:
        super().__init__(name=name, root=root, wanted=languages, read=read, missing=missing)
        check_choice("metric", metric, METRICS)
        check_choice("margin", margin, MARGINS)
        check_choice("candidates", candidates, CANDIDATES)
        check_choice("comparison", comparison, COMPARISONS)
        if k < 1:
            raise ValueError(f"evaluator.k={k}: expected at least 1 neighbour")
        self.metric = metric
        self.margin = margin
        self.k = k
        self.candidates = candidates
        self.comparison = comparison

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``."""
        metrics: dict[str, float] = {}
        details: list[dict[str, object]] = []
        counted: list[Counted] = []
        for bitext in self.test_sets:
            x, y = self.rows(vectors, bitext.source), self.rows(vectors, bitext.target)
            there, back = best_targets(x, y, margin=self.margin, k=self.k, candidates=self.candidates)
            a, b = bitext.source_lang, bitext.target_lang
            figures = []
            for queries, pool, best, lines in [(a, b, there, bitext.target), (b, a, back, bitext.source)]:
                counted.append(Counted(queries, pool, self._errors(best, lines), len(best.rows)))
                figures.append(self._figure(counted[-1]))
                metrics[f"{self.name}/{queries}-{pool}/{self.metric}"] = figures[-1]
                details.append(self._detail(f"{queries}-{pool}", figures[-1], best, len(lines), zero_vectors(x, y)))
            metrics[f"{self.name}/{a if a != PIVOT else b}/{self.metric}"] = sum(figures) / 2
        metrics |= self._averages(counted)
        return Evaluation(metrics, details)

    def _averages(self, counted: Sequence[Counted]) -> dict[str, float]:
        groups = {
            "eng-xx": [direction for direction in counted if direction.queries == PIVOT],
            "xx-eng": [direction for direction in counted if direction.pool == PIVOT],
            "mean": counted,
        }
        return {f"{self.name}/{group}/{self.metric}": self._mean(some) for group, some in groups.items() if some}

    def _errors(self, best: Best, pool: list[str]) -> int:
        found = best.rows.tolist()
        if self.comparison == "index":
            return sum(row != expected for expected, row in enumerate(found))
        return sum(pool[row] != pool[expected] for expected, row in enumerate(found))

    def _figure(self, counted: Counted) -> float:
        return 100 * (counted.errors if self.metric == "error" else counted.n - counted.errors) / counted.n

    def _mean(self, counted: Sequence[Counted]) -> float:
        if self.metric == "error":
            return 100 * sum(one.errors for one in counted) / sum(one.n for one in counted)
        return sum(self._figure(one) for one in counted) / len(counted)

    def _detail(self, direction: str, figure: float, best: Best, pool: int, zeros: int) -> dict[str, object]:
        return {
            "evaluator": self.name, "direction": direction, self.metric: figure, "margin": self.margin, "k": self.k,
            "k_used": min(self.k, pool), "candidates": self.candidates, "comparison": self.comparison,
            "queries": len(best.rows), "pool": pool, "tied": best.tied.float().mean().item(), "zero_vectors": zeros,
            "missing_languages": " ".join(self.absent),
        }  # fmt: skip


def average_cosine_distance(a: Tensor, b: Tensor) -> float:
    """Mean of 1 - cosine over the rows of two aligned sets (N, D)."""
    return float((1 - torch.nn.functional.cosine_similarity(a.double(), b.double(), dim=-1)).mean())
