"""Hard negatives of English sentences for xSIM++: small edits that change the meaning."""

import random
from typing import NamedTuple

from xsent.text.english.antonyms import replace_with_antonyms
from xsent.text.english.entities import Names
from xsent.text.english.numbers import replace_numbers
from xsent.text.english.polarity import invert_polarity

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
    """All distinct hard negatives of a sentence, in the order of ``ERROR_TYPES``.

    Args:
        names: candidates for the replacement of names.
        seed: with the sentence it decides every draw, independently of all other sentences.
        per_number, per_entity: maximum number of negatives for each number and each named entity.

    Source:
        Chen et al. 2023 (arXiv:2306.12907), section 2.1. Their code is not published: the rules are ours.
    """
    negatives = dict.fromkeys((*invert_polarity(sentence), *replace_with_antonyms(sentence)), CAUSALITY)
    rng = random.Random(f"{seed}\n{NUMBER}\n{sentence}")
    for text in replace_numbers(sentence, per_number=per_number, rng=rng):
        negatives.setdefault(text, NUMBER)
    rng = random.Random(f"{seed}\n{ENTITY}\n{sentence}")
    for text in names.replace(sentence, per_entity, rng):
        negatives.setdefault(text, ENTITY)
    negatives.pop(sentence, None)
    return [Augmentation(text, error_type) for text, error_type in negatives.items()]
