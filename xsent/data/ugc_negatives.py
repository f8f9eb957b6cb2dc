"""Hard negatives of standard sentences for xSIM++: made in memory, or read from the two files published for FLORES."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tqdm import tqdm

from xsent.data.xsimpp import AugmentedFlores
from xsent.distributed import rank
from xsent.text.entities import NameCollector, Names
from xsent.text.xsimpp import augment


class Negatives(NamedTuple):
    """Sentences that look like a standard one and say something else."""

    augmented: list[str]  # distinct, none is a standard sentence
    made_from: dict[str, tuple[str, str]]  # by augmented sentence: the standard sentence and the error type


class MadeNegatives:
    """Makes the negatives that ``xsent augment`` would write of the same English sentences.

    Args:
        seed, per_number, per_entity: as in ``augment``.
        max_per_sentence: at most so many each; those of causality, then numbers, then entities. None is no cap.
    """

    def __init__(self, *, seed: int, per_number: int, per_entity: int, max_per_sentence: int | None) -> None:
        counts = {"per_number": per_number, "per_entity": per_entity, "max_per_sentence": max_per_sentence}
        for option, value in counts.items():
            if value is not None and value < 0:
                raise ValueError(f"evaluator.read.negatives.{option}={value}: expected at least 0")
        self.seed = seed
        self.per_number = per_number
        self.per_entity = per_entity
        self.max_per_sentence = max_per_sentence

    def __call__(self, standard: Sequence[str]) -> Negatives:
        """Negatives of the sentences; none for those with neither number nor name nor a word to be turned."""
        distinct = list(dict.fromkeys(standard))
        collector = NameCollector()
        for sentence in distinct:
            collector.add(sentence)
        names = Names(collector.names())
        taken = set(distinct)
        made_from: dict[str, tuple[str, str]] = {}
        for sentence in tqdm(
            distinct, desc="hard negatives", unit=" sentences", delay=2, leave=False, disable=rank() > 0
        ):
            made = augment(sentence, names, seed=self.seed, per_number=self.per_number, per_entity=self.per_entity)
            for one in [one for one in made if one.text not in taken][: self.max_per_sentence]:
                taken.add(one.text)
                made_from[one.text] = sentence, one.error_type
        return Negatives(list(made_from), made_from)


class PublishedNegatives(AugmentedFlores):
    """Reads the two files of Chen et al. 2023, for whichever sentences they were made from.

    Args:
        augmented, error_types: as in ``AugmentedFlores``.
    """

    def of(self, standard: Sequence[str], where: str) -> Negatives:
        """The negatives, checked against the sentences that they were made from.

        Args:
            standard: sentences.
            where: their file, for messages.

        Raises:
            FileNotFoundError: a file is not there.
            ValueError: the files do not fit each other or the sentences, or are damaged.
        """
        self.check_sources(set(standard), where)
        augmented, made_from = self.files
        return Negatives(augmented, made_from)
