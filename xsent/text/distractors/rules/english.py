"""English rules of xSIM++ as edits of a sentence; fixed expressions are not edited."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import cache

from xsent.text.distractors.rules.edits import NEGATION, Edit, find_edit, words
from xsent.text.distractors.rules.lexicon import find_fixed_expressions, overlaps
from xsent.text.english.antonyms import replace_with_antonyms
from xsent.text.english.entities import Names
from xsent.text.english.numbers import replace_numbers
from xsent.text.english.polarity import invert_polarity


def _numbers(sentence: str, count: int, rng: random.Random) -> list[Edit]:
    return _edits(sentence, replace_numbers(sentence, per_number=count, rng=rng), "number")


def _entities(sentence: str, count: int, rng: random.Random) -> list[Edit]:
    return _edits(sentence, _bundled_names().replace(sentence, count, rng), "entity")


def _antonyms(sentence: str, count: int, rng: random.Random) -> list[Edit]:
    """No antonym that the sentence contains ("public and private")."""
    present = {word.text.lower() for word in words(sentence)}
    edits = _edits(sentence, replace_with_antonyms(sentence), "antonym")
    return [edit for edit in edits if edit.new.lower() not in present]


def _negations(sentence: str, count: int, rng: random.Random) -> list[Edit]:
    return _edits(sentence, invert_polarity(sentence), NEGATION)


# Edits of a sentence by kind: up to ``count`` for each number and name, all antonyms and negations.
ENGLISH_RULES: dict[str, Callable[[str, int, random.Random], list[Edit]]] = {
    "number": _numbers,
    "entity": _entities,
    "antonym": _antonyms,
    "negation": _negations,
}


def _edits(sentence: str, variants: Iterable[str], kind: str) -> list[Edit]:
    fixed = [] if kind == NEGATION else find_fixed_expressions(sentence, "eng")
    edits = [find_edit(sentence, variant, kind) for variant in dict.fromkeys(variants) if variant != sentence]
    return [edit for edit in edits if not overlaps(edit.start, edit.end, fixed)]


@cache
def _bundled_names() -> Names:
    return Names({})
