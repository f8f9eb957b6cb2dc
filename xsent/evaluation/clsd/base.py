"""Base class of evaluators of cross-lingual semantic discrimination: sets of items with distractors, their cosines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xsent.evaluation.dataset_evaluator import DatasetEvaluator
from xsent.evaluation.evaluator import Bitext, direction
from xsent.similarity import pairwise_cos_sim

Bools = NDArray[np.bool_]


class Corpus(Bitext, Protocol):
    """Parallel sentences of one corpus with their ids."""

    name: str
    ids: list[str]


class ClsdSet(Corpus, Protocol):
    """N items of one corpus and direction: sources, their translations and K distractors of each translation."""

    distractors: list[list[str]]


class CandidateScores(NamedTuple):
    """Cosines of N items with K distractors each."""

    cosines: NDArray[np.float32]  # (N, 1 + K) of the source with the translation, then with each distractor
    nearest: NDArray[np.int64]  # (N,) distractor nearest to the source, from 0, the first on ties

    @property
    def nearest_cosines(self) -> NDArray[np.float32]:
        """Cosine of the source with the nearest distractor: (N,)."""
        return np.asarray(self.cosines[:, 1:].max(axis=1))

    @property
    def margins(self) -> NDArray[np.float32]:
        """Cosine of the translation minus that of the nearest distractor: (N,)."""
        return self.cosines[:, 0] - self.nearest_cosines

    @property
    def right(self) -> Bools:
        """Whether the translation is strictly nearer than every distractor: (N,)."""
        return np.asarray(self.margins > 0)

    @property
    def tied(self) -> Bools:
        """Whether translation and nearest distractor are equally near, which is an error: (N,)."""
        return np.asarray(self.margins == 0)


@dataclass(kw_only=True, eq=False, repr=False)
class ClsdSetsEvaluator(DatasetEvaluator[ClsdSet]):
    """Reads sets of items."""

    requested_by = "directions"
    directions: Sequence[str] | None  # for ``read``; ``deu-fra`` has German sources and French candidates

    def texts(self) -> list[str]:
        distractors = (text for items in self.all_sets() for row in items.distractors for text in row)
        return [*super().texts(), *distractors]

    def score_own(self, items: ClsdSet, vectors: Tensor) -> CandidateScores:
        """Scores of each item's candidates, from the embeddings (N, D) of ``sentences()``."""
        columns = map(list, zip(*candidates_of(items), strict=True))
        return score_candidates(self.rows(vectors, items.source), [self.rows(vectors, column) for column in columns])


def candidates_of(items: ClsdSet) -> list[list[str]]:
    """Candidates of each item: the translation, then its distractors."""
    return [[text, *distractors] for text, distractors in zip(items.target, items.distractors, strict=True)]


def item_name(items: ClsdSet) -> str:
    """Name of a set in metrics: ``wmt19_deu-fra``."""
    return f"{items.name}_{direction(items)}"


def score_candidates(source: Tensor, candidates: Sequence[Tensor]) -> CandidateScores:
    """Compare sources with their candidates in float32.

    Args:
        source: (N, D).
        candidates: 1 + K tensors (N, D): the translations, then each row's first distractor, second distractor etc.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), P@1; the strict inequality is that of the released notebook.
    """
    # The same operation and memory layout for all candidates, so that equal vectors have bit-identical cosines.
    columns = [pairwise_cos_sim(source.float(), column.float().contiguous()) for column in candidates]
    cosines: NDArray[np.float32] = torch.stack(columns, dim=1).numpy(force=True)  # (N, 1 + K)
    return CandidateScores(cosines, cosines[:, 1:].argmax(axis=1).astype(np.int64))


def percent(flags: Bools) -> float:
    """Percentage of true values."""
    return 100 * float(flags.mean())
