"""Abbreviations of phrases and words from a list: ``abr1`` of the paper's noise."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from xsent.text.noise.tokenizer import split_pieces

_PREFIX = 4  # characters by which phrases are indexed: few phrases share them, and few are shorter
_DRAW_BYTES = 8  # of the generator's output per call of random()


@dataclass(frozen=True)
class Abbreviations:
    """Short forms in list order, case-sensitive; of several, one is drawn."""

    phrases: Mapping[str, tuple[str, ...]]
    words: Mapping[str, tuple[str, ...]]
    whole_words: bool = False  # phrases match between word boundaries only; the released ones also within words

    def find_phrases(self, text: str) -> set[int]:
        """List positions of the phrases in a text."""
        positions = set()
        for size in self._prefix_sizes:
            prefixes = {text[start : start + size] for start in range(len(text))}
            for prefix in prefixes & self._by_prefix.keys():
                positions |= {position for position, phrase in self._by_prefix[prefix] if phrase in text}
        if self.whole_words:
            return {i for i in positions if _whole_word_pattern(self.entries[i][0]).search(text)}
        return positions

    def abbreviate(self, text: str, position: int, short: str) -> str:
        """Replace all occurrences of a phrase by a short form."""
        phrase, _ = self.entries[position]
        if self.whole_words:
            return _whole_word_pattern(phrase).sub(lambda _: short, text)
        return text.replace(phrase, short)

    @cached_property
    def entries(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple(self.phrases.items())

    @cached_property
    def _by_prefix(self) -> dict[str, list[tuple[int, str]]]:
        index: dict[str, list[tuple[int, str]]] = {}
        for position, phrase in enumerate(self.phrases):
            index.setdefault(phrase[:_PREFIX], []).append((position, phrase))
        return index

    @cached_property
    def _prefix_sizes(self) -> list[int]:
        return sorted({len(prefix) for prefix in self._by_prefix})


@lru_cache(maxsize=1 << 12)  # more than there are bundled phrases
def _whole_word_pattern(phrase: str) -> re.Pattern[str]:
    """No letter or digit on either side, also after an apostrophe: "you have" is not in "you haven't"."""
    return re.compile(rf"(?<![^\W_])(?<![^\W_]['’]){re.escape(phrase)}(?!['’]?[^\W_])")


def abbreviate(sentence: str, rng: random.Random, *, probability: float, lexicon: Abbreviations) -> str:
    """Abbreviate some phrases, then some words; pieces end up separated by single blanks.

    Args:
        rng: source of one draw per phrase of the list, then one per listed word of the sentence.
        probability: of each phrase (all occurrences at once) and each word.
        lexicon: phrases match as substrings (the bundled ones between word boundaries), words as pieces.

    Source:
        NL-Augmenter's abbreviation_transformation (arXiv:2112.02721), as Nishimwe et al. 2024 use it.
    """
    draws = rng.randbytes(_DRAW_BYTES * len(lexicon.phrases))
    text = sentence
    last = -1
    # The reference replaces phrases in list order, so a short form may complete a later phrase.
    while True:
        positions = [i for i in lexicon.find_phrases(text) if i > last and _uniform(draws, i) < probability]
        if not positions:
            break
        last = min(positions)
        text = lexicon.abbreviate(text, last, _draw_short(lexicon.entries[last][1], rng))
    words = [piece.text for piece in split_pieces(text)]
    for i, word in enumerate(words):
        if (short := lexicon.words.get(word)) and rng.random() < probability:
            words[i] = _draw_short(short, rng)
    return " ".join(words)


def _draw_short(short: tuple[str, ...], rng: random.Random) -> str:
    # The reference has one short form for each and draws nothing here.
    return short[0] if len(short) == 1 else rng.choice(short)


def _uniform(draws: bytes, position: int) -> float:
    """The ``position``-th result of ``random()``: thousands of calls would be too slow."""
    start = position * _DRAW_BYTES
    high = int.from_bytes(draws[start : start + 4], "little") >> 5
    low = int.from_bytes(draws[start + 4 : start + _DRAW_BYTES], "little") >> 6
    return (high * 2**26 + low) / 2**53
