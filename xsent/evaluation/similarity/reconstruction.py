"""Reconstruction: how much of the vectors of one space a linear map of another space's vectors gives back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from xsent.evaluation.dataset_evaluator import LanguagesEvaluator
from xsent.evaluation.evaluator import Bitext, Evaluation
from xsent.evaluation.similarity.language_probe import Labelled, split_by_translation
from xsent.evaluation.statistics.items import Items

Vectors = NDArray[np.float64]  # (N, D)


@dataclass(kw_only=True, eq=False, repr=False)
class ReconstructionEvaluator(LanguagesEvaluator[Bitext]):
    """Held-out R2 of a ridge regression from each space of a run with heads to each other one.

    R2 is the share of the variance, summed over dimensions, that the regression predicts: 1 is all, and 0 is no better
    than the mean. A head whose vectors give back the original has hidden nothing from a model that can learn. The
    sentences and their split are those of the language probe.

    Args:
        test_share: held-out share of the sentences.
        penalties: of the regression; the best by leave-one-out on the training part is taken.
        seed: of the split and of the sentences that represent a large language.

    Metrics:
        ``<name>/<space>/<other space>/r2``: of the other space's vectors, predicted from those of the space.
    """

    test_share: float
    penalties: Sequence[float]
    seed: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.test_share < 1:
            raise ValueError(f"evaluator.test_share={self.test_share}: expected a number between 0 and 1")
        if not self.penalties or min(self.penalties) <= 0:
            raise ValueError(f"evaluator.penalties={self.penalties}: expected numbers above 0")

    def check(self) -> None:
        super().check()
        if not all(part.texts for part in self._parts()):
            raise ValueError(f"{self.name}: too few sentences to hold some out")

    def metric_names(self) -> list[str]:
        return []

    def metric_names_between(self, spaces: Sequence[str]) -> list[str]:
        return [f"{self.name}/{source}/{target}/r2" for source, target in permutations(spaces, 2)]

    def score(self, vectors: Tensor) -> Evaluation:
        return Evaluation({}, [])

    def score_between(self, spaces: Mapping[str, Tensor]) -> Evaluation:
        if len(spaces) < 2:
            raise ValueError(
                f"evaluator {self.name} compares the spaces of a run with heads, and there is only"
                f" {', '.join(spaces)}: give a run of recipe=oracle, dream or meat (ckpt=RUN)"
            )
        train, test = self._parts()
        parts = {space: (self._inputs(rows, train), self._inputs(rows, test)) for space, rows in spaces.items()}
        metrics: dict[str, float] = {}
        details: list[dict[str, object]] = []
        outcomes: dict[str, Items] = {}
        for source, target, errors, variances, penalty in self._fits(parts):
            r2 = float(1 - errors.sum() / variances.sum())
            metrics[f"{self.name}/{source}/{target}/r2"] = r2
            outcomes[f"{self.name}/{source}/{target}/r2"] = Items.of("r2", errors.sum(axis=1), variances.sum(axis=1))
            sizes = {"train": len(train.texts), "queries": len(test.texts)}
            details.append(
                {"space": source, "evaluator": self.name, "direction": target, "r2": r2, "penalty": penalty, **sizes}
            )
        return Evaluation(metrics, details, outcomes=outcomes)

    def _fits(self, parts: Mapping[str, tuple[Vectors, Vectors]]) -> Iterator[tuple[str, str, Vectors, Vectors, float]]:
        """Spaces, squared errors and squared distances from the mean (N, D) of the held-out part, penalty."""
        for source, target in permutations(parts, 2):
            (inputs, test_inputs), (outputs, test_outputs) = parts[source], parts[target]
            scaler = StandardScaler().fit(inputs)
            regression = RidgeCV(alphas=list(self.penalties)).fit(scaler.transform(inputs), outputs)
            predicted = regression.predict(scaler.transform(test_inputs))
            errors = np.square(test_outputs - predicted)
            variances = np.square(test_outputs - test_outputs.mean(axis=0))
            yield source, target, errors, variances, float(regression.alpha_)

    def _inputs(self, vectors: Tensor, part: Labelled) -> Vectors:
        return self.rows(vectors, part.texts).double().numpy(force=True)

    def _parts(self) -> tuple[Labelled, Labelled]:
        return split_by_translation(self.test_sets, test_share=self.test_share, seed=self.seed)
