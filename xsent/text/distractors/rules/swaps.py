"""Words of the word list put for each other, where the words around them need not change."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from xsent.text.distractors.rules.edits import Edit, Word, elides, straight, typed_like, words
from xsent.text.distractors.rules.lexicon import Choices, left_alone, lexicon, overlaps
from xsent.text.tokens import cased_like, starts_sentence, takes_an

_LONGEST = 4  # words of an entry of the lists
# French words whose form depends on how the next one begins.
_BEFORE_VOWEL = {
    "le", "la", "de", "que", "ne", "se", "je", "me", "te", "ce", "cet", "du", "au", "mon", "ton", "son", "ma", "ta",
    "sa", "l'", "d'", "qu'", "n'", "s'", "j'", "m'", "t'", "c'", "jusqu'", "lorsque", "lorsqu'", "puisque", "puisqu'",
    "beau", "bel", "nouveau", "nouvel", "vieux", "vieil", "jusque",
}  # fmt: skip
_NEGATIONS = {
    "nicht", "nichts", "kein", "keine", "keinen", "keinem", "keiner", "nie", "not", "no", "never", "ne", "n'", "pas",
    "nunca", "nada", "nadie",
}  # fmt: skip
_SPECIAL = {"nouveau": "nouvel", "vieux": "vieil", "beau": "bel"}


def swaps(sentence: str, language: str, kind: str, *, per_word: int, rng: random.Random) -> Iterator[Edit]:
    """Changes of one word, or fixed group of words, each.

    Words with a capital are matched as the lists write them, and at the start of a sentence in any case. Fixed
    expressions are left alone. French elision, Spanish "y/e" and "o/u" and English "a/an" must come out the same.
    """
    choices = lexicon(language).get(kind, {})
    fixed = left_alone(sentence, language)
    every = words(sentence)
    present = f" {' '.join(word.text for word in every)} ".lower()
    covered = 0
    for first in range(len(every)):
        if every[first].start < covered:
            continue
        for start, end, others, old in _matches(sentence, every, first, choices):
            covered = end
            if overlaps(start, end, fixed):
                break
            if kind == "function_word" and _is_denied(every, first, end):
                break
            if kind == "neighbour" and _is_of_a_year(sentence, start, end):
                break
            before = every[first - 1].text.lower() if first else ""
            fitting = [
                new
                for new in others
                if f" {new} ".lower() not in present and _fits(language, before, old, new, sentence[end:])
            ]
            for new in rng.sample(fitting, min(per_word, len(fitting))):
                written = _before_vowel(new, sentence[end:]) if language == "fra" else new
                yield Edit(start, end, cased_like(typed_like(written, sentence), sentence[start:end]), kind)
            break


def _matches(
    sentence: str, every: Sequence[Word], first: int, choices: Choices
) -> Iterator[tuple[int, int, list[str], str]]:
    """The entry that begins at a word, the longest first."""
    start = every[first].start
    for last in range(min(first + _LONGEST, len(every)) - 1, first - 1, -1):
        end = every[last].end
        key = straight(sentence[start:end])
        if key not in choices and key[:1].isupper() and starts_sentence(sentence, start):
            key = key[0].lower() + key[1:]
        by_place = choices.get(key, {})
        here = [some for follows, some in by_place.items() if follows and follows.match(sentence, end)]
        # "Près de 200" is not "loin de 200": what stands for a word in this place goes before what does in any.
        others = [other for some in here or [by_place.get(None, [])] for other in some]
        if others:
            yield start, end, others, key


def _is_denied(every: Sequence[Word], first: int, end: int) -> bool:
    """Whether a denial stands near: "nicht immer" and "nicht nie" say much the same, "nie kein" is wrong."""
    after = [word for word in every[first:] if word.start >= end]
    return any(word.text.lower() in _NEGATIONS for word in (*every[max(0, first - 3) : first], *after[:2]))


def _is_of_a_year(sentence: str, start: int, end: int) -> bool:
    """Whether a number stands beside: "im Jahr 2011", "in den 1480er Jahren"."""
    return re.match(r" \d", sentence[end:]) is not None or re.search(r"\der $", sentence[:start]) is not None


def _fits(language: str, before: str, old: str, new: str, after: str) -> bool:
    """Whether the word before keeps its form, and a French "de" at the end is no "d'"."""
    if language == "fra" and new.endswith(" de") and elides(after.lstrip()):
        return False
    if language == "fra" and before in _BEFORE_VOWEL:
        return elides(old) == elides(new)
    if language == "spa" and before in ("y", "e"):
        return _begins_with(old, "i") == _begins_with(new, "i")
    if language == "spa" and before in ("o", "u"):
        return _begins_with(old, "o") == _begins_with(new, "o")
    if language == "eng" and before in ("a", "an"):
        return takes_an(old) == takes_an(new)
    return True


def _begins_with(word: str, sound: str) -> bool:
    return word.lower().removeprefix("h").startswith(sound) and not word.lower().startswith("hie")


def _before_vowel(new: str, after: str) -> str:
    return _SPECIAL[new] if new in _SPECIAL and after.startswith(" ") and elides(after[1:]) else new
