"""The rules for English of xSIM++, as changes of a part of the sentence."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cache

from xsent.text.antonyms import with_antonyms
from xsent.text.distractors.rules.edits import Edit, difference
from xsent.text.distractors.rules.lexicon import fixed_expressions
from xsent.text.entities import Names
from xsent.text.numbers import with_other_numbers
from xsent.text.polarity import with_other_polarity
from xsent.text.tokens import replaced


def english_numbers(sentence: str, *, per_place: int, rng: random.Random) -> list[Edit]:
    """Other numbers, ``per_place`` of each."""
    return _edits(sentence, with_other_numbers(sentence, per_number=per_place, rng=rng), "number")


def english_entities(sentence: str, *, per_place: int, rng: random.Random) -> list[Edit]:
    """Other names of the bundled ones, ``per_place`` for each."""
    made = [
        replaced(sentence, entity.start, entity.end, new)
        for entity in _names().find(sentence)
        for new in _names().draw(sentence, entity, per_place, rng)
    ]
    return _edits(sentence, made, "entity")


def english_antonyms(sentence: str) -> list[Edit]:
    """One word's opposite each; fixed expressions are left alone."""
    fixed = [match.span() for match in fixed_expressions("eng").finditer(sentence)]
    edits = _edits(sentence, with_antonyms(sentence), "antonym")
    return [edit for edit in edits if not any(edit.start < end and start < edit.end for start, end in fixed)]


def english_negations(sentence: str) -> list[Edit]:
    """One statement denied, or its denial taken back, each."""
    return _edits(sentence, with_other_polarity(sentence), "negation")


def _edits(sentence: str, made: Iterable[str], kind: str) -> list[Edit]:
    return [difference(sentence, other, kind) for other in dict.fromkeys(made) if other != sentence]


@cache
def _names() -> Names:
    return Names({})
