"""Hard negatives of standard sentences for xSIM++: generated in memory, or the two files published for FLORES."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tqdm import tqdm

from xsent.data.readers.xsimpp import AugmentedFlores
from xsent.distributed import rank
from xsent.text.english.entities import NameCollector, Names
from xsent.text.xsimpp_negatives import augment


class Negatives(NamedTuple):
    """Sentences that differ little from a standard sentence and mean something else."""

    augmented: list[str]  # distinct, none is a standard sentence
    made_from: dict[str, tuple[str, str]]  # hard negative -> (standard sentence, error type)


@dataclass(frozen=True, kw_only=True)
class GeneratedNegatives:
    """Generates the negatives that ``xsent augment`` would write for the same English sentences."""

    seed: int  # this and the next two: as in `augment`
    per_number: int
    per_entity: int
    max_per_sentence: int | None  # causality first, then numbers, then entities; None is no cap

    def __post_init__(self) -> None:
        for option in ("per_number", "per_entity", "max_per_sentence"):
            value = getattr(self, option)
            if value is not None and value < 0:
                raise ValueError(f"evaluator.read.negatives.{option}={value}: expected at least 0")

    def __call__(self, standard: Sequence[str]) -> Negatives:
        """Negatives of the sentences; a sentence that no rule changes has none."""
        distinct = list(dict.fromkeys(standard))
        collector = NameCollector()
        for sentence in distinct:
            collector.add(sentence)
        names = Names(collector.names())
        used = set(distinct)
        made_from: dict[str, tuple[str, str]] = {}
        for sentence in tqdm(
            distinct, desc="hard negatives", unit=" sentences", delay=2, leave=False, disable=rank() > 0
        ):
            negatives = augment(sentence, names, seed=self.seed, per_number=self.per_number, per_entity=self.per_entity)
            new = [negative for negative in negatives if negative.text not in used]
            for negative in new[: self.max_per_sentence]:
                used.add(negative.text)
                made_from[negative.text] = sentence, negative.error_type
        return Negatives(list(made_from), made_from)


class PublishedNegatives(AugmentedFlores):
    """Reader of the two files of Chen et al. 2023, for the sentences that they were made from."""

    def negatives_of(self, standard: Sequence[str], path: str) -> Negatives:
        """The negatives, after a check that they were made from the sentences of the file ``path``."""
        self.check_sources(set(standard), path)
        return Negatives(*self.files)
