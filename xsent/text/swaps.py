"""Texts that differ in one word: which one, and what part of speech it is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from xsent.text.annotation import Annotator

SWAP, ADDITION, REMOVAL = "swap", "addition", "removal"

# Words that lose their vowel before another one and are written to it; the treebanks cut after the apostrophe.
_ELIDED = {
    "fra": re.compile(r"(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)['’](?=\w)", re.IGNORECASE),
    "ita": re.compile(
        r"(?:[cdlmnstv]|un|all|dall|dell|nell|sull|bell|quell|quest|com|dov|anch)['’](?=\w)", re.IGNORECASE
    ),
}


class Change(NamedTuple):
    """The one token in which a text differs from its original."""

    kind: str  # swap, addition of a token, or removal of one
    position: int  # of the token, from 0; where it was added: in the changed text
    before: str  # the token, cut at white space; "" where it was added
    after: str  # "" where it was removed


def single_token_change(original: str, changed: str) -> Change | None:
    """How a text differs from its original, if it is in one token; None where they are the same or differ in more.

    A swap leaves the number of tokens as it is and changes exactly one of them. An addition or a removal is another
    operation: without the one token both texts are the same.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), section 3.3; the operations are those of the released annotation.
    """
    before, after = original.split(), changed.split()
    if len(before) == len(after):
        different = [place for place, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
        if len(different) != 1:
            return None
        return Change(SWAP, different[0], before[different[0]], after[different[0]])
    if len(after) == len(before) + 1:
        place = _extra(before, after)
        return None if place is None else Change(ADDITION, place, "", after[place])
    if len(after) == len(before) - 1:
        place = _extra(after, before)
        return None if place is None else Change(REMOVAL, place, before[place], "")
    return None


def _extra(shorter: Sequence[str], longer: Sequence[str]) -> int | None:
    """The place of the token that only the longer text has."""
    place = next((i for i, (one, other) in enumerate(zip(shorter, longer, strict=False)) if one != other), len(shorter))
    return place if [*longer[:place], *longer[place + 1 :]] == list(shorter) else None


# ---- the word within the token


def cut(token: str, language: str) -> list[str]:
    """A token cut at white space as a treebank has it: punctuation and elided words stand alone.

    Signs within a word stay (``CDU-Fraktion``, ``0,68``).

    Args:
        token: such as ``(l'Europe),``, which becomes ``( l' Europe ) ,``.
        language: ISO 639-3.
    """
    start, end = 0, len(token)
    while start < end and _is_punctuation(token[start]):
        start += 1
    while end > start and _is_punctuation(token[end - 1]):
        end -= 1
    word = token[start:end]
    if start == end:
        return [token]
    # French keeps the apostrophe of an elided word that stands alone.
    parts = []
    elided = _ELIDED.get(language)
    while elided is not None and (found := elided.match(word)) is not None:
        parts.append(found.group())
        word = word[found.end() :]
    return [*token[:start], *parts, word, *token[end:]]


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character).startswith("P")


def _is_sign(part: str) -> bool:
    return all(map(_is_punctuation, part))


def _parts(token: str, language: str) -> list[str]:
    """As ``cut``, with straight apostrophes."""
    return [part.replace("’", "'") for part in cut(token, language)]


def differing_word(before: str, after: str, language: str) -> int:
    """Which part of ``cut(before, language)`` is another in ``after``, from 0.

    Of several parts it is the last that is no punctuation and no elided word: of ``d'accord`` become ``l'entente`` it
    is ``accord``. Straight and curly apostrophes are one. Where the token only gained a part it is the one before.
    """
    ours, theirs = _parts(before, language), _parts(after, language)
    shorter = min(len(ours), len(theirs))
    head = next((i for i in range(shorter) if ours[i] != theirs[i]), shorter)
    tail = next((i for i in range(shorter - head) if ours[-1 - i] != theirs[-1 - i]), shorter - head)
    changed = range(head, len(ours) - tail) or [max(head - 1, 0)]
    words = [i for i in changed if not _is_sign(ours[i])]
    full = [i for i in words if not ours[i].endswith("'")]
    return (full or words or list(changed))[-1]


def words_of(change: Change, language: str) -> tuple[str, str]:
    """The words of a swap that differ, without the punctuation and the elided words beside them."""
    before = cut(change.before, language)[differing_word(change.before, change.after, language)]
    after = cut(change.after, language)[differing_word(change.after, change.before, language)]
    return before, after


# ---- its part of speech


def tag_swaps(swaps: Sequence[tuple[str, Change]], language: str, annotator: Annotator, *, progress: bool) -> list[str]:
    """The universal tag of each original's word that was swapped; PUNCT where punctuation alone differs.

    Args:
        swaps: originals, each with the swap that was made in it.
        language: of the originals, ISO 639-3.
        annotator: gives universal tags to the words of each original.
        progress: show a bar.

    Source:
        Michail et al. 2025, section 3.3: by Stanza, then corrected by a linguist. Their tags are those of the
        original's word, not of the one in its place: *nicht* become *schon* is a particle there.
    """
    sentences: list[tuple[str, ...]] = []
    places: list[int] = []
    for text, change in swaps:
        tokens = [cut(token, language) for token in text.split()]
        start = sum(map(len, tokens[: change.position]))
        sentences.append(tuple(part for token in tokens for part in token))
        places.append(start + differing_word(change.before, change.after, language))
    found = annotator.annotate(sentences, progress=progress)
    return [
        "PUNCT" if _words(change.before, language) == _words(change.after, language) else annotation.tags[place]
        for (_, change), annotation, place in zip(swaps, found, places, strict=True)
    ]


def _words(token: str, language: str) -> list[str]:
    return [part for part in _parts(token, language) if not _is_sign(part)]
