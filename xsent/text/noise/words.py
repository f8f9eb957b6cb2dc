"""One word in place of another: ``homo``, ``dysl``, ``spel`` and ``week`` of the method's noise."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from xsent.text.noise.tokenizer import joined, pieces


def homo(sentence: str, rng: random.Random, *, probability: float, lexicon: Mapping[str, tuple[str, ...]]) -> str:
    """Some words replaced by others that sound alike or nearly so, never the word "a".

    Args:
        sentence: any text.
        rng: drawn from once for every piece, and once more for a chosen one that has homophones.
        probability: of each piece.
        lexicon: homophones by word in lower case; a word among its own homophones may stay.

    Source:
        NL-Augmenter's close_homophones_swap (arXiv:2112.02721); its words come from the CMU dictionary.
    """
    cut = pieces(sentence)
    texts = []
    for piece in cut:
        text = piece.text
        if rng.uniform(0, 1) < probability and (others := lexicon.get(text.lower())):
            other = rng.choice(others)
            if other.lower() != text.lower() and text.lower() != "a":
                text = other
        texts.append(text)
    return joined(texts, cut)


@dataclass(frozen=True)
class Confusions:
    """Pairs of words that are mistaken for each other: the second by the first, in lower case."""

    pairs: Mapping[str, str]

    @cached_property
    def both_ways(self) -> dict[str, str]:
        """What each word becomes; of a word that is first and second, the pair in which it is second counts."""
        return {**self.pairs, **{second: first for first, second in self.pairs.items()}}


def dysl(sentence: str, rng: random.Random, *, lexicon: Confusions) -> str:
    """Every word of a pair replaced by the other one, in lower case; nothing is drawn.

    Args:
        sentence: any text.
        rng: not used.
        lexicon: the pairs; "you're" is two pieces, so it is made but never found, as in the reference.

    Source:
        NL-Augmenter's dyslexia_words_swap (arXiv:2112.02721).
    """
    cut = pieces(sentence)
    return joined([lexicon.both_ways.get(piece.text.lower(), piece.text) for piece in cut], cut)


def spel(sentence: str, rng: random.Random, *, probability: float, lexicon: Mapping[str, tuple[str, ...]]) -> str:
    """Some words misspelt; all white space becomes one blank.

    Args:
        sentence: any text, split at white space: a word with a sign at its end is not found.
        rng: drawn from once for every listed word, and once more for a chosen one.
        probability: of each listed word, in effect one hundredth more: the draw is of 0 to 99 and may equal
            100 ``probability``.
        lexicon: misspellings by word in lower case; they are inserted as they are listed.

    Source:
        NL-Augmenter's replace_spelling (arXiv:2112.02721), as changed in Nishimwe's copy (one seed a sentence).
    """
    highest = int(probability * 100)
    words = []
    for word in sentence.split():
        errors = lexicon.get(word.lower())
        # choice of a range of 100, as in the reference, draws as randrange(100) does.
        words.append(rng.choice(errors) if errors and rng.randrange(100) <= highest else word)
    return " ".join(words)


@dataclass(frozen=True)
class Calendar:
    """Names of weekdays and months with the short form of each, and short forms with the name of each."""

    short: Mapping[str, str]
    full: Mapping[str, str]

    @cached_property
    def other(self) -> dict[str, str]:
        """What stands for a name or a short form."""
        return {**self.short, **self.full}

    @cached_property
    def either(self) -> re.Pattern[str]:
        """Any name that no "s" follows ("Mondays" stay), or any short form; within words too."""
        names = [re.escape(name) + "(?!s)" for name in self.short]
        return re.compile("|".join([*names, *map(re.escape, self.full)]))


def week(sentence: str, rng: random.Random, *, lexicon: Calendar) -> str:
    """Every weekday and month in its short form, and every short form written out; nothing is drawn.

    Args:
        sentence: any text; the case counts.
        rng: not used.
        lexicon: names and short forms.

    Source:
        NL-Augmenter's weekday_month_abbreviation (arXiv:2112.02721).
    """
    return lexicon.either.sub(lambda match: lexicon.other[match.group()], sentence)
