"""Replacement of English words by their antonyms, from the bundled list."""

import re
from collections.abc import Iterator
from functools import cache

from xsent.text.english import verbs
from xsent.text.english.tokens import match_case, replace_span, starts_sentence
from xsent.text.word_lists import load_sections


def replace_with_antonyms(sentence: str) -> list[str]:
    """All sentences with one word or fixed phrase replaced by its antonym.

    Verbs keep their form and "a"/"an" agrees. Fixed expressions ("as long as") and capitalised words inside the
    sentence (names) stay.
    """
    antonyms = _antonyms()
    fixed = [match.span() for match in _phrase_pattern(load_sections("antonyms")["leave"]).finditer(sentence)]
    variants = []
    for match in _phrase_pattern(tuple(antonyms)).finditer(sentence):
        start, end = match.span()
        if any(start < fixed_end and fixed_start < end for fixed_start, fixed_end in fixed):
            continue
        # "Northern Rock" is a name even at the start of a sentence.
        is_plain_start = starts_sentence(sentence, start) and not re.match(r" [A-Z]", sentence[end:])
        if match.group().islower() or is_plain_start:
            antonym = match_case(antonyms[match.group().lower()], match.group())
            variants.append(replace_span(sentence, start, end, antonym))
    return variants


@cache
def _antonyms() -> dict[str, str]:
    """Antonym by lower-case word or phrase; ambiguous forms ("ended": "began" or "begun") have none."""
    lists = load_sections("antonyms")
    antonyms: dict[str, set[str]] = {}
    for word, antonym in _pairs(lists["words"]):
        antonyms.setdefault(word, set()).add(antonym)
    for verb, opposite in _pairs(lists["verbs"]):
        for form, antonym in zip(verbs.forms(verb), verbs.forms(opposite), strict=True):
            antonyms.setdefault(form, set()).add(antonym)
    return {word: candidates.pop() for word, candidates in antonyms.items() if len(candidates) == 1}


def _pairs(entries: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        symmetric = " = " in entry
        word, antonym = entry.split(" = " if symmetric else " > ")
        yield word, antonym
        if symmetric:
            yield antonym, word


@cache
def _phrase_pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    # The longest first: "because of" before "because".
    alternatives = "|".join(re.escape(phrase) for phrase in sorted(phrases, key=lambda phrase: (-len(phrase), phrase)))
    return re.compile(rf"(?<![\w'’-])(?:{alternatives})(?![\w'’-])", re.IGNORECASE)
