"""Retrieval between the sides of aligned test sets: accuracy (Tatoeba, FLORES, held-out pairs) and xSIM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import Tensor

from xsent.evaluation.evaluator import Encode, Evaluation
from xsent.evaluation.margin import CANDIDATES, MARGINS, Best, best_targets

COMPARISONS = ("index", "textual")
METRICS = ("accuracy", "error")


class Bitext(Protocol):
    """A test set whose ``target[i]`` translates ``source[i]``."""

    @property
    def source_lang(self) -> str: ...
    @property
    def target_lang(self) -> str: ...
    @property
    def source(self) -> list[str]: ...
    @property
    def target(self) -> list[str]: ...


class RetrievalEvaluator:
    """Finds each sentence's translation among all sentences of the other side.

    Args:
        name: prefix of the metrics.
        root: file or folder of the test sets, for ``read``.
        languages: which test sets, for ``read``; None is all.
        read: ``(root, languages)`` -> test sets.
        metric: ``accuracy``, percent found, or ``error``, percent not found (xSIM).
        margin, k, candidates: as in ``best_targets``; ``absolute`` is plain cosine.
        comparison: ``index``: row i must be found; ``textual``: a row with the same text will do, so
            identical sentences are one answer.

    Metrics:
        ``<name>/<deu-eng>/<metric>`` for either direction, ``<name>/<deu>/<metric>`` for the mean of
        the two, ``<name>/mean/<metric>`` over all languages and both directions. An ``accuracy`` mean
        averages the languages; an ``error`` mean is that of LASER: errors over sentences.
    """

    def __init__(
        self,
        *,
        name: str,
        root: str | None,
        languages: Sequence[str] | None,
        read: Callable[[Any, Sequence[str] | None], Sequence[Bitext]],
        metric: str,
        margin: str,
        k: int,
        candidates: str,
        comparison: str,
    ) -> None:
        for option, value, known in [
            ("metric", metric, METRICS),
            ("margin", margin, MARGINS),
            ("candidates", candidates, CANDIDATES),
            ("comparison", comparison, COMPARISONS),
        ]:
            if value not in known:
                raise ValueError(f"evaluator.{option}={value}: expected one of {', '.join(known)}")
        if k < 1:
            raise ValueError(f"evaluator.k={k}: expected at least 1 neighbour")
        self.name = name
        self.root = root
        self.languages = languages
        self.read = read
        self.metric = metric
        self.margin = margin
        self.k = k
        self.candidates = candidates
        self.comparison = comparison

    @cached_property
    def bitexts(self) -> Sequence[Bitext]:
        """The test sets, read at first use."""
        return self.read(self.root, self.languages)

    def check(self) -> None:
        """Read the test sets."""
        assert self.bitexts is not None

    @cached_property
    def _row_of(self) -> dict[str, int]:
        distinct = dict.fromkeys(
            text for bitext in self.bitexts for side in (bitext.source, bitext.target) for text in side
        )
        return {text: row for row, text in enumerate(distinct)}

    def sentences(self) -> list[str]:
        """The N distinct sentences of all test sets."""
        return list(self._row_of)

    def __call__(self, encode: Encode) -> dict[str, float]:
        """Figures of whatever ``encode`` makes of the sentences."""
        return self.score(encode(self.sentences())).metrics

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``."""
        metrics: dict[str, float] = {}
        details: list[dict[str, object]] = []
        counted = []
        for bitext in self.bitexts:
            x, y = (vectors[[self._row_of[text] for text in side]] for side in (bitext.source, bitext.target))
            there, back = best_targets(x, y, margin=self.margin, k=self.k, candidates=self.candidates)
            a, b = bitext.source_lang, bitext.target_lang
            zeros = sum(int((side == 0).all(dim=1).sum()) for side in (x, y))
            figures = []
            for name, best, pool in [(f"{a}-{b}", there, bitext.target), (f"{b}-{a}", back, bitext.source)]:
                errors = self._errors(best, pool)
                figures.append(self._figure(errors, len(best.rows)))
                counted.append((errors, len(best.rows)))
                metrics[f"{self.name}/{name}/{self.metric}"] = figures[-1]
                details.append(self._detail(name, figures[-1], best, len(pool), zeros))
            metrics[f"{self.name}/{a if a != 'eng' else b}/{self.metric}"] = sum(figures) / 2
        metrics[f"{self.name}/mean/{self.metric}"] = self._mean(counted)
        return Evaluation(metrics, details)

    def _errors(self, best: Best, pool: list[str]) -> int:
        found = best.rows.tolist()
        if self.comparison == "index":
            return sum(row != expected for expected, row in enumerate(found))
        return sum(pool[row] != pool[expected] for expected, row in enumerate(found))

    def _figure(self, errors: int, n: int) -> float:
        return 100 * (errors if self.metric == "error" else n - errors) / n

    def _mean(self, counted: list[tuple[int, int]]) -> float:
        if self.metric == "error":
            return 100 * sum(errors for errors, _ in counted) / sum(n for _, n in counted)
        return sum(self._figure(errors, n) for errors, n in counted) / len(counted)

    def _detail(self, direction: str, figure: float, best: Best, pool: int, zeros: int) -> dict[str, object]:
        return {
            "evaluator": self.name, "direction": direction, self.metric: figure, "margin": self.margin, "k": self.k,
            "candidates": self.candidates, "comparison": self.comparison, "queries": len(best.rows), "pool": pool,
            "tied": best.tied.float().mean().item(), "zero_vectors": zeros,
        }  # fmt: skip


def average_cosine_distance(a: Tensor, b: Tensor) -> float:
    """Mean of 1 - cosine over the rows of two aligned sets (N, D)."""
    return float((1 - torch.nn.functional.cosine_similarity(a.double(), b.double(), dim=-1)).mean())
