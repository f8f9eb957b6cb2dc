"""Business acronyms, expanded or made: ``abr3`` of the paper's noise."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from xsent.text.noise.parts_of_speech import is_verb
from xsent.text.noise.tokenizer import Piece, split_pieces


@dataclass(frozen=True)
class Acronyms:
    """Pairs of short and full form; of equal ones the first counts."""

    pairs: tuple[tuple[str, str], ...]

    @cached_property
    def full(self) -> dict[str, str]:
        """Full form by short form, both in lower case."""
        return {short.lower(): full.lower() for short, full in reversed(self.pairs)}

    @cached_property
    def short(self) -> dict[str, str]:
        """Short form by full form in lower case."""
        return {full.lower(): short for short, full in reversed(self.pairs)}

    @cached_property
    def by_word(self) -> dict[str, list[str]]:
        """Lower-case full forms by first piece, in list order."""
        index: dict[str, list[str]] = {}
        for _, full in self.pairs:
            index.setdefault(split_pieces(full.lower())[0].text, []).append(full.lower())
        return index


def toggle_acronyms(sentence: str, rng: random.Random, *, lexicon: Acronyms) -> str:
    """Expand some acronyms and shorten some full forms, in any case; verbs stay.

    Args:
        rng: draws how many of the n matches change, 1 to n, then which.

    Source:
        NL-Augmenter's replace_abbreviation_and_acronyms (arXiv:2112.02721).
    """
    # Differs from the reference: no ftfy (it repairs quotes and encodings, and so changes sentences without acronyms);
    # rules instead of a tagger find the verbs.
    pieces = split_pieces(sentence)
    matches = list(_matches(pieces, lexicon))
    if not matches:
        return sentence
    chosen = rng.sample(matches, rng.randint(1, len(matches)))
    texts = [piece.text + piece.blank for piece in pieces]
    for start, end, new in sorted(chosen, reverse=True):
        texts[start:end] = [new + pieces[end - 1].blank]
    return "".join(texts)


def _matches(pieces: list[Piece], lexicon: Acronyms) -> Iterator[tuple[int, int, str]]:
    """Start and end (exclusive) of each match in pieces, and its replacement."""
    i = 0
    while i < len(pieces):
        word = pieces[i].text.lower()
        end = i + 1
        is_listed = word in lexicon.full or word in lexicon.by_word
        if is_listed and not is_verb(pieces, i):
            if word in lexicon.full:
                yield i, end, lexicon.full[word]
            elif full := next((full for full in lexicon.by_word[word] if _match_end(full, pieces, i)), None):
                end = _match_end(full, pieces, i)
                yield i, end, lexicon.short[full]
        i = end


def _match_end(full: str, pieces: list[Piece], start: int) -> int:
    """End (exclusive) of a full form that starts at a piece; 0 if it does not."""
    text = ""
    for end in range(start, len(pieces)):
        text += pieces[end].text.lower()
        if text == full:
            return end + 1
        text += pieces[end].blank
        if not full.startswith(text):
            return 0
    return 0
