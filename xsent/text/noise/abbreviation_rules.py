"""Abbreviations by rules with optional and repeated words: ``abr2`` of the paper's noise."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from xsent.text.english.tokens import match_case


class Element(NamedTuple):
    """One position of a rule."""

    words: tuple[str, ...]  # alternatives
    optional: bool = False
    repeated: bool = False


class Rule(NamedTuple):
    """A short form and the phrase it replaces."""

    short: str
    elements: tuple[Element, ...]

    @property
    def rest(self) -> tuple[Element, ...]:
        """What must follow the first word, which may repeat."""
        first = self.elements[0]
        return (first._replace(optional=True), *self.elements[1:]) if first.repeated else self.elements[1:]


def parse_rule(short: str, phrase: str) -> Rule:
    """Parse a rule in the notation of NL-Augmenter's rule file.

    The elements of a phrase: ``word``, ``"sign"``, ``(optional)``, ``part(ly)``, ``many+``, ``any*``.

    Raises:
        ValueError: unknown notation, or an optional first element.
    """
    elements = tuple(_parse_element(text) for text in phrase.split())
    if not short or not elements:
        raise ValueError(f"expected a short form and a phrase, found {short!r} and {phrase!r}")
    if elements[0].optional:
        raise ValueError(f"expected a first word that is not optional, found {phrase!r}")
    return Rule(short, elements)


def _parse_element(text: str) -> Element:
    if match := _QUOTED.fullmatch(text):
        return Element((match[1],))
    if match := _OPTIONAL.fullmatch(text):
        before, inside, after = match.groups()
        if not before and not after:
            return _parse_element(inside)._replace(optional=True)
        return Element((_check_word(before + after, text), _check_word(before + inside + after, text)))
    if text[-1] in "+*":
        return Element((_check_word(text[:-1], text),), optional=text[-1] == "*", repeated=True)
    return Element((_check_word(text, text),))


def _check_word(word: str, element: str) -> str:
    if not word or word[0] in "?[<%!" or any(sign in word for sign in '|"()'):
        raise ValueError(f"expected a word, a quoted sign or an optional word, found {element!r}")
    return word


_QUOTED = re.compile(r'"([^"]+)"')
_OPTIONAL = re.compile(r"([^()]*)\(([^()]+)\)([^()]*)")


@dataclass(frozen=True)
class Rules:
    """The rules of ``abr2`` in order."""

    rules: tuple[Rule, ...]

    @cached_property
    def by_word(self) -> dict[str, list[Rule]]:
        """Rules by first word, the longest first."""
        index: dict[str, list[Rule]] = {}
        for rule in self.rules:
            for word in rule.elements[0].words:
                index.setdefault(word, []).append(rule)
        return {word: sorted(rules, key=lambda rule: -len(rule.rest)) for word, rules in index.items()}


def apply_rules(sentence: str, rng: random.Random, *, lexicon: Rules) -> str:
    """Abbreviate every phrase that matches a rule, from left to right; the longest rule wins. ``rng`` is not used.

    Words match in lower case; the short form keeps the phrase's initial capital.

    Source:
        NL-Augmenter's insert_abbreviation (arXiv:2112.02721): the part of its rule engine that its rules use.
    """
    spans = [match.span() for match in _TOKEN.finditer(sentence)]
    words = [sentence[start:end].lower() for start, end in spans]
    parts: list[str] = []
    copied = i = 0
    while i < len(words):
        end, short = _match_rules(lexicon.by_word.get(words[i], ()), words, i)
        if end > i:
            start = spans[i][0]
            parts += [sentence[copied:start], match_case(short, sentence[start])]
            copied = spans[end - 1][1]
        i = max(end, i + 1)
    return "".join([*parts, sentence[copied:]])


def rule_words(text: str) -> list[str]:
    """Lower-case words and signs of a text, as rules match them."""
    return [match.group().lower() for match in _TOKEN.finditer(text)]


def _match_rules(rules: Sequence[Rule], words: list[str], start: int) -> tuple[int, str]:
    """End and short form of the first matching rule; (start, "") if none matches."""
    for rule in rules:
        i = start + 1
        for element in rule.rest:
            # As in the reference, a rule fails at the end of the sentence even if only optional elements are left.
            i = _match_element(element, words, i) if i < len(words) else -1
            if i < 0:
                break
        else:
            return i, rule.short
    return start, ""


def _match_element(element: Element, words: list[str], i: int) -> int:
    if words[i] not in element.words:
        return i if element.optional else -1
    i += 1
    while element.repeated and i < len(words) and words[i] in element.words:
        i += 1
    return i


# The reference's signs: "$", "%" and "_" belong to words, and so do ".", "-" and "+" before more of the word.
_SIGNS = (
    r"!-#&-/:-@\[-^`{-~\u009c\u00a1\u00a2\u00a4-\u00a6\u00aa-\u00ad\u00af-\u00b1\u00b5-\u00b8\u00ba-\u00bf\u00d7\u00f7"
    r"\u02bc\u05be\u05c0\u05c3\u05c6\u05f3\u05f4\u060c-\u060f\u061f\u066d\u06dd\u06de\u06e9\u2013-\u2015\u2018\u2019"
    r"\u201c\u201d\u2020-\u2022\u2025\u2026\u2032\u2033\u203b\u212e\u2190-\u2193\u2264\u2265\u263a\u3001\u3002\u3008\u3009"
    r"\u300c-\u300f\u301c\u301d\u301f\u303d\u266a\ufd3e\ufd3f\uff01\uff0c\uff1a\uff1f"
)
_BLANKS = r"\t\n\r \u00a0\u202f\u3000"
_WORD = rf"[^{_SIGNS}{_BLANKS}]+"
_TOKEN = re.compile(rf"[+-]?{_WORD}(?:[.+-]{_WORD})*|[{_SIGNS}]")
