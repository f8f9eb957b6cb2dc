"""Slang in place of nouns, adjectives and adverbs: ``slng`` of the method's noise."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from xsent.text.noise.parts_of_speech import is_adjective, is_verb, starts
from xsent.text.noise.tokenizer import Piece, joined, pieces


@dataclass(frozen=True)
class Slang:
    """Slang by standard word, in the order of the lists; a word that stands several times has several slang words."""

    nouns: tuple[tuple[str, str, str], ...]  # word, slang, slang in the plural
    adjectives: tuple[tuple[str, str], ...]
    adverbs: tuple[tuple[str, str], ...]

    @cached_property
    def singular(self) -> dict[str, list[str]]:
        """Slang for a noun in the singular."""
        return _gathered([(word, one) for word, one, _ in self.nouns])

    @cached_property
    def plural(self) -> dict[str, list[str]]:
        """Slang for a noun in the plural, by its plural."""
        return _gathered([(_plural(word), many) for word, _, many in self.nouns])

    @cached_property
    def adjective(self) -> dict[str, list[str]]:
        """Slang for an adjective."""
        return _gathered(self.adjectives)

    @cached_property
    def adverb(self) -> dict[str, list[str]]:
        """Slang for an adverb."""
        return _gathered(self.adverbs)


def slng(sentence: str, rng: random.Random, *, lexicon: Slang) -> str:
    """Every listed noun, adjective and adverb replaced by slang, capital and plural kept.

    Args:
        sentence: any text.
        rng: drawn from twice for every replaced word: whether (always), and by which of its slang words.
        lexicon: the slang; names, that is words with a capital within a sentence, are found only as they are listed.

    Source:
        NL-Augmenter's slangificator (arXiv:2112.02721).
    """
    # Differs from the reference: parts of speech and plurals are told by rules (parts_of_speech.py), not by a model.
    cut = pieces(sentence)
    texts = []
    for at, piece in enumerate(cut):
        text = piece.text
        if others := _slang(cut, at, lexicon):
            rng.uniform(0, 1)  # the reference's decision, of which the outcome is certain
            other = others[rng.randint(0, len(others) - 1)]
            text = other[0].upper() + other[1:] if text[0].isupper() else other
        texts.append(text)
    return joined(texts, cut)


def _slang(cut: list[Piece], at: int, lexicon: Slang) -> list[str]:
    """The slang words for a piece; none if it has none, or is no noun, adjective or adverb here."""
    word = cut[at].text
    if not word.islower() and word not in lexicon.singular:
        if not word[:1].isupper() or not word[1:].islower() or not starts(cut, at):
            return []
        word = word.lower()
    nouns = lexicon.plural.get(word) if word in lexicon.plural else lexicon.singular.get(word)
    if word in lexicon.adjective and is_adjective(cut, at):
        return lexicon.adjective[word]
    if nouns:
        return [] if is_verb(cut, at) else nouns
    return lexicon.adverb.get(word, [])


def _gathered(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for word, slang in pairs:
        found.setdefault(word, []).append(slang)
    return found


def _plural(word: str) -> str:
    """The plural of a noun by the rules of spelling and a few exceptions."""
    for one, many in _IRREGULAR.items():
        if word == one or (len(one) > 2 and word.endswith(one)):
            return word[: -len(one)] + many
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")


_IRREGULAR = {
    "woman": "women", "man": "men", "child": "children", "tooth": "teeth", "foot": "feet", "person": "persons",
    "people": "people", "police": "police", "thief": "thieves", "knife": "knives", "wife": "wives",
    "potato": "potatoes", "mosquito": "mosquitoes", "hero": "heroes", "mouse": "mice",
}  # fmt: skip
