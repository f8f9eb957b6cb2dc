"""xSIM++: retrieval of the translation among hard negatives made from it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from torch import Tensor

from xsent.evaluation.dataset_evaluator import LanguagesEvaluator
from xsent.evaluation.evaluator import Bitext, Evaluation, direction
from xsent.evaluation.search.margin import MarginSearch
from xsent.evaluation.statistics.items import Floats, Items, gap_items, pooled

MISALIGNED = "misaligned"  # any wrong sentence except a negative of the right one


class AugmentedBitext(Bitext, Protocol):
    """A test set with hard negatives of the target side."""

    augmented: list[str]
    made_from: Mapping[str, tuple[str, str]]  # target sentence and error type of each negative


class Errors(NamedTuple):
    """Answers to the N sources of a test set."""

    kinds: Sequence[str]  # (N,) error type, or "" for a right answer
    gaps: Floats  # (N,), margin gaps


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
        pools the sources of all languages: errors over sentences, as LASER does. ``<name>/<deu>/margin_gap``, the mean
        of ``Answers.gaps``, and ``margin_gap_p5``, their percentile 5.

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
        return list(self._outcomes([Errors([""], np.zeros(1))] * len(self.test_sets)))

    def score(self, vectors: Tensor) -> Evaluation:
        details: list[dict[str, object]] = []
        errors: list[Errors] = []
        for test_set in self.test_sets:
            pool = test_set.target + test_set.augmented
            x, y = self.rows(vectors, test_set.source), self.rows(vectors, pool)
            answers, _ = self.search(x, y)
            best = answers.best
            errors.append(Errors(_errors(test_set, (pool[row] for row in best.rows.tolist())), answers.gaps(pool)))
            figures = {kind: items.value() for kind, items in self._items([errors[-1]]).items()}
            row = {**figures, **self.search.conditions(len(pool)), "comparison": "textual"}
            row |= {"queries": len(best.rows), "pool": len(pool), "tied": best.tied.float().mean().item()}
            details.append(self.detail(direction(test_set), x, y, **row))
        outcomes = self._outcomes(errors)
        return Evaluation({name: items.value() for name, items in outcomes.items()}, details, outcomes=outcomes)

    def _outcomes(self, errors: Sequence[Errors]) -> dict[str, Items]:
        """Items of each metric."""
        groups = {test_set.source_lang: [of_set] for test_set, of_set in zip(self.test_sets, errors, strict=True)}
        groups["mean"] = list(errors)
        return {
            f"{self.name}/{item}/{kind}": items
            for item, group in groups.items()
            for kind, items in self._items(group).items()
        }

    def _items(self, group: Sequence[Errors]) -> dict[str, Items]:
        """Items of each kind of metric, the sources of all sets together."""
        types = sorted({kind for test_set in self.test_sets for _, kind in test_set.made_from.values()})
        counted = {"error": {*types, MISALIGNED}} | {kind: {kind} for kind in (*types, MISALIGNED)}
        items = {
            name: pooled(Items.percentage([kind in kinds for kind in of_set.kinds]) for of_set in group)
            for name, kinds in counted.items()
        }
        return items | gap_items(pooled(Items.of("mean", of_set.gaps) for of_set in group))


def _errors(test_set: AugmentedBitext, answers: Iterable[str]) -> list[str]:
    errors = []
    for text, expected in zip(answers, test_set.target, strict=True):
        made_from, kind = test_set.made_from.get(text, ("", MISALIGNED))
        errors.append("" if text == expected else kind if made_from == expected else MISALIGNED)
    return errors
