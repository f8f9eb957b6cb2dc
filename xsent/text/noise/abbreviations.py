"""Short forms of words, phrases and business terms: ``abr1``, ``abr2`` and ``abr3`` of the method's noise."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from xsent.text.noise.parts_of_speech import is_verb
from xsent.text.noise.tokenizer import Piece, pieces


@dataclass(frozen=True)
class Abbreviations:
    """Short forms for ``abr1``, in the order of their list, case included; of several, one is drawn."""

    phrases: Mapping[str, tuple[str, ...]]
    words: Mapping[str, tuple[str, ...]]
    whole_words: bool = False  # phrases between word boundaries only; the released ones match within words too

    def present(self, text: str) -> set[int]:
        """Places in the list of the phrases that stand in a text."""
        found = set()
        for size in self._sizes:
            starts = {text[at : at + size] for at in range(len(text))}
            for start in starts & self._by_start.keys():
                found |= {place for place, phrase in self._by_start[start] if phrase in text}
        return {place for place in found if self._stands(place, text)} if self.whole_words else found

    def shortened(self, text: str, place: int, short: str) -> str:
        """A text with a short form in place of a phrase, wherever it stands."""
        phrase, _ = self.numbered[place]
        if self.whole_words:
            return _between_boundaries(phrase).sub(lambda _: short, text)
        return text.replace(phrase, short)

    def _stands(self, place: int, text: str) -> bool:
        return bool(_between_boundaries(self.numbered[place][0]).search(text))

    @cached_property
    def numbered(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Phrases and their short forms by place in the list."""
        return tuple(self.phrases.items())

    @cached_property
    def _by_start(self) -> dict[str, list[tuple[int, str]]]:
        found: dict[str, list[tuple[int, str]]] = {}
        for place, phrase in enumerate(self.phrases):
            found.setdefault(phrase[:_START], []).append((place, phrase))
        return found

    @cached_property
    def _sizes(self) -> list[int]:
        return sorted({len(start) for start in self._by_start})


@lru_cache(maxsize=1 << 12)  # more than there are bundled phrases
def _between_boundaries(phrase: str) -> re.Pattern[str]:
    """A phrase with no letter or digit beside it, nor one behind an apostrophe: "you have" is not in "you haven't"."""
    return re.compile(rf"(?<![^\W_])(?<![^\W_]['’]){re.escape(phrase)}(?!['’]?[^\W_])")


_START = 4  # letters of a phrase that are looked up first: few phrases share them, and few are shorter


def abr1(sentence: str, rng: random.Random, *, probability: float, lexicon: Abbreviations) -> str:
    """Some phrases, then some words, in their short forms; pieces end up one blank apart, changed or not.

    Args:
        sentence: any text.
        rng: drawn from once for every phrase of the list, then once for every listed word of the sentence.
        probability: of each phrase (all its occurrences change at once) and of each word.
        lexicon: phrases match as substrings (those of this project between word boundaries), words as whole pieces;
            both mind the case.

    Source:
        NL-Augmenter's abbreviation_transformation (arXiv:2112.02721), as Nishimwe et al. 2024 use it.
    """
    drawn = rng.randbytes(_BYTES * len(lexicon.phrases))
    text = sentence
    done = -1
    # The reference goes through the whole list, replacing as it goes: a short form may make a later phrase.
    while True:
        waiting = [place for place in lexicon.present(text) if place > done and _uniform(drawn, place) < probability]
        if not waiting:
            break
        done = min(waiting)
        text = lexicon.shortened(text, done, _one_of(lexicon.numbered[done][1], rng))
    return " ".join([_shortened(piece.text, rng, probability, lexicon.words) for piece in pieces(text)])


def _shortened(word: str, rng: random.Random, probability: float, words: Mapping[str, tuple[str, ...]]) -> str:
    short = words.get(word)
    return _one_of(short, rng) if short and rng.random() < probability else word


def _one_of(short: tuple[str, ...], rng: random.Random) -> str:
    # The reference knows one short form for each and draws nothing here.
    return short[0] if len(short) == 1 else rng.choice(short)


_BYTES = 8  # that one call of random() takes from the generator


def _uniform(drawn: bytes, place: int) -> float:
    """What the ``place``-th of as many calls of ``random()`` would have given: thousands of calls are too slow."""
    start = place * _BYTES
    high = int.from_bytes(drawn[start : start + 4], "little") >> 5
    low = int.from_bytes(drawn[start + 4 : start + _BYTES], "little") >> 6
    return (high * 2**26 + low) / 2**53


