"""English tokens with offsets, and span replacement that keeps "a"/"an" and capitals correct."""

import re
from typing import NamedTuple

# "U.S", "don't", "28-year-old" and "AT&T" are one token; any other sign is a token of its own.
_TOKEN = re.compile(r"\w+(?:[-.'’&]\w+)*|[^\w\s]")
# The end of the previous sentence, with closing quotes and brackets.
_SENTENCE_END = re.compile(r"(?:^|[.!?:;…][\"'”’)\]]*\s|[\s(\[]?[\"“‘«(\[])\s*$")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Gen|Gov|Sen|Rep|Lt|Col|Sgt|[A-Z])\.\s$")
# Written with a vowel, pronounced with a consonant: "a union", "a European", "a one-way street".
_CONSONANT_SOUND = re.compile(r"uni(?![nmd])|u[kgt]|uru|us[aeu]|eu|ewe|one\b|once", re.IGNORECASE)
_SILENT_H = re.compile(r"hour|hono|honest|heir", re.IGNORECASE)
_SPELLED_WITH_AN = "AEFHILMNORSX"  # letters whose names begin with a vowel
_ARTICLE = re.compile(r"\b([Aa]n?)(\s+)$")


class Token(NamedTuple):
    """A word or sign, and its character offsets."""

    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        """Lower-cased text with straight apostrophes."""
        return self.text.lower().replace("’", "'")


def tokenize(sentence: str) -> list[Token]:
    return [Token(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(sentence)]


def starts_sentence(sentence: str, offset: int) -> bool:
    """Whether the word at ``offset`` begins a sentence or quotation, so that its capital carries no information."""
    return _SENTENCE_END.search(sentence, 0, offset) is not None and _ABBREVIATION.search(sentence, 0, offset) is None


def replace_span(sentence: str, start: int, end: int, new: str) -> str:
    """Replace ``sentence[start:end]``; "a" or "an" before it is adapted to the new text."""
    before = sentence[:start]
    article = _ARTICLE.search(before)
    if article and new and takes_an(new) != takes_an(sentence[start:end]):
        before = before[: article.start()] + article[1][0] + ("n" if takes_an(new) else "") + article[2]
    return before + new + sentence[end:]


def takes_an(text: str) -> bool:
    """Whether the indefinite article before ``text`` is "an"."""
    if re.match(r"\d", text):
        return text[0] == "8" or re.match(r"1[18](?!\d)", text) is not None
    if re.match(r"[A-Z]{2,5}\b", text) and not re.match(r"NA[ST]|UN[EI]|FIFA|OPEC|ASEAN", text):
        return text[0] in _SPELLED_WITH_AN
    if _SILENT_H.match(text):
        return True
    return text[:1].lower() in "aeiou" and _CONSONANT_SOUND.match(text) is None


def match_case(new: str, old: str, *, upper: bool = False) -> str:
    """``new``, capitalised if ``old`` is; with ``upper`` also all in capitals."""
    if upper and len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new
