"""Edits of a sentence, and the words that they refer to."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from rapidfuzz.distance import Postfix, Prefix

# An apostrophe belongs to the word before it (l', qu'); a hyphen joins words (peut-être, 28-jährig).
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*['’]?")
_VOWEL = "aeiouyàâäéèêëîïôöùûüœæáíóúh"  # and h: most initial h in French are silent
# Words with an aspirated h, and words with an initial vowel but no elision.
_NO_ELISION = re.compile(r"ha[uïsmnr]|hé(?:ros\b|riss)|ho(?:ng|ll|rs|ckey)|hu(?:it|mm|tt)|hong|onz|y[aeo]|ou[iï]\b")

NEGATION = "negation"
_QUOTATION_BEFORE = re.compile(r"[»”\"]\s?[,.]?\s$")


class Edit(NamedTuple):
    """Replacement of a span of a sentence."""

    start: int
    end: int
    new: str
    kind: str


class Word(NamedTuple):
    """A word of a sentence and its span."""

    text: str  # with straight apostrophes
    start: int
    end: int


def split_list(text: str) -> tuple[str, ...]:
    """The entries of a word list, separated by blanks."""
    return tuple(text.split())


def words(sentence: str) -> list[Word]:
    """The words in order, without punctuation."""
    return [Word(straighten(match.group()), *match.span()) for match in _WORD.finditer(sentence)]


def straighten(text: str) -> str:
    """Text with straight apostrophes, as in the word lists."""
    return text.replace("’", "'")


def match_apostrophes(text: str, sentence: str) -> str:
    """Text with the kind of apostrophes that the sentence has."""
    return text.replace("'", "’") if "’" in sentence else text


def apply_edits(sentence: str, edits: Iterable[Edit]) -> str:
    """The sentence after edits that do not overlap."""
    for edit in sorted(edits, reverse=True):
        sentence = sentence[: edit.start] + edit.new + sentence[edit.end :]
    return sentence


def describe_edits(sentence: str, edits: Iterable[Edit]) -> str:
    """Description of the edits: ``number: 3 > 5``."""
    return "; ".join(f"{edit.kind}: {sentence[edit.start : edit.end]} > {edit.new}" for edit in sorted(edits))


def find_edit(sentence: str, changed: str, kind: str) -> Edit:
    """The edit, of whole words, between two versions of a sentence."""
    start = Prefix.similarity(sentence, changed)
    end = len(sentence) - Postfix.similarity(sentence[start:], changed[start:])
    while start > 0 and not sentence[start - 1].isspace():
        start -= 1
    while end < len(sentence) and not sentence[end].isspace():
        end += 1
    new_end = len(changed) - (len(sentence) - end)
    # Punctuation around the words is not part of the edit.
    while min(end, new_end) > start and sentence[end - 1] == changed[new_end - 1] and not sentence[end - 1].isalnum():
        end, new_end = end - 1, new_end - 1
    while start < min(end, new_end) and sentence[start] == changed[start] and not sentence[start].isalnum():
        start += 1
    return Edit(start, end, changed[start:new_end], kind)


def elides(word: str) -> bool:
    """Whether French "le" or "de" is elided to "l'" or "d'" before a word."""
    low = word.lower()
    return low[:1] != "" and low[0] in _VOWEL and _NO_ELISION.match(low) is None


def follows_quotation(sentence: str, position: int) -> bool:
    """Whether a quotation ends just before; the next verb then names the speaker ("…», dijo")."""
    return _QUOTATION_BEFORE.search(sentence, 0, position) is not None
