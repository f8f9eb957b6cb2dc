"""Scores of one set of noisy sentences (cosine distance, xSIM, xSIM++), and the vectors of a teacher."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from xsent.batch import Embedder
from xsent.distributed import rank
from xsent.evaluation.charts import Series
from xsent.evaluation.dataset_evaluator import zero_vectors
from xsent.evaluation.evaluator import TwoSided, number_texts
from xsent.evaluation.search.margin import Answers, MarginSearch
from xsent.evaluation.statistics.items import Items, gap_items
from xsent.similarity import pairwise_cos_sim

VERSIONS = ("noisy", "standard")


class NoisySet(TwoSided, Protocol):
    """Noisy sentences (``source``) and their standard forms (``target``); sets of one name are generations of noise."""

    name: str
    seed: int | None
    language: str
    translations: Mapping[str, list[str]]
    augmented: list[str]
    made_from: Mapping[str, tuple[str, str]]
    step_counts: Sequence[int]  # transformations selected for each sentence of synthetic noise; else empty
    conditions: Mapping[str, str]  # how it was made


@runtime_checkable
class CountsSteps(Protocol):
    """Training data with noise."""

    def step_counts(self) -> list[int]:
        """Number of transformations of each training sentence."""


class Embedded(NamedTuple):
    """Texts and their vectors by one encoder."""

    row_of: Mapping[str, int]
    vectors: Tensor  # (N, D)

    def of(self, texts: Sequence[str]) -> Tensor:
        """Vectors (M, D) of M texts."""
        return self.vectors[torch.tensor([self.row_of[text] for text in texts], device=self.vectors.device)]

    def series(self, text: str) -> Series:
        """Vector (D,) of a text."""
        vector: Series = self.of([text])[0].double().numpy(force=True)
        return vector


@dataclass(eq=False)
class Teacher:
    """Vectors of fixed texts, computed at first use."""

    make: Callable[[], Embedder]
    name: str  # of the evaluator, for messages
    device: str = "cpu"
    encoder_name: str = ""  # known once the encoder was built
    _dim: int | None = None  # size of its vectors; None: unknown before the first of them
    _embedded: Embedded | None = None

    def check(self) -> None:
        """Build the encoder once, so that its errors appear before anything is encoded."""
        self._dim = getattr(self.build(), "dim", None)  # it must not occupy memory during training

    def build(self) -> Embedder:
        """The encoder, on the device."""
        encoder = self.make()
        self.encoder_name = str(getattr(encoder, "name", ""))
        return encoder.to(self.device) if isinstance(encoder, nn.Module) else encoder

    def embedded(self, texts: Iterable[str], like: Tensor, *, compared: bool) -> Embedded:
        """Vectors of the distinct texts, which are the same in every call.

        Args:
            like: (N, D) vectors of the other encoder; the result is on their device.
            compared: vectors of both encoders will be compared; ``ValueError`` if they have different sizes.
        """
        if compared:
            self.check_size(like.size(1))
        if self._embedded is None:
            row_of = number_texts(texts)
            self._embedded = Embedded(row_of, self.build().encode(list(row_of), show_progress=rank() == 0))
            self._dim = self._embedded.vectors.size(1)
            if compared:
                self.check_size(like.size(1))
        return self._embedded._replace(vectors=self._embedded.vectors.to(like.device))

    def check_size(self, dim: int) -> None:
        """Raise ``ValueError`` if vectors of this size cannot be compared with the teacher's."""
        if self._dim not in (None, dim):
            raise ValueError(
                f"{self.name}: the encoder's vectors have {dim} numbers, the teacher's {self._dim}; for the metrics"
                " that do not compare them set evaluator.drift=false evaluator.bitexts=false"
            )


class SetScores(NamedTuple):
    """Scores of a set by one encoder."""

    metrics: dict[str, dict[str, float]]  # by item ("rocsmt", "rocsmt_fra-eng") and metric
    distances: Series  # (N,) cosine distances of noisy and standard sentences, 0 to 2
    pool: int  # number of standard sentences and hard negatives
    tied: float  # share of the noisy sentences with two best standard sentences
    zero_vectors: int
    outcomes: Mapping[str, Mapping[str, Items]] = MappingProxyType({})  # by item and metric


