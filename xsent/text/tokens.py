"""Words of an English sentence with their places, and edits that keep the sentence well-formed."""

from __future__ import annotations

import re
from typing import NamedTuple

# "U.S", "don't", "28-year-old" and "AT&T" are one word each; any other sign stands alone.
_TOKEN = re.compile(r"\w+(?:[-.'’&]\w+)*|[^\w\s]")
# What ends a sentence, with the quotes and brackets that may follow.
_SENTENCE_END = re.compile(r"(?:^|[.!?:;…][\"'”’)\]]*\s|[\s(\[]?[\"“‘«(\[])\s*$")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Gen|Gov|Sen|Rep|Lt|Col|Sgt|[A-Z])\.\s$")
# Spelled with a vowel, spoken with a consonant: "a union", "a European", "a one-way street".
_CONSONANT_SOUND = re.compile(r"uni(?![nmd])|u[kgt]|uru|us[aeu]|eu|ewe|one\b|once", re.IGNORECASE)
_SILENT_H = re.compile(r"hour|hono|honest|heir", re.IGNORECASE)
_SPELLED_WITH_AN = "AEFHILMNORSX"  # letters whose names begin with a vowel
_ARTICLE = re.compile(r"\b([Aa]n?)(\s+)$")


class Token(NamedTuple):
    """A word or a sign, and where it stands."""

    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        """In lower case, with a straight apostrophe."""
        return self.text.lower().replace("’", "'")


def tokens(sentence: str) -> list[Token]:
    """Words and signs in their order."""
    return [Token(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(sentence)]


def starts_sentence(sentence: str, at: int) -> bool:
    """Whether a word at this place begins a sentence or a quotation, where capitals mean nothing."""
    return _SENTENCE_END.search(sentence, 0, at) is not None and _ABBREVIATION.search(sentence, 0, at) is None


def replaced(sentence: str, start: int, end: int, new: str) -> str:
    """The sentence with another text from ``start`` to ``end``; "a" and "an" before it follow its sound."""
    before = sentence[:start]
    article = _ARTICLE.search(before)
    if article and new and takes_an(new) != takes_an(sentence[start:end]):
        before = before[: article.start()] + article[1][0] + ("n" if takes_an(new) else "") + article[2]
    return before + new + sentence[end:]


def takes_an(text: str) -> bool:
    """Whether the indefinite article before a text is "an"."""
    number = re.match(r"\d+", text)
    if number:
        return text[0] == "8" or re.match(r"1[18](?!\d)", text) is not None
    if re.match(r"[A-Z]{2,5}\b", text) and not re.match(r"NA[ST]|UN[EI]|FIFA|OPEC|ASEAN", text):
        return text[0] in _SPELLED_WITH_AN
    if _SILENT_H.match(text):
        return True
    return text[:1].lower() in "aeiou" and _CONSONANT_SOUND.match(text) is None


def cased_like(new: str, old: str) -> str:
    """``new`` with a capital if ``old`` has one."""
    return new[:1].upper() + new[1:] if old[:1].isupper() else new
