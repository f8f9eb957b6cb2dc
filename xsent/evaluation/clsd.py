"""Cross-lingual semantic discrimination: does the translation beat near-copies of it that mean something else?"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from xsent.evaluation.charts import Histogram, Panel
from xsent.evaluation.clsd_results import (
    Compared,
    JudgedSet,
    Row,
    difficulty_rows,
    disagreement_rows,
    error_buckets,
    figures,
    item_rows,
)
from xsent.evaluation.clsd_sets import ClsdSet, ClsdSetsEvaluator
from xsent.evaluation.discrimination import verdicts
from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.test_sets import zero_vectors

log = logging.getLogger(__name__)

Cuts = Callable[[Sequence[str]], NDArray[np.bool_]]


class Pivot(Protocol):
    """Has the same sets with every text in one language."""

    def check(self, sets: Sequence[Any]) -> None:
        """Raise ``ValueError``, before any long work, if it does not fit the sets."""
        ...

    def __call__(self, sets: Sequence[Any]) -> Sequence[ClsdSet] | None:
        """The sets in the pivot language, item for item; None: no pivot was asked for."""
        ...


class ClsdEvaluator(ClsdSetsEvaluator):
    """Share of the items whose translation is strictly nearer to the source than all its distractors.

    Args:
        name, root, directions, read, missing: as in ``ClsdSetsEvaluator``.
        pivot: has the sets in another language; what it gives is compared in the same way.
        levenshtein, jaccard: edges of the buckets that errors are counted in, ascending, by how similar the translation
            and the nearest distractor are worded: by characters (``Levenshtein.ratio``) and by words. Each bucket holds
            its lower edge, the last one both.

    Metrics:
        ``<name>/<set>_<deu-fra>/p_at_1``, percent; ``ties``, how many items are errors because the nearest distractor
        is as near as the translation; ``truncated``, how many candidates the encoder does not read to their end.
        ``<name>/mean/p_at_1``, over the sets, unweighted, as the paper has it.
        By language of the candidates, its corpora pooled, ``<name>/<fra>/errors``, how many, and
        ``levenshtein_0.9_to_1``, ``jaccard_...``: percent of them.
        With a pivot: ``pivot_p_at_1``, ``pivot_ties``, ``pivot_truncated`` of the same items in the pivot language, and
        how many items ``only_direct`` gets right and ``only_pivot``, of sets and of languages.

    Tables:
        ``<name>_items``: a row for each item, with verdict, cosines, the nearest distractor and how similar it is
        worded; ``<name>_buckets`` and ``<name>_difficulty``; with a pivot ``<name>_disagreements``.

    Source:
        Michail, Clematide, Sennrich 2025 (arXiv:2502.08638).
    """

    def __init__(
        self,
        *,
        name: str,
        root: str | None,
        directions: Sequence[str] | None,
        read: Callable[[Any, Sequence[str] | None], Sequence[ClsdSet]],
        missing: str,
        pivot: Pivot,
        levenshtein: Sequence[float],
        jaccard: Sequence[float],
    ) -> None:
        super().__init__(name=name, root=root, directions=directions, read=read, missing=missing)
        self.edges = {"levenshtein": list(levenshtein), "jaccard": list(jaccard)}
        for option, edges in self.edges.items():
            if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
                raise ValueError(f"evaluator.{option}={edges}: expected two edges or more, ascending")
        self.pivot = pivot
        self._cuts: Cuts | None = None

    @property
    def cuts(self) -> Cuts | None:
        """Whether the encoder that is scored cuts each of some sentences; None: not known."""
        return self._cuts

    @cuts.setter
    def cuts(self, cuts: Cuts | None) -> None:
        self._cuts = cuts
        self.__dict__.pop("_is_cut", None)  # that of another encoder

    # ---- what is read

    def check(self) -> None:
        """Read the sets, and look whether the pivot fits them; nothing is translated yet."""
        super().check()
        self.pivot.check(self.test_sets)

    @cached_property
    def _pivoted(self) -> Sequence[ClsdSet] | None:
        """The sets in the pivot language, translated when first needed."""
        return self.pivot(self.test_sets)

    def everything_read(self) -> Sequence[ClsdSet]:
        """The sets, and the same in the pivot language."""
        return [*self.test_sets, *(self._pivoted or ())]

    # ---- what is scored

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``."""
        direct = [self._judged(items, vectors) for items in self.test_sets]
        pivot: list[JudgedSet | None] = [None] * len(direct)
        if self._pivoted is not None:
            pivot = [self._judged(items, vectors) for items in self._pivoted]
        found = [Compared(*both) for both in zip(direct, pivot, strict=True)]
        counted = error_buckets(found, self.edges)
        metrics = {
            f"{self.name}/{item}/{name}": value for item, row in figures(found).items() for name, value in row.items()
        }
        metrics |= {f"{self.name}/{one.language}/{one.measure}_{one.bucket}": one.percent for one in counted}
        tables: dict[str, list[Row]] = {
            "items": item_rows(found),
            "buckets": [one._asdict() for one in counted],
            "difficulty": self._difficulty,
        }
        if self._pivoted is not None:
            tables["disagreements"] = disagreement_rows(found)
        details = [row for one in found for row in self._details(one)]
        named = {f"{self.name}_{name}": rows for name, rows in tables.items()}
        return Evaluation(metrics, details, [self._chart(found)], named)

    def _judged(self, items: ClsdSet, vectors: Tensor) -> JudgedSet:
        columns = [items.target, *map(list, zip(*items.distractors, strict=True))]
        source, candidates = self.rows(vectors, items.source), [self.rows(vectors, column) for column in columns]
        is_cut = self._is_cut
        cut = None if is_cut is None else np.array([[is_cut[text] for text in column] for column in columns]).T
        return JudgedSet(items, verdicts(source, candidates), cut, zero_vectors(source, *candidates))

    @cached_property
    def _is_cut(self) -> Mapping[str, bool] | None:
        """Of each candidate."""
        if self.cuts is None:
            return None
        rows = (row for items in self.everything_read() for row in [items.target, *items.distractors])
        texts = list(dict.fromkeys(text for row in rows for text in row))
        return dict(zip(texts, self.cuts(texts).tolist(), strict=True))

    @cached_property
    def _difficulty(self) -> list[Row]:
        """Worked out once, however often an encoder is scored in training."""
        rows = difficulty_rows(self.test_sets)
        for row in rows:
            log.info(
                "%s, candidates in %s: Jaccard of distractors with their originals %.3f (sd %.3f), among themselves"
                " %.3f (sd %.3f)",
                row["set"], row["language"], row["original_jaccard_mean"], row["original_jaccard_sd"],
                row["intra_jaccard_mean"], row["intra_jaccard_sd"],
            )  # fmt: skip
        return rows

    def _details(self, one: Compared) -> list[dict[str, object]]:
        return [
            {
                "evaluator": self.name, "direction": one.item, "way": way, **judged.figures(),
                "comparison": "strict", "queries": len(judged.items.source), "pool": judged.verdicts.cosines.shape[1],
                "tied": judged.verdicts.tied.mean().item(), "zero_vectors": judged.zero_vectors,
                "missing_languages": " ".join(self.absent),
            }
            for way, judged in (("direct", one.direct), ("pivot", one.pivot))
            if judged is not None
        ]  # fmt: skip

    def _chart(self, found: Sequence[Compared]) -> Histogram:
        panels = []
        for one in found:
            verdict = one.direct.verdicts
            margins = verdict.margins.astype(np.float64)
            panels.append(Panel(one.item, {"right": margins[verdict.right], "wrong": margins[~verdict.right]}, None))
        label = "lead over the nearest distractor (cosine)"
        return Histogram(
            f"{self.name}_margins", f"How clearly translations win: {self.name}", label, "items", "", panels
        )