class Element(NamedTuple):
    """What a rule asks of one place of a sentence."""

    words: tuple[str, ...]
    optional: bool = False
    repeated: bool = False


class Rule(NamedTuple):
    """A short form and what it stands for."""

    label: str
    elements: tuple[Element, ...]


def rule(label: str, phrase: str) -> Rule:
    """A rule of its two sides, in the notation of NL-Augmenter's rule file.

    Args:
        label: the short form.
        phrase: elements apart by blanks: ``word``, ``"sign"``, ``(optional)``, ``part(ly)``, ``many+``, ``any*``.

    Raises:
        ValueError: if an element is written otherwise, or the first one may be absent.
    """
    elements = tuple(_element(written) for written in phrase.split())
    if not label or not elements:
        raise ValueError(f"expected a short form and a phrase, found {label!r} and {phrase!r}")
    if elements[0].optional:
        raise ValueError(f"expected a first word that is not optional, found {phrase!r}")
    return Rule(label, elements)


def _element(written: str) -> Element:
    if match := _QUOTED.fullmatch(written):
        return Element((match[1],))
    if match := _OPTIONAL.fullmatch(written):
        before, inside, after = match.groups()
        if not before and not after:
            return _element(inside)._replace(optional=True)
        return Element((_plain(before + after, written), _plain(before + inside + after, written)))
    if written[-1] in "+*":
        return Element((_plain(written[:-1], written),), optional=written[-1] == "*", repeated=True)
    return Element((_plain(written, written),))


def _plain(word: str, written: str) -> str:
    """A word of an element, in which no notation is left."""
    if not word or word[0] in "?[<%!" or any(sign in word for sign in '|"()'):
        raise ValueError(f"expected a word, a quoted sign or an optional word, found {written!r}")
    return word


_QUOTED = re.compile(r'"([^"]+)"')
_OPTIONAL = re.compile(r"([^()]*)\(([^()]+)\)([^()]*)")


@dataclass(frozen=True)
class Rules:
    """The rules of ``abr2`` in their order."""

    rules: tuple[Rule, ...]

    @cached_property
    def by_word(self) -> dict[str, list[Rule]]:
        """Rules by first word: those of most elements first, those of as many in their order."""
        found: dict[str, list[Rule]] = {}
        for one in self.rules:
            for word in one.elements[0].words:
                found.setdefault(word, []).append(one)
        return {word: sorted(some, key=lambda one: -len(_rest(one))) for word, some in found.items()}


def abr2(sentence: str, rng: random.Random, *, lexicon: Rules) -> str:
    """Every phrase that a rule knows in its short form; nothing is drawn.

    From left to right, the longest rule that begins with a word wins. A short form begins with a capital where the
    phrase does.

    Args:
        sentence: any text; its words match in lower case.
        rng: not used.
        lexicon: the rules.

    Source:
        NL-Augmenter's insert_abbreviation (arXiv:2112.02721): its rule engine, in so far as its rules need it.
    """
    spans = [match.span() for match in _RULE_TOKEN.finditer(sentence)]
    words = [sentence[start:end].lower() for start, end in spans]
    parts: list[str] = []
    copied = at = 0
    while at < len(words):
        end, label = _match(lexicon.by_word.get(words[at], ()), words, at)
        if end > at:
            start = spans[at][0]
            parts += [sentence[copied:start], label[0].upper() + label[1:] if sentence[start].isupper() else label]
            copied = spans[end - 1][1]
        at = max(end, at + 1)
    return "".join([*parts, sentence[copied:]])


def rule_words(text: str) -> list[str]:
    """The words and signs of a text as rules see them."""
    return [match.group().lower() for match in _RULE_TOKEN.finditer(text)]


def _match(rules: Sequence[Rule], words: list[str], start: int) -> tuple[int, str]:
    """Where the first rule that fits ends, and its short form; (start, "") if none fits."""
    for one in rules:
        at = start + 1
        for element in _rest(one):
            # At the end of the sentence even an optional element is missing: the reference's rule then fails.
            at = _after(element, words, at) if at < len(words) else -1
            if at < 0:
                break
        else:
            return at, one.label
    return start, ""


def _rest(one: Rule) -> tuple[Element, ...]:
    """What is left to match after the first word; a repeated one may go on."""
    first = one.elements[0]
    return (first._replace(optional=True), *one.elements[1:]) if first.repeated else one.elements[1:]


