"""Cross-lingual semantic discrimination (CLSD): P@1 of translations among similar sentences with another meaning."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from xsent.evaluation.charts import Histogram, Panel
from xsent.evaluation.clsd.base import CandidateScores, ClsdSet, ClsdSetsEvaluator, candidates_of, item_name
from xsent.evaluation.clsd.tables import (
    ErrorBucket,
    Row,
    ScoredSet,
    SetScores,
    difficulty_rows,
    error_buckets,
    item_rows,
    set_items,
    set_metrics,
)
from xsent.evaluation.dataset_evaluator import zero_vectors
from xsent.evaluation.evaluator import Evaluation, base_encoder

log = logging.getLogger(__name__)

Truncated = Callable[[Sequence[str]], NDArray[np.bool_]]


@dataclass(kw_only=True, eq=False, repr=False)
class ClsdEvaluator(ClsdSetsEvaluator):
    """Share of the items whose translation is strictly nearer to the source than all its distractors.

    Args:
        pivot: ``xsent.data.test_sets.clsd_pivot.Pivot``; gives the sets with every text in one language, item by item,
            which are scored in the same way, or None.
        levenshtein, jaccard: ascending edges of the buckets that errors are counted in, by lexical similarity of the
            translation and the nearest distractor: of characters (``Levenshtein.ratio``) and of words. A bucket
            includes its lower edge, the last one both edges.

    Metrics:
        ``<name>/<set>_<deu-fra>/p_at_1``, percent; ``ties``, number of errors where the nearest distractor is as near
        as the translation; ``truncated``, number of candidates that exceed the encoder's ``max_length``.
        ``<name>/mean/p_at_1``, unweighted mean over the sets, as in the paper. Of the same items ``margin_gap``, mean
        cosine of the translation minus that of the nearest distractor, and ``margin_gap_p5``, percentile 5.
        By language of the candidates, corpora pooled: ``<name>/<fra>/errors``, their number, and
        ``levenshtein_0.9_to_1``, ``jaccard_...``, percent of them.
        With a pivot: ``pivot_p_at_1``, ``pivot_margin_gap`` etc., ``pivot_ties``, ``pivot_truncated`` of the same
        items in the pivot language, and
        the number of items that are right ``only_direct`` and ``only_pivot``, of sets and of languages.

    Tables:
        ``<name>_items``: a row for each item with result, cosines, nearest distractor and its lexical similarity;
        ``<name>_buckets`` and ``<name>_difficulty``; with a pivot ``<name>_disagreements``.

    Source:
        Michail, Clematide, Sennrich 2025 (arXiv:2502.08638).
    """

    pivot: Any
    levenshtein: Sequence[float]
    jaccard: Sequence[float]
    _truncated: Truncated | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.edges = {"levenshtein": list(self.levenshtein), "jaccard": list(self.jaccard)}
        for option, edges in self.edges.items():
            if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
                raise ValueError(f"evaluator.{option}={edges}: expected two edges or more, ascending")

    # ---- reading

    def bind(self, data: object | None, *, split: str, device: str) -> None:
        super().bind(data, split=split, device=device)
        self.pivot.device = device

    def bind_encoder(self, encoder: object) -> None:
        super().bind_encoder(encoder)
        self._truncated = getattr(base_encoder(encoder), "truncated", None)
        self.__dict__.pop("_is_truncated", None)

    def check(self) -> None:
        """Read the sets, and check that the pivot fits them; nothing is translated yet."""
        super().check()
        self.pivot.check(self.test_sets)

    @cached_property
    def _pivot_sets(self) -> Sequence[ClsdSet] | None:
        """The sets in the pivot language, translated at first use."""
        sets: Sequence[ClsdSet] | None = self.pivot(self.test_sets)
        return sets

    def all_sets(self) -> Sequence[ClsdSet]:
        return [*self.test_sets, *(self._pivot_sets or ())]

    # ---- scoring

    def metric_names(self) -> list[str]:
        def placeholder(items: ClsdSet) -> ScoredSet:
            cosines = np.zeros((len(items.source), 1 + len(items.distractors[0])), dtype=np.float32)
            cosines[:, 0] = 1
            return ScoredSet(items, CandidateScores(cosines, np.zeros(len(cosines), dtype=np.int64)), None, 0)

        sets = self._score_sets(placeholder)
        return list(self._metrics(sets, error_buckets(sets, self.edges)))

    def score(self, vectors: Tensor) -> Evaluation:
        sets = self._score_sets(lambda items: self._score_set(items, vectors))
        counted = error_buckets(sets, self.edges)
        rows, disagreements = item_rows(sets)
        tables: dict[str, list[Row]] = {
            f"{self.name}_items": rows,
            f"{self.name}_buckets": [bucket._asdict() for bucket in counted],
            f"{self.name}_difficulty": self._difficulty,
        }
        if self._pivot_sets is not None:
            tables[f"{self.name}_disagreements"] = disagreements
        details = [row for scored in sets for row in self._details(scored)]
        outcomes = {f"{self.name}/{name}": items for name, items in set_items(sets).items()}
        return Evaluation(self._metrics(sets, counted), details, [self._chart(sets)], tables, outcomes)

    def _score_sets(self, score: Callable[[ClsdSet], ScoredSet]) -> list[SetScores]:
        direct = [score(items) for items in self.test_sets]
        if self._pivot_sets is None:
            return [SetScores(scored, None) for scored in direct]
        return [SetScores(scored, score(items)) for scored, items in zip(direct, self._pivot_sets, strict=True)]

    def _metrics(self, sets: Sequence[SetScores], counted: Sequence[ErrorBucket]) -> dict[str, float]:
        figures = {f"{item}/{name}": value for item, row in set_metrics(sets).items() for name, value in row.items()}
        figures |= {f"{bucket.language}/{bucket.measure}_{bucket.bucket}": bucket.percent for bucket in counted}
        figures |= {name: items.value() for name, items in set_items(sets).items() if name not in figures}
        return {f"{self.name}/{item}": value for item, value in figures.items()}

    def _score_set(self, items: ClsdSet, vectors: Tensor) -> ScoredSet:
        candidates, flags = candidates_of(items), self._is_truncated
        truncated = None if flags is None else np.array([[flags[text] for text in row] for row in candidates])
        texts = [*items.source, *(text for row in candidates for text in row)]
        return ScoredSet(items, self.score_own(items, vectors), truncated, zero_vectors(self.rows(vectors, texts)))

    @cached_property
    def _is_truncated(self) -> Mapping[str, bool] | None:
        """Whether the encoder truncates each candidate; None: unknown."""
        if self._truncated is None:
            return None
        rows = (row for items in self.all_sets() for row in [items.target, *items.distractors])
        texts = list(dict.fromkeys(text for row in rows for text in row))
        return dict(zip(texts, self._truncated(texts).tolist(), strict=True))

    @cached_property
    def _difficulty(self) -> list[Row]:
        rows = difficulty_rows(self.test_sets)
        for row in rows:
            log.info(
                "%(set)s, candidates in %(language)s: Jaccard of distractors with their originals"
                " %(original_jaccard_mean).3f (sd %(original_jaccard_sd).3f), among themselves"
                " %(intra_jaccard_mean).3f (sd %(intra_jaccard_sd).3f)",
                row,
            )
        return rows

    def _details(self, scored_set: SetScores) -> list[dict[str, object]]:
        items = scored_set.direct.items
        (difficulty,) = (
            row for row in self._difficulty if (row["set"], row["language"]) == (items.name, items.target_lang)
        )
        return [
            self.detail(
                item_name(items),
                way=way,
                translated_by="" if way == "direct" else self.pivot.made_by(items),
                distractor_jaccard=f"{difficulty['original_jaccard_mean']:.3f}",  # with the originals
                **scored.metrics(),
                comparison="strict",
                queries=len(scored.items.source),
                pool=scored.scores.cosines.shape[1],
                tied=scored.scores.tied.mean().item(),
            )
            | {"zero_vectors": scored.zero_vectors}
            for way, scored in (("direct", scored_set.direct), ("pivot", scored_set.pivot))
            if scored is not None
        ]

    def _chart(self, sets: Sequence[SetScores]) -> Histogram:
        panels = []
        for items, scores, *_ in (scored.direct for scored in sets):
            margins = scores.margins.astype(np.float64)
            values = {"right": margins[scores.right], "wrong": margins[~scores.right]}
            panels.append(Panel(item_name(items), values, None))
        label = "lead over the nearest distractor (cosine)"
        title = f"How clearly translations win: {self.name}"
        return Histogram(f"{self.name}_margins", title, label, "items", "", panels)
