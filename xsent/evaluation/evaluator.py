"""What an evaluator is: sentences or pairs in, named figures out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xsent.batch import Judgement, WordPair
from xsent.evaluation.charts import Chart

Encode = Callable[[Sequence[str]], Tensor]  # N sentences -> (N, D)


class Evaluation(NamedTuple):
    """Figures, under which conditions each was measured, and what is worth a picture."""

    metrics: dict[str, float]  # "<evaluator>/<item>/<metric>"
    details: list[dict[str, object]]  # a row per figure: k, margin, candidates, direction, pools, ties
    charts: Sequence[Chart] = ()
    tables: Mapping[str, Sequence[Mapping[str, object]]] = MappingProxyType({})  # by name, such as a row per item


class Evaluator(Protocol):
    """Scores any vectors, ours or a baseline's.

    It is asked in two steps, so that sentences are encoded once and scored in several spaces.
    """

    name: str

    def check(self) -> None:
        """Read what is to be scored; raises before any long work if that cannot be done."""
        ...

    def digest(self) -> str:
        """Hex digest of everything that was read to be scored: sentences, pairs, gold scores."""
        ...

    def sentences(self) -> list[str]:
        """The N distinct sentences that are needed."""
        ...

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``."""
        ...

    def __call__(self, encode: Encode) -> dict[str, float]:
        """``score`` of what ``encode`` makes of ``sentences()``."""
        ...


class PairEvaluator(Protocol):
    """Scores what a model says of pairs that it reads both sides of at once; such a model makes no vectors."""

    name: str

    def check(self) -> None:
        """Read what is to be scored; raises before any long work if that cannot be done."""
        ...

    def digest(self) -> str:
        """Hex digest of everything that was read to be scored: words, labels, highlights."""
        ...

    def pairs(self) -> list[WordPair]:
        """The pairs that are to be judged."""
        ...

    def score_pairs(self, judgements: Sequence[Judgement], *, threshold: float) -> Evaluation:
        """Figures from the judgements of ``pairs()``, in their order, and the threshold that the model calibrated."""
        ...


def pairs_of(evaluator: Evaluator) -> PairEvaluator:
    """The evaluator as one that scores judgements of pairs.

    Raises:
        ValueError: it, or a member of it, scores vectors of sentences alone.
    """
    for one in getattr(evaluator, "members", [evaluator]):
        if not hasattr(one, "score_pairs"):
            raise ValueError(
                f"evaluator {one.name} scores vectors of sentences; what reads both sentences of a pair at once has"
                " none: choose evaluator=refresd, semdiverge, divergence or divergence_heldout"
            )
    return cast(PairEvaluator, evaluator)


def names_of_vectors(evaluator: Evaluator) -> list[str]:
    """Names of the figures that an evaluator, its files read, gives of vectors: random ones are tried."""
    size = getattr(evaluator, "trial_size", 2)
    vectors = torch.randn(len(evaluator.sentences()), size, generator=torch.Generator().manual_seed(0))
    return list(evaluator.score(vectors).metrics)


def names_of_judgements(evaluator: PairEvaluator, *, tags_words: bool) -> list[str]:
    """Names of the figures that an evaluator, its files read, gives of judgements: zeros are tried."""

    def nothing(words: Sequence[str]) -> NDArray[np.float32] | None:
        return np.zeros(len(words), dtype=np.float32) if tags_words else None

    judged = [Judgement(0.0, nothing(pair.source), nothing(pair.target)) for pair in evaluator.pairs()]
    return list(evaluator.score_pairs(judged, threshold=0.0).metrics)


def tell_cuts(evaluator: Evaluator, embedder: Any) -> None:
    """Let the evaluators that count sentences which are too long for the encoder ask it, if it can tell."""
    cuts = getattr(getattr(embedder, "encoder", embedder), "cuts", None)  # below the heads, or of a recipe
    for one in getattr(evaluator, "members", [evaluator]):
        if hasattr(one, "cuts"):
            one.cuts = cuts


def in_space(name: str, space: str) -> str:
    """``tatoeba/deu/accuracy`` in ``meaning`` is ``tatoeba/meaning/deu/accuracy``."""
    prefix, rest = name.split("/", maxsplit=1)
    return f"{prefix}/{space}/{rest}"


def score_spaces(evaluator: Evaluator, vectors: Mapping[str, Tensor]) -> Evaluation:
    """Figures in every space, named by ``in_space``.

    A chart has the space at the end of its name and title, a row of a table as its first field.

    Args:
        evaluator: scores each space.
        vectors: (N, D) of ``evaluator.sentences()`` by name of the space.
    """
    metrics: dict[str, float] = {}
    details: list[dict[str, object]] = []
    charts: list[Chart] = []
    tables: dict[str, list[Mapping[str, object]]] = {}
    for space, rows in vectors.items():
        scored = evaluator.score(rows)
        metrics |= {in_space(name, space): value for name, value in scored.metrics.items()}
        details += [{"space": space, **row} for row in scored.details]
        charts += [
            chart._replace(name=f"{chart.name}_{space}", title=f"{chart.title}, {space}") for chart in scored.charts
        ]
        for name, table in scored.tables.items():
            tables.setdefault(name, []).extend({"space": space, **row} for row in table)
    return Evaluation(metrics, details, charts, tables)
