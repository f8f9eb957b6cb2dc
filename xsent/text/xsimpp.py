"""Hard negatives of English sentences for xSIM++: sentences that differ in little and mean something else."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from xsent.text.antonyms import with_antonyms
from xsent.text.entities import Names
from xsent.text.numbers import with_other_numbers
from xsent.text.polarity import with_other_polarity
from xsent.text.tokens import replaced

# As the paper's files name them.
CAUSALITY = "causality_alternation"
NUMBER = "number_replacement"
ENTITY = "entity_mention_replacement"
ERROR_TYPES = (CAUSALITY, NUMBER, ENTITY)


class Augmentation(NamedTuple):
    """A sentence made from another one by a single change."""

    text: str
    error_type: str  # one of ERROR_TYPES


def augment(sentence: str, names: Names, *, seed: int, per_number: int, per_entity: int) -> list[Augmentation]:
    """All hard negatives of a sentence, without repetition, in the order of ``ERROR_TYPES``.

    Args:
        sentence: English.
        names: what names are replaced by.
        seed: with the sentence it decides every draw; neighbours and their order do not.
        per_number: how often each number is replaced, at most.
        per_entity: how often each named entity is replaced, at most.

    Source:
        Chen et al. 2023 (arXiv:2306.12907), section 2.1, whose code was not published: the rules are ours.
    """
    made = [Augmentation(text, CAUSALITY) for text in (*with_other_polarity(sentence), *with_antonyms(sentence))]
    rng = random.Random(f"{seed}\n{NUMBER}\n{sentence}")
    made += [Augmentation(text, NUMBER) for text in with_other_numbers(sentence, per_number=per_number, rng=rng)]
    rng = random.Random(f"{seed}\n{ENTITY}\n{sentence}")
    made += [Augmentation(text, ENTITY) for text in _with_other_entities(sentence, names, per_entity, rng)]
    first = {one.text: one for one in reversed(made) if one.text != sentence}
    return [one for one in made if first.get(one.text) is one]


def _with_other_entities(sentence: str, names: Names, per_entity: int, rng: random.Random) -> Iterator[str]:
    for entity in names.find(sentence):
        for other in names.draw(sentence, entity, per_entity, rng):
            yield replaced(sentence, entity.start, entity.end, other)