def metric_items(noisy_set: NoisySet, *, bitexts: bool) -> dict[str, list[str]]:
    """Names of the metrics of a set by item: the set itself, and both directions of each translation."""
    names = ["cosine_distance", *_names("xsim"), *(_names("xsimpp") if noisy_set.augmented else [])]
    items = {noisy_set.name: names}
    for language in noisy_set.translations if bitexts else ():
        for direction in (f"{language}-{noisy_set.language}", f"{noisy_set.language}-{language}"):
            items[f"{noisy_set.name}_{direction}"] = [
                name for version in VERSIONS for name in _names(f"{version}_xsim")
            ]
    return items


def _names(error: str) -> list[str]:
    """An error rate and its margin gaps."""
    return [error, *gap_items(Items.percentage([]), f"{error}_")]


def score_set(noisy_set: NoisySet, english: Embedded, translations: Embedded | None, search: MarginSearch) -> SetScores:
    """Cosine distance, xSIM, xSIM++ if there are negatives, xSIM of the bitexts, and the margin gap of each xSIM.

    Args:
        english: vectors of both sides and the negatives.
        translations: vectors of the translations, in the same space; None omits the bitexts.

    Source:
        Nishimwe et al. 2024, section 4.1: noisy sentences search standard ones; xSIM++ searches the standard sentences
        followed by the negatives. Texts are compared, not lines.
    """
    noisy, standard = english.of(noisy_set.source), english.of(noisy_set.target)
    distances = cosine_distances(noisy, standard)
    answers, _ = search(noisy, standard)
    of_set = {"cosine_distance": Items.of("mean", distances.numpy(force=True))}
    of_set |= _search_items("xsim", answers, noisy_set.target, noisy_set.target)
    pool = [*noisy_set.target, *noisy_set.augmented]
    if noisy_set.augmented:
        augmented, _ = search(noisy, torch.cat([standard, english.of(noisy_set.augmented)]))
        of_set |= _search_items("xsimpp", augmented, pool, noisy_set.target)
    rows = [of_set]
    if translations is not None:
        versions = zip(VERSIONS, ((noisy, noisy_set.source), (standard, noisy_set.target)), strict=True)
        sides = {f"{version}_xsim": side for version, side in versions}
        for lines in noisy_set.translations.values():
            vectors = translations.of(lines)
            searches = {name: search(vectors, english_vectors) for name, (english_vectors, _) in sides.items()}
            into: dict[str, Items] = {}
            out_of: dict[str, Items] = {}
            for name, (forward, backward) in searches.items():
                texts = sides[name][1]
                into |= _search_items(name, forward, texts, texts)
                out_of |= _search_items(name, backward, lines, lines)
            rows += [into, out_of]
    outcomes = dict(zip(metric_items(noisy_set, bitexts=translations is not None), rows, strict=True))
    metrics = {item: {name: items.value() for name, items in row.items()} for item, row in outcomes.items()}
    metrics[noisy_set.name]["cosine_distance"] = float(distances.mean())
    tied = answers.best.tied.float().mean().item()
    zeros = zero_vectors(noisy, standard)
    return SetScores(metrics, distances.numpy(force=True), len(pool), tied, zeros, outcomes)


def _search_items(error: str, answers: Answers, pool: Sequence[str], expected: Sequence[str]) -> dict[str, Items]:
    """Items of an error rate, queries whose best text is not the expected one, and of its margin gaps."""
    wrong = [pool[row] != text for row, text in zip(answers.best.rows.tolist(), expected, strict=True)]
    return {error: Items.percentage(wrong), **gap_items(Items.of("mean", answers.gaps(pool)), f"{error}_")}


def cosine_distances(a: Tensor, b: Tensor) -> Tensor:
    """1 - cosine of row i of ``a`` (N, D) and of ``b`` (N, D): (N,) float64 from 0 to 2."""
    return (1 - pairwise_cos_sim(a.double(), b.double())).clamp(0, 2)
