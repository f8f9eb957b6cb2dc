"""Figures of one set of noisy sentences, given the vectors of an encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from xsent.evaluation.charts import Series
from xsent.evaluation.margin import Best, best_targets
from xsent.evaluation.test_sets import TwoSided, zero_vectors
from xsent.similarity import pairwise_cos_sim


class NoisySet(TwoSided, Protocol):
    """Noisy sentences, ``source``, and what each stands for, ``target``; sets of one name are generations of noise."""

    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def language(self) -> str: ...
    @property
    def translations(self) -> Mapping[str, list[str]]: ...
    @property
    def augmented(self) -> list[str]: ...
    @property
    def made_from(self) -> Mapping[str, tuple[str, str]]: ...


class Embedded(NamedTuple):
    """Vectors of one encoder and the texts they are of."""

    row_of: Mapping[str, int]
    vectors: Tensor  # (N, D)

    def of(self, texts: Sequence[str]) -> Tensor:
        """Vectors (M, D) of M texts."""
        return self.vectors[torch.tensor([self.row_of[text] for text in texts], device=self.vectors.device)]


class Search(NamedTuple):
    """How the best target is found; as in ``best_targets``."""

    margin: str
    k: int
    candidates: str

    def __call__(self, x: Tensor, y: Tensor) -> tuple[Best, Best]:
        """``best_targets`` of both sides."""
        return best_targets(x, y, margin=self.margin, k=self.k, candidates=self.candidates)


class Scored(NamedTuple):
    """What one encoder makes of a set."""

    figures: dict[str, dict[str, float]]  # by item ("rocsmt", "rocsmt_fra-eng") and metric
    distances: Series  # (N,) cosine distances of noisy and standard, 0 to 2
    pool: int  # standard sentences and hard negatives
    tied: float  # share of the noisy sentences that have two best standard ones
    zero_vectors: int


def scored(one: NoisySet, english: Embedded, others: Embedded | None, search: Search) -> Scored:
    """Cosine distance, xSIM, xSIM++ where there are negatives, and xSIM of the bitexts.

    Args:
        one: the set.
        english: vectors of both sides and the negatives.
        others: vectors of the translations, comparable with those; None leaves the bitexts out.
        search: finds the best targets.

    Source:
        Nishimwe et al. 2024, section 4.1: noisy sentences search standard ones; xSIM++ searches the standard
        sentences followed by the negatives. Texts are compared, not lines.
    """
    noisy, standard = english.of(one.source), english.of(one.target)
    distances = cosine_distances(noisy, standard)
    found, _ = search(noisy, standard)
    of_set = {"cosine_distance": float(distances.mean()), "xsim": percent_wrong(found, one.target, one.target)}
    pool = [*one.target, *one.augmented]
    if one.augmented:
        best, _ = search(noisy, torch.cat([standard, english.of(one.augmented)]))
        of_set["xsimpp"] = percent_wrong(best, pool, one.target)
    figures = {one.name: of_set}
    for language, lines in one.translations.items() if others is not None else ():
        assert others is not None
        vectors = others.of(lines)
        there, back = f"{one.name}_{language}-{one.language}", f"{one.name}_{one.language}-{language}"
        figures[there], figures[back] = {}, {}
        for version, side, texts in [("noisy", noisy, one.source), ("standard", standard, one.target)]:
            into, out_of = search(vectors, side)
            figures[there][f"{version}_xsim"] = percent_wrong(into, texts, texts)
            figures[back][f"{version}_xsim"] = percent_wrong(out_of, lines, lines)
    tied = found.tied.float().mean().item()
    return Scored(figures, distances.numpy(force=True), len(pool), tied, zero_vectors(noisy, standard))


def cosine_distances(a: Tensor, b: Tensor) -> Tensor:
    """1 - cosine of row i of ``a`` (N, D) and of ``b`` (N, D): (N,) float64 from 0 to 2."""
    return (1 - pairwise_cos_sim(a.double(), b.double())).clamp(0, 2)


def percent_wrong(found: Best, pool: Sequence[str], expected: Sequence[str]) -> float:
    """Share of the queries whose best row of ``pool`` has another text than expected."""
    wrong = sum(pool[row] != text for row, text in zip(found.rows.tolist(), expected, strict=True))
    return 100 * float(wrong) / len(expected)
