"""A change of a sentence, and the words it is told by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

# An apostrophe belongs to what it ends (l', qu'), a hyphen joins (peut-être, 28-jährig).
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*['’]?")
_VOWEL = "aeiouyàâäéèêëîïôöùûüœæáíóúh"  # an h counts: most that begin French words are silent
# The h of these is not, and some words that begin with a vowel take no elision either.
_NO_ELISION = re.compile(r"ha[uïsmnr]|hé(?:ros\b|riss)|ho(?:ng|ll|rs|ckey)|hu(?:it|mm|tt)|hong|onz|y[aeo]|ou[iï]\b")

NEGATION = "negation"
_QUOTATION_BEFORE = re.compile(r"[»”\"]\s?[,.]?\s$")


class Edit(NamedTuple):
    """Another text in place of a part of a sentence."""

    start: int
    end: int
    new: str
    kind: str


class Word(NamedTuple):
    """A word of a sentence and where it stands."""

    text: str  # with a straight apostrophe
    start: int
    end: int


def words(sentence: str) -> list[Word]:
    """The words in their order; signs are no words."""
    return [Word(straight(match.group()), *match.span()) for match in _WORD.finditer(sentence)]


def straight(text: str) -> str:
    """With straight apostrophes, as the word lists have them."""
    return text.replace("’", "'")


def typed_like(text: str, sentence: str) -> str:
    """With the apostrophes of a sentence."""
    return text.replace("'", "’") if "’" in sentence else text


def edited(sentence: str, edits: Iterable[Edit]) -> str:
    """The sentence after changes that do not overlap."""
    for edit in sorted(edits, reverse=True):
        sentence = sentence[: edit.start] + edit.new + sentence[edit.end :]
    return sentence


def note(sentence: str, edits: Iterable[Edit]) -> str:
    """What was changed, for people: ``number: 3 > 5``."""
    return "; ".join(f"{edit.kind}: {sentence[edit.start : edit.end]} > {edit.new}" for edit in sorted(edits))


def difference(sentence: str, other: str, kind: str) -> Edit:
    """The one change, of whole words, that makes a sentence of another."""
    shorter = min(len(sentence), len(other))
    start = next((at for at in range(shorter) if sentence[at] != other[at]), shorter)
    same = 0
    while same < shorter - start and sentence[-1 - same] == other[-1 - same]:
        same += 1
    end = len(sentence) - same
    while start > 0 and not sentence[start - 1].isspace():
        start -= 1
    while end < len(sentence) and not sentence[end].isspace():
        end += 1
    new_end = len(other) - (len(sentence) - end)
    # Signs around the words are no part of the change.
    while min(end, new_end) > start and sentence[end - 1] == other[new_end - 1] and not sentence[end - 1].isalnum():
        end, new_end = end - 1, new_end - 1
    while start < min(end, new_end) and sentence[start] == other[start] and not sentence[start].isalnum():
        start += 1
    return Edit(start, end, other[start:new_end], kind)


def elides(word: str) -> bool:
    """Whether French "le" or "de" before a word is "l'" or "d'"."""
    low = word.lower()
    return low[:1] != "" and low[0] in _VOWEL and _NO_ELISION.match(low) is None


def follows_quotation(sentence: str, at: int) -> bool:
    """Whether a quotation ends just before: the verb that follows it says who speaks, "…», dijo"."""
    return _QUOTATION_BEFORE.search(sentence, 0, at) is not None
