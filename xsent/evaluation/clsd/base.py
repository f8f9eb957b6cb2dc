"""Base class of evaluators of cross-lingual semantic discrimination: sets of items with distractors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from xsent.evaluation.clsd.candidate_scores import CandidateScores, score_candidates
from xsent.evaluation.dataset_evaluator import DatasetEvaluator
from xsent.evaluation.evaluator import Bitext, direction


class Corpus(Bitext, Protocol):
    """Parallel sentences of one corpus with their ids."""

    name: str
    ids: list[str]


class ClsdSet(Corpus, Protocol):
    """N items of one corpus and direction: sources, their translations and K distractors of each translation."""

    distractors: list[list[str]]


@dataclass(kw_only=True, eq=False, repr=False)
class ClsdSetsEvaluator(DatasetEvaluator[ClsdSet]):
    """Reads sets of items.

    Args:
        directions: requested directions, for ``read``; ``deu-fra`` has German sources and French candidates.
    """

    directions: Sequence[str] | None

    @property
    def requested(self) -> Sequence[str] | None:
        return self.directions

    def texts(self) -> list[str]:
        distractors = (text for items in self.all_sets() for row in items.distractors for text in row)
        return [*super().texts(), *distractors]

    def score_own(self, items: ClsdSet, vectors: Tensor) -> CandidateScores:
        """Scores of each item's candidates."""
        columns = map(list, zip(*candidates_of(items), strict=True))
        return score_candidates(self.rows(vectors, items.source), [self.rows(vectors, column) for column in columns])


def candidates_of(items: ClsdSet) -> list[list[str]]:
    """Candidates of each item: the translation, then its distractors."""
    return [[text, *distractors] for text, distractors in zip(items.target, items.distractors, strict=True)]


def item_name(items: ClsdSet) -> str:
    """Name of a set in metrics: ``wmt19_deu-fra``."""
    return f"{items.name}_{direction(items)}"
