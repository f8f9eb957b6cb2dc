"""Single-word differences between two texts: the changed word and its part of speech."""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from rapidfuzz.distance import Postfix, Prefix

from xsent.text.annotation.annotator import StanzaAnnotator

SWAP, ADDITION, REMOVAL = "swap", "addition", "removal"

# Clitics with an elided vowel, written together with the next word; treebanks split after the apostrophe.
_ELIDED = {
    "fra": re.compile(r"(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)['’](?=\w)", re.I),
    "ita": re.compile(r"(?:[cdlmnstv]|un|all|dall|dell|nell|sull|bell|quell|quest|com|dov|anch)['’](?=\w)", re.I),
}


class Change(NamedTuple):
    """The one token in which a text differs from its original."""

    kind: str  # SWAP, ADDITION or REMOVAL
    position: int  # 0-based token; of an addition in the changed text, else in the original
    before: str  # the token between white space; "" of an addition
    after: str  # "" of a removal


def find_single_token_change(original: str, changed: str) -> Change | None:
    """The change between two texts if it concerns exactly one token, else None.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), section 3.3; the kinds are those of the released annotation.
    """
    before, after = original.split(), changed.split()
    position = Prefix.similarity(before, after)
    old, new = before[position:], after[position:]
    if old and new and old[1:] == new[1:]:
        return Change(SWAP, position, old[0], new[0])
    if new and old == new[1:]:
        return Change(ADDITION, position, "", new[0])
    if old and old[1:] == new:
        return Change(REMOVAL, position, old[0], "")
    return None


def split_token(token: str, language: str) -> list[str]:
    """Split a token as treebanks do: outer punctuation and elided clitics are parts, inner signs are not.

    The token ``(l'Europe),`` becomes ``( l' Europe ) ,``; ``0,68`` stays.
    """
    start, end = 0, len(token)
    while start < end and _is_punctuation(token[start]):
        start += 1
    while end > start and _is_punctuation(token[end - 1]):
        end -= 1
    word = token[start:end]
    if not word:
        return [token]
    clitics = []
    pattern = _ELIDED.get(language)
    while pattern is not None and (match := pattern.match(word)) is not None:
        clitics.append(match.group())
        word = word[match.end() :]
    return [*token[:start], *clitics, word, *token[end:]]


def _is_punctuation(text: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in text)


def _normalized_parts(token: str, language: str) -> list[str]:
    """As ``split_token``, with straight apostrophes."""
    return [part.replace("’", "'") for part in split_token(token, language)]


def differing_word(before: str, after: str, language: str) -> int:
    """Index of the part of ``split_token(before, language)`` that differs in ``after``.

    Of several, it is the last that is neither punctuation nor a clitic: ``accord`` of ``d'accord`` -> ``l'entente``.
    Straight and curly apostrophes are equal. If the token only gained a part, it is the part before that.
    """
    old, new = _normalized_parts(before, language), _normalized_parts(after, language)
    head = Prefix.similarity(old, new)
    tail = Postfix.similarity(old[head:], new[head:])
    changed = range(head, len(old) - tail) or [max(head - 1, 0)]
    words = [i for i in changed if not _is_punctuation(old[i])]
    content_words = [i for i in words if not old[i].endswith("'")]
    return (content_words or words or list(changed))[-1]


def swapped_words(change: Change, language: str) -> tuple[str, str]:
    """The two words of a swap, without adjacent punctuation and clitics."""
    before = split_token(change.before, language)[differing_word(change.before, change.after, language)]
    after = split_token(change.after, language)[differing_word(change.after, change.before, language)]
    return before, after


def tag_swaps(
    swaps: Sequence[tuple[str, Change]], language: str, annotator: StanzaAnnotator, *, progress: bool
) -> list[str]:
    """Universal tag of each original's swapped word; PUNCT if only punctuation differs.

    Source:
        Michail et al. 2025, section 3.3: by Stanza, then corrected by a linguist. The tag is that of the original
        word: *nicht* replaced by *schon* is a particle there.
    """
    sentences: list[tuple[str, ...]] = []
    positions: list[int] = []
    for text, change in swaps:
        tokens = [split_token(token, language) for token in text.split()]
        start = sum(map(len, tokens[: change.position]))
        sentences.append(tuple(part for token in tokens for part in token))
        positions.append(start + differing_word(change.before, change.after, language))
    annotations = annotator.annotate(sentences, progress=progress)
    return [
        "PUNCT" if _words(change.before, language) == _words(change.after, language) else annotation.tags[position]
        for (_, change), annotation, position in zip(swaps, annotations, positions, strict=True)
    ]


def _words(token: str, language: str) -> list[str]:
    return [part for part in _normalized_parts(token, language) if not _is_punctuation(part)]
