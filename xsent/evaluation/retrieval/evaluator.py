"""Bitext retrieval between aligned sides: accuracy (Tatoeba, FLORES, held-out pairs) and xSIM."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from torch import Tensor

from xsent.config_checks import check_choice
from xsent.evaluation.dataset_evaluator import PIVOT, LanguagesEvaluator
from xsent.evaluation.evaluator import Bitext, Evaluation
from xsent.evaluation.search.margin import Best, MarginSearch
from xsent.evaluation.statistics.items import Floats, Items, gap_items, mean_over, pooled

COMPARISONS = ("index", "textual")
METRICS = ("accuracy", "error")
AVERAGES = ("eng-xx", "xx-eng", "mean")  # of directions of several test sets


class Direction(NamedTuple):
    """Answers in one direction of a test set of N queries."""

    queries: str  # language
    pool: str  # language
    is_error: Sequence[bool]  # (N,)
    gaps: Floats  # (N,), margin gaps

    @property
    def item(self) -> str:
        """Name of the direction in metrics."""
        return f"{self.queries}-{self.pool}"


@dataclass(kw_only=True, eq=False, repr=False)
class RetrievalEvaluator(LanguagesEvaluator[Bitext]):
    """Searches the translation of each sentence among all sentences of the other side.

    Args:
        metric: ``accuracy``, percent of correct answers, or ``error``, percent of wrong answers (xSIM).
        margin, k, candidates: as in ``best_targets``; ``absolute`` is plain cosine. On a side with fewer than ``k``
            sentences, all are neighbours.
        comparison: ``index``: row i is the only right answer; ``textual``: rows with the same text are right, too.

    Metrics:
        ``<name>/<deu-eng>/<metric>`` of each direction, ``<name>/<deu>/<metric>``, the mean of both,
        ``<name>/mean/<metric>`` over all languages and both directions; ``<name>/eng-xx/<metric>`` over the directions
        with English queries and ``<name>/xx-eng/<metric>`` over those that search English, where there are any. A mean
        ``accuracy`` averages languages; a mean ``error`` is LASER's: errors over sentences. Of the same items
        ``margin_gap``, the mean of ``Answers.gaps``, and ``margin_gap_p5``, their percentile 5.
    """

    metric: str
    margin: str
    k: int
    candidates: str
    comparison: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("evaluator.metric", self.metric, METRICS)
        check_choice("evaluator.comparison", self.comparison, COMPARISONS)
        self.search = MarginSearch(self.margin, self.k, self.candidates)

    def metric_names(self) -> list[str]:
        pairs = [(bitext.source_lang, bitext.target_lang) for bitext in self.test_sets]
        placeholder = [False], np.zeros(1)
        return list(self._outcomes([Direction(*langs, *placeholder) for a, b in pairs for langs in ((a, b), (b, a))]))

    def score(self, vectors: Tensor) -> Evaluation:
        details: list[dict[str, object]] = []
        directions: list[Direction] = []
        for bitext in self.test_sets:
            x, y = self.rows(vectors, bitext.source), self.rows(vectors, bitext.target)
            forward, backward = self.search(x, y)
            a, b = bitext.source_lang, bitext.target_lang
            for queries, pool, answers, texts in [(a, b, forward, bitext.target), (b, a, backward, bitext.source)]:
                gaps = answers.gaps(texts if self.comparison == "textual" else None)
                directions.append(Direction(queries, pool, self._errors(answers.best, texts), gaps))
                row = {self.metric: self._items(directions[-1]).value(), **self.search.conditions(len(texts))}
                row |= {"comparison": self.comparison, "queries": len(gaps), "pool": len(texts)}
                tied = answers.best.tied.float().mean().item()
                details.append(self.detail(directions[-1].item, x, y, **row, tied=tied))
        outcomes = self._outcomes(directions)
        return Evaluation({name: items.value() for name, items in outcomes.items()}, details, outcomes=outcomes)

    def _outcomes(self, directions: Sequence[Direction]) -> dict[str, Items]:
        """Items of each metric."""
        groups: dict[str, list[Direction]] = {}
        for both in zip(directions[::2], directions[1::2], strict=True):
            groups |= {direction.item: [direction] for direction in both}
            a, b = both[0].queries, both[0].pool
            groups[a if a != PIVOT else b] = list(both)
        groups |= {
            "eng-xx": [direction for direction in directions if direction.queries == PIVOT],
            "xx-eng": [direction for direction in directions if direction.pool == PIVOT],
            "mean": list(directions),
        }
        outcomes: dict[str, Items] = {}
        for item, group in groups.items():
            if group:
                combine = pooled if self.metric == "error" and item in AVERAGES else mean_over
                items = {self.metric: combine(map(self._items, group))}
                items |= gap_items(combine([Items.of("mean", direction.gaps) for direction in group]))
                outcomes |= {f"{self.name}/{item}/{kind}": of_kind for kind, of_kind in items.items()}
        return outcomes

    def _items(self, direction: Direction) -> Items:
        # The accuracy counts right answers, the error wrong ones.
        return Items.percentage([error == (self.metric == "error") for error in direction.is_error])

    def _errors(self, best: Best, pool: list[str]) -> list[bool]:
        is_textual = self.comparison == "textual"
        answers = enumerate(best.rows.tolist())
        return [row != right and not (is_textual and pool[row] == pool[right]) for right, row in answers]
