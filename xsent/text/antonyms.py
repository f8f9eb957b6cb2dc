"""Opposites in place of words, from the bundled list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from xsent.text import verbs
from xsent.text.tokens import cased_like, replaced, starts_sentence
from xsent.text.words import sections


def with_antonyms(sentence: str) -> list[str]:
    """The sentence with one word, or fixed group of words, replaced by its opposite; once for each that has one.

    Verbs keep their form, "a" and "an" are set right. Words of fixed expressions ("as long as") are left alone, and
    so are those with a capital within the sentence, which belong to names.
    """
    opposites = _opposites()
    fixed = [match.span() for match in _any_of(sections("antonyms")["leave"]).finditer(sentence)]
    found = []
    for match in _any_of(tuple(opposites)).finditer(sentence):
        start, end = match.span()
        if any(start < there_end and there_start < end for there_start, there_end in fixed):
            continue
        if not match.group().islower() and not _is_plain_start(sentence, start, end):
            continue
        found.append(replaced(sentence, start, end, cased_like(opposites[match.group().lower()], match.group())))
    return found


def _is_plain_start(sentence: str, start: int, end: int) -> bool:
    # "Northern Rock" is a name even at the start of a sentence.
    return starts_sentence(sentence, start) and not re.match(r" [A-Z]", sentence[end:])


@cache
def _opposites() -> dict[str, str]:
    """Opposite by lower-case word or group of words."""
    lists = sections("antonyms")
    found: dict[str, set[str]] = {}
    for one, other in _pairs(lists["words"]):
        found.setdefault(one, set()).add(other)
    for one, other in _pairs(lists["verbs"]):
        for form, opposite in zip(verbs.forms(one), verbs.forms(other), strict=True):
            found.setdefault(form, set()).add(opposite)
    # A form that would have two opposites ("ended": "began" or "begun") says too little about itself.
    return {one: others.pop() for one, others in found.items() if len(others) == 1}


def _pairs(entries: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        both_ways = " = " in entry
        one, other = entry.split(" = " if both_ways else " > ")
        yield one, other
        if both_ways:
            yield other, one


@cache
def _any_of(phrases: tuple[str, ...]) -> re.Pattern[str]:
    # The longest first: "because of" before "because".
    alternatives = "|".join(re.escape(phrase) for phrase in sorted(phrases, key=lambda phrase: (-len(phrase), phrase)))
    return re.compile(rf"(?<![\w'’-])(?:{alternatives})(?![\w'’-])", re.IGNORECASE)
