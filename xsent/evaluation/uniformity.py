"""Alignment and uniformity: how near translations are, and how evenly sentences spread over the sphere."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from xsent.distributed import rank
from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.test_sets import PIVOT, Bitext, TestSetEvaluator, zero_vectors
from xsent.similarity import unit

TILE = 1024  # rows and columns whose distances are in memory at a time


class AlignmentUniformityEvaluator(TestSetEvaluator[Bitext]):
    """Mean distance of translations, and the spread of each side's sentences; the lower, the better, for both.

    Args:
        name: prefix of the metrics.
        root: file or folder of the test sets, for ``read``.
        languages: which test sets, for ``read``; None is all.
        read: ``(root, languages)`` -> test sets.
        missing: a language without files is an ``error``, or left out with a ``note``.
        alpha: as in ``align``.
        t: as in ``uniform``.

    Metrics:
        ``<name>/<deu>/align``; ``<name>/<deu-eng>/uniform`` of the German sentences of that test set and
        ``<name>/<eng-deu>/uniform`` of the English ones, ``<name>/<deu>/uniform`` the mean of the two;
        ``<name>/mean/align`` and ``<name>/mean/uniform`` over the languages, unweighted.
    """

    def __init__(
        self,
        *,
        name: str,
        root: str | None,
        languages: Sequence[str] | None,
        read: Callable[[Any, Sequence[str] | None], Sequence[Bitext]],
        missing: str,
        alpha: float,
        t: float,
    ) -> None:
        for option, value in [("alpha", alpha), ("t", t)]:
            if not value > 0:
                raise ValueError(f"evaluator.{option}={value}: expected a number above 0")
        super().__init__(name=name, root=root, wanted=languages, read=read, missing=missing)
        self.alpha = alpha
        self.t = t

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``."""
        metrics: dict[str, float] = {}
        details: list[dict[str, object]] = []
        aligns, uniforms = [], []
        for bitext in self.test_sets:
            x, y = self.rows(vectors, bitext.source), self.rows(vectors, bitext.target)
            a, b = bitext.source_lang, bitext.target_lang
            language = a if a != PIVOT else b
            aligns.append(align(x, y, alpha=self.alpha))
            sides = [uniform(x, t=self.t), uniform(y, t=self.t)]
            uniforms.append(sum(sides) / 2)
            metrics[f"{self.name}/{language}/align"] = aligns[-1]
            for direction, side, own in [(f"{a}-{b}", x, sides[0]), (f"{b}-{a}", y, sides[1])]:
                metrics[f"{self.name}/{direction}/uniform"] = own
                details.append(self._detail(direction, aligns[-1], own, side))
            metrics[f"{self.name}/{language}/uniform"] = uniforms[-1]
        metrics[f"{self.name}/mean/align"] = sum(aligns) / len(aligns)
        metrics[f"{self.name}/mean/uniform"] = sum(uniforms) / len(uniforms)
        return Evaluation(metrics, details)

    def _detail(self, direction: str, aligned: float, spread: float, side: Tensor) -> dict[str, object]:
        return {
            "evaluator": self.name, "direction": direction, "align": aligned, "uniform": spread, "alpha": self.alpha,
            "t": self.t, "queries": len(side), "zero_vectors": zero_vectors(side),
            "missing_languages": " ".join(self.absent),
        }  # fmt: skip


def align(x: Tensor, y: Tensor, *, alpha: float) -> float:
    """Mean over i of the distance of unit vectors x_i and y_i to the power ``alpha``; float64.

    Args:
        x, y: (N, D), row i of one translates row i of the other; any length, they are normalised.
        alpha: 2 gives 2 - 2 * the mean cosine.

    Source:
        Wang and Isola 2020 (arXiv:2005.10242), section 4.1.2.
    """
    return float((unit(x.double()) - unit(y.double())).norm(dim=1).pow(alpha).mean())


def uniform(x: Tensor, *, t: float) -> float:
    """Logarithm of the mean of exp(-t * squared distance) over the unordered pairs of rows of ``x``; float64.

    0: all vectors are one; the more negative, the more evenly they lie on the sphere. NaN for fewer than two
    rows. Takes time in N squared, memory in N.

    Args:
        x: (N, D), any length, they are normalised; a zero vector stays at the centre.
        t: inverse width of the kernel.

    Source:
        Wang and Isola 2020 (arXiv:2005.10242), section 4.1.2.
    """
    n = len(x)
    if n < 2:
        return math.nan
    points = unit(x.double())
    squares = points.square().sum(dim=1)
    total = points.new_tensor(-math.inf)  # log of the sum so far: exp(-t d) itself may underflow
    starts = range(0, n, TILE)
    for row in tqdm(starts, desc="uniformity", unit_scale=TILE, unit=" rows", delay=2, leave=False, disable=rank() > 0):
        rows = slice(row, row + TILE)
        for column in range(row, n, TILE):
            columns = slice(column, column + TILE)
            distances = squares[rows, None] + squares[None, columns] - 2 * points[rows] @ points[columns].T
            exponents = -t * distances.clamp(min=0)
            if row == column:  # each pair once, and no row with itself
                above = torch.ones_like(exponents, dtype=torch.bool).triu(diagonal=1)
                exponents = exponents.masked_fill(~above, -math.inf)
            total = torch.logaddexp(total, exponents.flatten().logsumexp(dim=0))
    return float(total) - math.log(n * (n - 1) / 2)
