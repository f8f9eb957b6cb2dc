"""The rules for English of xSIM++, as changes of a part of the sentence; fixed expressions are left alone."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cache

from xsent.text.antonyms import with_antonyms
from xsent.text.distractors.rules.edits import Edit, difference, words
from xsent.text.distractors.rules.lexicon import left_alone, overlaps
from xsent.text.entities import Names
from xsent.text.numbers import with_other_numbers
from xsent.text.polarity import with_other_polarity
from xsent.text.tokens import replaced


def english_numbers(sentence: str, *, per_place: int, rng: random.Random) -> list[Edit]:
    """Other numbers, ``per_place`` of each."""
    made = with_other_numbers(sentence, per_number=per_place, rng=rng)
    return _outside_expressions(sentence, _edits(sentence, made, "number"))


def english_entities(sentence: str, *, per_place: int, rng: random.Random) -> list[Edit]:
    """Other names of the bundled ones, ``per_place`` for each."""
    made = [
        replaced(sentence, entity.start, entity.end, new)
        for entity in _names().find(sentence)
        for new in _names().draw(sentence, entity, per_place, rng)
    ]
    return _outside_expressions(sentence, _edits(sentence, made, "entity"))


def english_antonyms(sentence: str) -> list[Edit]:
    """One word's opposite each, unless the sentence has it already ("public and private")."""
    edits = _outside_expressions(sentence, _edits(sentence, with_antonyms(sentence), "antonym"))
    present = {word.text.lower() for word in words(sentence)}
    return [edit for edit in edits if edit.new.lower() not in present]


def english_negations(sentence: str) -> list[Edit]:
    """One statement denied, or its denial taken back, each."""
    return _edits(sentence, with_other_polarity(sentence), "negation")


def _edits(sentence: str, made: Iterable[str], kind: str) -> list[Edit]:
    return [difference(sentence, other, kind) for other in dict.fromkeys(made) if other != sentence]


def _outside_expressions(sentence: str, edits: Iterable[Edit]) -> list[Edit]:
    fixed = left_alone(sentence, "eng")
    return [edit for edit in edits if not overlaps(edit.start, edit.end, fixed)]


@cache
def _names() -> Names:
    return Names({})
