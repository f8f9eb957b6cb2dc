"""Code-switching: replace words of a sentence by their dictionary translations."""

import random
import re
from collections.abc import Mapping, Sequence

from xsent.text.english.tokens import match_case

CASINGS = ("keep", "lower")
# Letters with their combining marks (Arabic vowel signs, decomposed accents). Hyphens and apostrophes end a word:
# "l'homme" is "l" and "homme", and becomes "l'man".
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
    """Replace words by their translations; None if the dictionary has no word of the sentence.

    Args:
        dictionary: translations by lower-case word, none of them the word itself.
        rate: probability of replacing each word of the dictionary; its translation is drawn uniformly.
        force_one: if no word was drawn, replace one, drawn uniformly.
        casing: ``keep``: the casing of the replaced word, ``Hund`` -> ``Dog`` and ``HUND`` -> ``DOG``;
            ``lower``: the casing of the dictionary.

    Source:
        Ki et al. 2024 (ORACLE), code-switching with MUSE dictionaries. The rate, the casing and the choice
        among translations are not published.
    """
    matches = [match for match in _WORD.finditer(sentence) if match.group().lower() in dictionary]
    if not matches:
        return None
    drawn = [match for match in matches if rng.random() < rate]
    if not drawn and force_one:
        drawn = [rng.choice(matches)]
    pieces, end = [], 0
    for match in drawn:
        word = rng.choice(dictionary[match.group().lower()])
        if casing == "keep":
            word = match_case(word, match.group(), upper=True)
        pieces += [sentence[end : match.start()], word]
        end = match.end()
    return "".join([*pieces, sentence[end:]])
