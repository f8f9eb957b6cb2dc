"""Abbreviations from lists: phrases and words (``abr1``), business acronyms (``abr3``)."""

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from xsent.text.noise.parts_of_speech import is_verb
from xsent.text.noise.tokenizer import Piece, split_pieces

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
    matches = list(_acronym_matches(pieces, lexicon))
    if not matches:
        return sentence
    chosen = rng.sample(matches, rng.randint(1, len(matches)))
    texts = [piece.text + piece.blank for piece in pieces]
    for start, end, new in sorted(chosen, reverse=True):
        texts[start:end] = [new + pieces[end - 1].blank]
    return "".join(texts)


def _acronym_matches(pieces: list[Piece], lexicon: Acronyms) -> Iterator[tuple[int, int, str]]:
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
