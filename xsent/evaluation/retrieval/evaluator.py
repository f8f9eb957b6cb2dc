"""Bitext retrieval between aligned sides: accuracy (Tatoeba, FLORES, held-out pairs) and xSIM."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from xsent.config_checks import check_choice
from xsent.evaluation.dataset_evaluator import PIVOT, LanguagesEvaluator
from xsent.evaluation.evaluator import Bitext, Evaluation
from xsent.evaluation.search.margin import Best, MarginSearch

COMPARISONS = ("index", "textual")
METRICS = ("accuracy", "error")


class Direction(NamedTuple):
    """Errors in one direction of a test set."""

    queries: str  # language
    pool: str  # language
    errors: int
    n: int  # queries

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
        ``accuracy`` averages languages; a mean ``error`` is LASER's: errors over sentences.
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
        return list(self._metrics([Direction(*langs, 0, 1) for a, b in pairs for langs in ((a, b), (b, a))]))

    def score(self, vectors: Tensor) -> Evaluation:
        details: list[dict[str, object]] = []
        directions: list[Direction] = []
        outcomes: dict[str, list[bool]] = {}
        for bitext in self.test_sets:
            x, y = self.rows(vectors, bitext.source), self.rows(vectors, bitext.target)
            forward, backward = self.search(x, y)
            a, b = bitext.source_lang, bitext.target_lang
            for queries, pool, best, texts in [(a, b, forward, bitext.target), (b, a, backward, bitext.source)]:
                is_error = self._errors(best, texts)
                direction = Direction(queries, pool, sum(is_error), len(best.rows))
                directions.append(direction)
                # The accuracy counts right answers, the error wrong ones.
                counted = [error == (self.metric == "error") for error in is_error]
                outcomes[f"{self.name}/{direction.item}/{self.metric}"] = counted
                row = {self.metric: self._figure(direction), **self.search.conditions(len(texts))}
                row |= {"comparison": self.comparison, "queries": direction.n, "pool": len(texts)}
                tied = best.tied.float().mean().item()
                details.append(self.detail(direction.item, x, y, **row, tied=tied))
        return Evaluation(self._metrics(directions), details, outcomes=outcomes)

    def _metrics(self, directions: Sequence[Direction]) -> dict[str, float]:
        figures: dict[str, float] = {}
        for both in zip(directions[::2], directions[1::2], strict=True):
            figures |= {one_way.item: self._figure(one_way) for one_way in both}
            a, b = both[0].queries, both[0].pool
            figures[a if a != PIVOT else b] = sum(map(self._figure, both)) / 2
        groups = {
            "eng-xx": [direction for direction in directions if direction.queries == PIVOT],
            "xx-eng": [direction for direction in directions if direction.pool == PIVOT],
            "mean": directions,
        }
        figures |= {name: self._mean(group) for name, group in groups.items() if group}
        return {f"{self.name}/{item}/{self.metric}": value for item, value in figures.items()}

    def _errors(self, best: Best, pool: list[str]) -> list[bool]:
        is_textual = self.comparison == "textual"
        answers = enumerate(best.rows.tolist())
        return [row != right and not (is_textual and pool[row] == pool[right]) for right, row in answers]

    def _figure(self, direction: Direction) -> float:
        count = direction.errors if self.metric == "error" else direction.n - direction.errors
        return 100 * count / direction.n

    def _mean(self, directions: Sequence[Direction]) -> float:
        if self.metric == "error":
            return 100 * sum(direction.errors for direction in directions) / sum(row.n for row in directions)
        return sum(map(self._figure, directions)) / len(directions)
