"""A guess at the part of speech of an English word from word lists and its neighbours: no model, microseconds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xsent.text import verbs
from xsent.text.noise.tokenizer import Piece
from xsent.text.words import sections

_LISTS = {section: frozenset(words) for section, words in sections("grammar").items()}
_FUNCTION_WORDS = _LISTS["before nouns"] | _LISTS["before verbs"] | _LISTS["function words"]


def is_verb(cut: Sequence[Piece], at: int) -> bool:
    """Whether the piece at a place is a verb here; of the bundled list of verbs, or after what only verbs follow."""
    word = cut[at].text.lower()
    if len(word) > 1 and cut[at].text.isupper():
        return False
    before = _before(cut, at)
    if before in _LISTS["only before verbs"]:
        return True
    if word not in _forms():
        return False
    if before in _LISTS["before nouns"]:
        return False
    if before in _LISTS["before verbs"] or not before[:1].isalpha():
        return True
    return word not in _ambiguous()


def is_adjective(cut: Sequence[Piece], at: int) -> bool:
    """Whether a word that can be an adjective is one here: after what stands before adjectives, or before a noun."""
    before = _before(cut, at)
    described = _is_plain(cut, at + 1)
    if before in _LISTS["articles"]:
        return described  # "the poor" and "a cold" are nouns
    if before in _LISTS["before adjectives"]:
        return True
    return not is_verb(cut, at)


def starts(cut: Sequence[Piece], at: int) -> bool:
    """Whether a piece is the first word of the text or of a sentence in it, where capitals mean nothing."""
    before = at - 1
    while before >= 0 and not cut[before].text[0].isalnum() and cut[before].text[0] not in ".!?":
        before -= 1
    return before < 0 or cut[before].text[0] in ".!?"


def _before(cut: Sequence[Piece], at: int) -> str:
    return cut[at - 1].text.lower() if at else ""


def _is_plain(cut: Sequence[Piece], at: int) -> bool:
    """Whether a word with a meaning of its own, no sign and no function word, stands at a place."""
    return 0 <= at < len(cut) and cut[at].text[0].isalpha() and cut[at].text.lower() not in _FUNCTION_WORDS


@cache
def _forms() -> frozenset[str]:
    every = {form for form in verbs.Forms._fields for form in verbs.bases(form)}
    return frozenset(every | {"is", "are", "am", "was", "were", "been", "let"}) - _LISTS["rarely verbs"]


@cache
def _ambiguous() -> frozenset[str]:
    """Forms that nouns have too: "work" and "works", "return" and "returns"."""
    return frozenset(verbs.bases("base")) | frozenset(verbs.bases("third"))
