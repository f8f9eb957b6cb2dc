"""Slang for nouns, adjectives and adverbs: ``slng`` of the paper's noise."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from xsent.text.english.tokens import match_case
from xsent.text.english.verbs import add_s
from xsent.text.noise.parts_of_speech import is_adjective, is_verb, starts_sentence
from xsent.text.noise.tokenizer import Piece, join_pieces, split_pieces
from xsent.text.word_lists import load_sections


@dataclass(frozen=True)
class Slang:
    """Slang entries by standard word, in list order; a repeated word has several slang words."""

    nouns: tuple[tuple[str, ...], ...]  # word, slang, slang in the plural
    adjectives: tuple[tuple[str, ...], ...]  # word, slang; likewise the adverbs
    adverbs: tuple[tuple[str, ...], ...]

    @cached_property
    def singular(self) -> dict[str, list[str]]:
        return _group((word, slang) for word, slang, _ in self.nouns)

    @cached_property
    def plural(self) -> dict[str, list[str]]:
        return _group((_plural(word), slang) for word, _, slang in self.nouns)

    @cached_property
    def adjective(self) -> dict[str, list[str]]:
        return _group(self.adjectives)

    @cached_property
    def adverb(self) -> dict[str, list[str]]:
        return _group(self.adverbs)


def insert_slang(sentence: str, rng: random.Random, *, lexicon: Slang) -> str:
    """Replace every listed noun, adjective and adverb by slang; capital and plural stay.

    Args:
        rng: source of two draws per replaced word: a decision that is always positive, and the slang word.
        lexicon: the slang; a capitalised word inside a sentence is a name and must be listed as such.

    Source:
        NL-Augmenter's slangificator (arXiv:2112.02721).
    """
    # Differs from the reference: rules (parts_of_speech.py), not a model, decide parts of speech and plurals.
    pieces = split_pieces(sentence)
    texts = []
    for i, piece in enumerate(pieces):
        text = piece.text
        if candidates := _candidates(pieces, i, lexicon):
            rng.uniform(0, 1)  # the reference's draw, whose outcome is certain
            text = match_case(candidates[rng.randint(0, len(candidates) - 1)], text)
        texts.append(text)
    return join_pieces(texts, pieces)


def _candidates(pieces: list[Piece], i: int, lexicon: Slang) -> list[str]:
    word = pieces[i].text
    if not word.islower() and word not in lexicon.singular:
        if not word[:1].isupper() or not word[1:].islower() or not starts_sentence(pieces, i):
            return []
        word = word.lower()
    if word in lexicon.adjective and is_adjective(pieces, i):
        return lexicon.adjective[word]
    if nouns := lexicon.plural.get(word) or lexicon.singular.get(word):
        return [] if is_verb(pieces, i) else nouns
    return lexicon.adverb.get(word, [])


def _group(pairs: Iterable[tuple[str, ...]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for word, slang in pairs:
        groups.setdefault(word, []).append(slang)
    return groups


def _plural(noun: str) -> str:
    for entry in load_sections("plurals")["irregular"]:
        singular, plural = entry.split()
        if noun == singular or (len(singular) > 2 and noun.endswith(singular)):
            return noun.removesuffix(singular) + plural
    return add_s(noun)
