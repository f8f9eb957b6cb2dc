"""English rules of xSIM++ as edits of a sentence; fixed expressions are not edited."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cache

from xsent.text.distractors.rules.edits import Edit, find_edit, words
from xsent.text.distractors.rules.lexicon import find_fixed_expressions, overlaps
from xsent.text.english.antonyms import replace_with_antonyms
from xsent.text.english.entities import Names
from xsent.text.english.numbers import replace_numbers
from xsent.text.english.polarity import invert_polarity
from xsent.text.english.tokens import replace_span


def english_numbers(sentence: str, *, per_span: int, rng: random.Random) -> list[Edit]:
    """Replace numbers, up to ``per_span`` edits each."""
    variants = replace_numbers(sentence, per_number=per_span, rng=rng)
    return _outside_expressions(sentence, _edits(sentence, variants, "number"))


def english_entities(sentence: str, *, per_span: int, rng: random.Random) -> list[Edit]:
    """Replace names by bundled ones, ``per_span`` edits each."""
    variants = [
        replace_span(sentence, entity.start, entity.end, new)
        for entity in _names().find(sentence)
        for new in _names().draw(sentence, entity, per_span, rng)
    ]
    return _outside_expressions(sentence, _edits(sentence, variants, "entity"))


def english_antonyms(sentence: str) -> list[Edit]:
    """Replace a word by its antonym, unless the sentence contains it ("public and private")."""
    edits = _outside_expressions(sentence, _edits(sentence, replace_with_antonyms(sentence), "antonym"))
    present = {word.text.lower() for word in words(sentence)}
    return [edit for edit in edits if edit.new.lower() not in present]


def english_negations(sentence: str) -> list[Edit]:
    """Negate a statement, or remove a negation."""
    return _edits(sentence, invert_polarity(sentence), "negation")


def _edits(sentence: str, variants: Iterable[str], kind: str) -> list[Edit]:
    return [find_edit(sentence, variant, kind) for variant in dict.fromkeys(variants) if variant != sentence]


def _outside_expressions(sentence: str, edits: Iterable[Edit]) -> list[Edit]:
    fixed = find_fixed_expressions(sentence, "eng")
    return [edit for edit in edits if not overlaps(edit.start, edit.end, fixed)]


@cache
def _names() -> Names:
    return Names({})
