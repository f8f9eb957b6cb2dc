"""Code-switching: some words of a sentence give way to their translations."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

CASINGS = ("keep", "lower")
# Letters with their combining marks (Arabic vowel signs, accents in decomposed form). Hyphens and
# apostrophes end a word: "l'homme" is "l" and "homme", so that "l'man" keeps its punctuation.
_WORD = re.compile(r"(?:[^\W\d_][\u0300-\u036f\u064b-\u065f\u0670]*)+")


def switch_words(
    sentence: str,
    dictionary: Mapping[str, Sequence[str]],
    *,
    rate: float,
    force_one: bool,
    casing: str,
    rng: random.Random,
) -> str | None:
    """Replace words by their translations; whatever is between words stays as it is.

    Args:
        sentence: of the dictionary's first language.
        dictionary: translations by lower-case word, none of them the word itself.
        rate: probability with which each word that is in the dictionary is replaced; the translation is
            drawn uniformly.
        force_one: when no word was drawn, replace one that is drawn uniformly.
        casing: ``keep``: the translation is written as the replaced word was, ``Hund`` -> ``Dog`` and
            ``HUND`` -> ``DOG``; ``lower``: as the dictionary has it.
        rng: decides everything.

    Returns:
        The switched sentence; None if no word of it is in the dictionary.

    Source:
        Ki et al. 2024 (ORACLE), code-switching with MUSE dictionaries. The rate, the casing and the choice
        among translations are not published.
    """
    known = [match for match in _WORD.finditer(sentence) if match.group().lower() in dictionary]
    if not known:
        return None
    drawn = [match for match in known if rng.random() < rate]
    if not drawn and force_one:
        drawn = [rng.choice(known)]
    pieces, end = [], 0
    for match in drawn:
        translation = rng.choice(dictionary[match.group().lower()])
        pieces += [sentence[end : match.start()], _cased(translation, match.group(), casing)]
        end = match.end()
    return "".join([*pieces, sentence[end:]])


def _cased(word: str, like: str, casing: str) -> str:
    if casing == "lower" or not like[0].isupper():
        return word
    if len(like) > 1 and like.isupper():
        return word.upper()
    return word[0].upper() + word[1:]
