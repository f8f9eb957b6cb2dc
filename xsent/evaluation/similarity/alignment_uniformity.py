"""Alignment and uniformity (Wang and Isola 2020): distance of translations, and spread of sentences on the sphere."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from tqdm import tqdm

from xsent.config_checks import check_positive
from xsent.distributed import rank
from xsent.evaluation.dataset_evaluator import PIVOT, LanguagesEvaluator
from xsent.evaluation.evaluator import Bitext, Evaluation
from xsent.evaluation.statistics.items import Items, mean_over
from xsent.similarity import unit

TILE = 1024  # rows and columns whose distances are in memory at a time


@dataclass(kw_only=True, eq=False, repr=False)
class AlignmentUniformityEvaluator(LanguagesEvaluator[Bitext]):
    """Mean distance of translations, and uniformity of each side's sentences; lower is better for both.

    Metrics:
        ``<name>/<deu>/align``; ``<name>/<deu-eng>/uniform`` of the German sentences of that test set and
        ``<name>/<eng-deu>/uniform`` of the English ones, ``<name>/<deu>/uniform``, the mean of the two;
        ``<name>/mean/align`` and ``<name>/mean/uniform`` over the languages, unweighted.
    """

    alpha: float  # as in ``align``
    t: float  # as in ``uniform``

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("evaluator.alpha", self.alpha)
        check_positive("evaluator.t", self.t)

    @staticmethod
    def _language(bitext: Bitext) -> str:
        return bitext.source_lang if bitext.source_lang != PIVOT else bitext.target_lang

    @staticmethod
    def _directions(bitext: Bitext) -> tuple[str, str]:
        return f"{bitext.source_lang}-{bitext.target_lang}", f"{bitext.target_lang}-{bitext.source_lang}"

    def metric_names(self) -> list[str]:
        return list(self._metrics([(0.0, (0.0, 0.0))] * len(self.test_sets)))

    def score(self, vectors: Tensor) -> Evaluation:
        details: list[dict[str, object]] = []
        measured: list[tuple[float, tuple[float, float]]] = []
        distances: list[Items] = []
        for bitext in self.test_sets:
            x, y = self.rows(vectors, bitext.source), self.rows(vectors, bitext.target)
            distances.append(Items.of("mean", pair_distances(x, y, alpha=self.alpha).numpy(force=True)))
            alignment, spreads = align(x, y, alpha=self.alpha), (uniform(x, t=self.t), uniform(y, t=self.t))
            measured.append((alignment, spreads))
            for direction, spread, side in zip(self._directions(bitext), spreads, (x, y), strict=True):
                row = {"align": alignment, "uniform": spread, "alpha": self.alpha, "t": self.t, "queries": len(side)}
                details.append(self.detail(direction, side, **row))
        languages = [self._language(bitext) for bitext in self.test_sets]
        items = dict(zip(languages, distances, strict=True)) | {"mean": mean_over(distances)}
        outcomes = {f"{self.name}/{item}/align": of_item for item, of_item in items.items()}
        return Evaluation(self._metrics(measured), details, outcomes=outcomes)

    def _metrics(self, measured: Sequence[tuple[float, tuple[float, float]]]) -> dict[str, float]:
        figures: dict[str, float] = {}
        for bitext, (alignment, spreads) in zip(self.test_sets, measured, strict=True):
            language = self._language(bitext)
            figures[f"{language}/align"] = alignment
            for direction, spread in zip(self._directions(bitext), spreads, strict=True):
                figures[f"{direction}/uniform"] = spread
            figures[f"{language}/uniform"] = sum(spreads) / 2
        figures["mean/align"] = sum(alignment for alignment, _ in measured) / len(measured)
        figures["mean/uniform"] = sum(sum(spreads) / 2 for _, spreads in measured) / len(measured)
        return {f"{self.name}/{item}": value for item, value in figures.items()}


def align(x: Tensor, y: Tensor, *, alpha: float) -> float:
    """Mean over i of the distance of unit vectors x_i and y_i to the power ``alpha``; float64.

    Args:
        x, y: (N, D), row i of both is a translation pair; vectors are normalised.
        alpha: 2 gives 2 - 2 * the mean cosine.

    Source:
        Wang and Isola 2020 (arXiv:2005.10242), section 4.1.2.
    """
    return float(pair_distances(x, y, alpha=alpha).mean())


def pair_distances(x: Tensor, y: Tensor, *, alpha: float) -> Tensor:
    """The distances (N,) that ``align`` averages."""
    distances: Tensor = (unit(x.double()) - unit(y.double())).norm(dim=1).pow(alpha)
    return distances


def uniform(x: Tensor, *, t: float) -> float:
    """Logarithm of the mean of exp(-t * squared distance) over the unordered pairs of rows of ``x``; float64.

    0 if all vectors are equal, lower the more evenly they cover the sphere. NaN for fewer than two rows. O(N^2) time,
    O(N) memory.

    Args:
        x: (N, D), normalised here; a zero vector stays zero.
        t: inverse width of the kernel.

    Source:
        Wang and Isola 2020 (arXiv:2005.10242), section 4.1.2.
    """
    n = len(x)
    if n < 2:
        return math.nan
    points = unit(x.double())
    squares = points.square().sum(dim=1)
    total = points.new_tensor(-math.inf)  # log of the sum: exp(-t d) itself may underflow
    starts = range(0, n, TILE)
    for row in tqdm(starts, desc="uniformity", unit_scale=TILE, unit=" rows", delay=2, leave=False, disable=rank() > 0):
        rows = slice(row, row + TILE)
        for column in range(row, n, TILE):
            columns = slice(column, column + TILE)
            distances = squares[rows, None] + squares[None, columns] - 2 * points[rows] @ points[columns].T
            exponents = -t * distances.clamp(min=0)
            if row == column:  # each pair once, without the diagonal
                above = torch.ones_like(exponents, dtype=torch.bool).triu(diagonal=1)
                exponents = exponents.masked_fill(~above, -math.inf)
            total = torch.logaddexp(total, exponents.flatten().logsumexp(dim=0))
    return float(total) - math.log(n * (n - 1) / 2)