def _after(element: Element, words: list[str], at: int) -> int:
    if words[at] not in element.words:
        return at if element.optional else -1
    at += 1
    while element.repeated and at < len(words) and words[at] in element.words:
        at += 1
    return at


# The reference's signs: "$", "%" and "_" belong to words, and so do ".", "-" and "+" before more of the word.
_SIGNS = (
    r"!-#&-/:-@\[-^`{-~\u009c\u00a1\u00a2\u00a4-\u00a6\u00aa-\u00ad\u00af-\u00b1\u00b5-\u00b8\u00ba-\u00bf\u00d7\u00f7"
    r"\u02bc\u05be\u05c0\u05c3\u05c6\u05f3\u05f4\u060c-\u060f\u061f\u066d\u06dd\u06de\u06e9\u2013-\u2015\u2018\u2019"
    r"\u201c\u201d\u2020-\u2022\u2025\u2026\u2032\u2033\u203b\u212e\u2190-\u2193\u2264\u2265\u263a\u3001\u3002\u3008\u3009"
    r"\u300c-\u300f\u301c\u301d\u301f\u303d\u266a\ufd3e\ufd3f\uff01\uff0c\uff1a\uff1f"
)
_BLANKS = r"\t\n\r \u00a0\u202f\u3000"
_WORD = rf"[^{_SIGNS}{_BLANKS}]+"
_RULE_TOKEN = re.compile(rf"[+-]?{_WORD}(?:[.+-]{_WORD})*|[{_SIGNS}]")


@dataclass(frozen=True)
class Acronyms:
    """Pairs of ``abr3``: a short form and what it stands for; of equal ones the first is taken."""

    pairs: tuple[tuple[str, str], ...]

    @cached_property
    def long(self) -> dict[str, str]:
        """Full form by short form, both in lower case."""
        return {short.lower(): long.lower() for short, long in reversed(self.pairs)}

    @cached_property
    def short(self) -> dict[str, str]:
        """Short form by full form in lower case."""
        return {long.lower(): short for short, long in reversed(self.pairs)}

    @cached_property
    def by_word(self) -> dict[str, list[str]]:
        """Full forms in lower case by their first piece, in their order."""
        found: dict[str, list[str]] = {}
        for _, long in self.pairs:
            found.setdefault(pieces(long.lower())[0].text, []).append(long.lower())
        return found


def abr3(sentence: str, rng: random.Random, *, lexicon: Acronyms) -> str:
    """Some short forms of business written out and some full forms shortened, verbs left alone.

    Args:
        sentence: any text; both forms match in any case.
        rng: draws how many of the n matches change, 1 to n, and then which.
        lexicon: the pairs.

    Source:
        NL-Augmenter's replace_abbreviation_and_acronyms (arXiv:2112.02721).
    """
    # Differs from the reference: its call of ftfy (straight quotes, repaired encodings) is left out, for it changes
    # sentences in which nothing is abbreviated; its tagger's verbs are told by rules.
    cut = pieces(sentence)
    matches = list(_matches(cut, lexicon))
    if not matches:
        return sentence
    chosen = rng.sample(range(len(matches)), rng.randint(1, len(matches)))
    texts = [piece.text + piece.blank for piece in cut]
    for start, end, new in sorted([matches[place] for place in chosen], reverse=True):
        texts[start:end] = [new + cut[end - 1].blank]
    return "".join(texts)


def _matches(cut: list[Piece], lexicon: Acronyms) -> Iterator[tuple[int, int, str]]:
    """First piece, the one after the last, and what stands for them."""
    at = 0
    while at < len(cut):
        word = cut[at].text.lower()
        end = at + 1
        known = word in lexicon.long or word in lexicon.by_word
        if known and not is_verb(cut, at):
            if word in lexicon.long:
                yield at, end, lexicon.long[word]
            elif full := next((full for full in lexicon.by_word[word] if _end_of(full, cut, at)), None):
                end = _end_of(full, cut, at)
                yield at, end, lexicon.short[full]
        at = end


def _end_of(full: str, cut: list[Piece], at: int) -> int:
    """Where a full form that begins at a piece ends; 0 if another text stands there."""
    text = ""
    for end in range(at, len(cut)):
        text += cut[end].text.lower()
        if text == full:
            return end + 1
        text += cut[end].blank
        if not full.startswith(text):
            return 0
    return 0
