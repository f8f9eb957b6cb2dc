"""xSIM++: retrieval of the translation among hard negatives made from it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from torch import Tensor

from xsent.evaluation.dataset_evaluator import LanguagesEvaluator
from xsent.evaluation.evaluator import Bitext, Evaluation, direction
from xsent.evaluation.search.margin import MarginSearch

MISALIGNED = "misaligned"  # any wrong sentence except a negative of the right one


class AugmentedBitext(Bitext, Protocol):
    """A test set with hard negatives of the target side."""

    augmented: list[str]
    made_from: Mapping[str, tuple[str, str]]  # target sentence and error type of each negative


class ErrorCounts(NamedTuple):
    """Errors among the sources of a test set."""

    errors: Counter[str]  # by type
    n: int  # sources


@dataclass(kw_only=True, eq=False, repr=False)
class XsimppEvaluator(LanguagesEvaluator[AugmentedBitext]):
    """Share of sources whose best target, among the translations and all hard negatives, has another text.

    Args:
        read: ``(root, languages)`` -> test sets; the same negatives for each language.
        margin, k, candidates: as in ``best_targets``. Neighbours of a source are searched among the targets and
            negatives, those of a target among the sources.

    Metrics:
        ``<name>/<deu>/error`` in percent of the sources, and its parts: ``<name>/<deu>/<error type>``, a negative made
        from the right sentence won, and ``<name>/<deu>/misaligned``, another wrong sentence won. ``<name>/mean/...``
        pools the sources of all languages: errors over sentences, as LASER does.

    Source:
        Chen et al. 2023 (arXiv:2306.12907); LASER's xsim.py, with textual comparison.
    """

    margin: str
    k: int
    candidates: str

    def __post_init__(self) -> None:
        super().__post_init__()
        self.search = MarginSearch(self.margin, self.k, self.candidates)

    def texts(self) -> list[str]:
        return super().texts() + [text for test_set in self.test_sets for text in test_set.augmented]

    def metric_names(self) -> list[str]:
        return list(self._metrics([ErrorCounts(Counter(), 1)] * len(self.test_sets)))

    def score(self, vectors: Tensor) -> Evaluation:
        details: list[dict[str, object]] = []
        counts: list[ErrorCounts] = []
        for test_set in self.test_sets:
            pool = test_set.target + test_set.augmented
            x, y = self.rows(vectors, test_set.source), self.rows(vectors, pool)
            best, _ = self.search(x, y)
            counts.append(ErrorCounts(_errors(test_set, (pool[row] for row in best.rows.tolist())), len(best.rows)))
            row = {**self._figures(counts[-1]), **self.search.conditions(len(pool)), "comparison": "textual"}
            row |= {"queries": len(best.rows), "pool": len(pool), "tied": best.tied.float().mean().item()}
            details.append(self.detail(direction(test_set), x, y, **row))
        return Evaluation(self._metrics(counts), details)

    def _metrics(self, counts: Sequence[ErrorCounts]) -> dict[str, float]:
        by_item = {test_set.source_lang: count for test_set, count in zip(self.test_sets, counts, strict=True)}
        by_item["mean"] = ErrorCounts(
            sum((count.errors for count in counts), Counter()), sum(count.n for count in counts)
        )
        return {
            f"{self.name}/{item}/{kind}": value
            for item, count in by_item.items()
            for kind, value in self._figures(count).items()
        }

    def _figures(self, count: ErrorCounts) -> dict[str, float]:
        types = sorted({kind for test_set in self.test_sets for _, kind in test_set.made_from.values()})
        parts = {kind: count.errors[kind] for kind in (*types, MISALIGNED)}
        return {kind: 100 * n / count.n for kind, n in {"error": count.errors.total(), **parts}.items()}


def _errors(test_set: AugmentedBitext, answers: Iterable[str]) -> Counter[str]:
    errors: Counter[str] = Counter()
    for text, expected in zip(answers, test_set.target, strict=True):
        if text != expected:
            made_from, kind = test_set.made_from.get(text, ("", MISALIGNED))
            errors[kind if made_from == expected else MISALIGNED] += 1
    return errors
