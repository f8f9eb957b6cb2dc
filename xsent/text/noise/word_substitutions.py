"""Word noise: homophones (``homo``), contractions (``cont``), confusions (``dysl``), misspellings (``spel``), dates."""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from xsent.text.noise.tokenizer import join_pieces, split_pieces

Alternatives = Mapping[str, tuple[str, ...]]  # by lower-case word


def swap_homophones(sentence: str, rng: random.Random, *, probability: float, lexicon: Alternatives) -> str:
    """Replace words by others that sound the same or similar, never the word "a".

    Args:
        rng: source of one draw per piece, and one more for a chosen piece with homophones.
        probability: for each piece.
        lexicon: homophones by lower-case word; a word among its own homophones may stay.

    Source:
        NL-Augmenter's close_homophones_swap (arXiv:2112.02721); its words come from the CMU dictionary.
    """
    pieces = split_pieces(sentence)
    texts = []
    for piece in pieces:
        text = piece.text
        if rng.uniform(0, 1) < probability and (homophones := lexicon.get(text.lower())):
            homophone = rng.choice(homophones)
            if homophone.lower() != text.lower() and text.lower() != "a":
                text = homophone
        texts.append(text)
    return join_pieces(texts, pieces)


@dataclass(frozen=True)
class Contractions:
    """Full form by contraction, both in lower case; of several contractions of a full form the last is used."""

    full: Mapping[str, str]
    as_released: bool = False  # first match in list order, the sentence's first letter, straight apostrophes only

    @cached_property
    def short(self) -> dict[str, str]:
        return {full: short for short, full in self.full.items()}

    @cached_property
    def short_pattern(self) -> re.Pattern[str]:
        """Any contraction between word boundaries."""
        return self._compile(self.full)

    @cached_property
    def full_pattern(self) -> re.Pattern[str]:
        return self._compile(self.short, lookahead="(?= )")

    def replace(self, pattern: re.Pattern[str], forms: Mapping[str, str], sentence: str) -> str:
        """Replace all matches of ``pattern`` by their entry in ``forms``."""

        def replacement(match: re.Match[str]) -> str:
            text = match.group()
            # IGNORECASE also matches letters of other alphabets ("ſ" for "s"): those stay.
            form = forms.get(text.lower().replace("’", "'"), text)
            # The reference makes "Ain't" "As not".
            first = text[0] if self.as_released else form[0].upper() if text[0].isupper() else form[0]
            return first + form[1:]

        return pattern.sub(replacement, sentence)

    def _compile(self, forms: Mapping[str, str], *, lookahead: str = "") -> re.Pattern[str]:
        # In the reference "can't" wins over "can't've", as it is listed first. Grouping by first letter rules out most
        # words at once: a fifth of the time.
        apostrophe = "'" if self.as_released else "['’]"
        rests: dict[str, list[str]] = {}
        for form in forms if self.as_released else sorted(forms, key=len, reverse=True):
            rests.setdefault(form[0].lower(), []).append(re.escape(form[1:]).replace("'", apostrophe))
        alternatives = "|".join(f"{re.escape(first)}(?:{'|'.join(group)})" for first, group in rests.items())
        return re.compile(rf"\b(?:{alternatives})\b{lookahead}", re.IGNORECASE)


def toggle_contractions(sentence: str, rng: random.Random, *, lexicon: Contractions) -> str:
    """Expand all contractions; if there are none, contract all full forms. ``rng`` is not used.

    Matches in any case keep the case of their first letter. The longest match wins, with the released ones the first.

    Source:
        NL-Augmenter's contraction_expansions (arXiv:2112.02721): the first of its outputs.
    """
    expanded = lexicon.replace(lexicon.short_pattern, lexicon.full, sentence)
    return expanded if expanded != sentence else lexicon.replace(lexicon.full_pattern, lexicon.short, sentence)


@dataclass(frozen=True)
class Confusions:
    """Pairs of confused words: second by first word, in lower case."""

    pairs: Mapping[str, str]

    @cached_property
    def symmetric(self) -> dict[str, str]:
        """Replacement by word; a word that is first in one pair and second in another follows the latter."""
        return {**self.pairs, **{second: first for first, second in self.pairs.items()}}


def swap_confused_words(sentence: str, rng: random.Random, *, lexicon: Confusions) -> str:
    """Replace every word of a pair by the other one, in lower case.

    "You're" is two pieces, so it is inserted but never found, as in the reference. ``rng`` is not used.

    Source:
        NL-Augmenter's dyslexia_words_swap (arXiv:2112.02721).
    """
    pieces = split_pieces(sentence)
    return join_pieces([lexicon.symmetric.get(piece.text.lower(), piece.text) for piece in pieces], pieces)


def misspell_words(sentence: str, rng: random.Random, *, probability: float, lexicon: Alternatives) -> str:
    """Misspell some words; white space becomes single blanks.

    The sentence is split at white space only, so a word before a sign stays.

    Args:
        rng: source of one draw per listed word, and one more for a chosen one.
        probability: for each listed word; in effect 0.01 more, as an integer from 0 to 99 is compared with
            100 ``probability`` by <=.
        lexicon: misspellings by lower-case word, inserted as listed.

    Source:
        NL-Augmenter's replace_spelling (arXiv:2112.02721), as changed in Nishimwe's copy (one seed a sentence).
    """
    threshold = int(probability * 100)
    words = []
    for word in sentence.split():
        errors = lexicon.get(word.lower())
        # The reference's choice from a range of 100 draws as randrange(100) does.
        words.append(rng.choice(errors) if errors and rng.randrange(100) <= threshold else word)
    return " ".join(words)


@dataclass(frozen=True)
class Calendar:
    """Short form by name of weekday or month, and name by short form."""

    short: Mapping[str, str]
    full: Mapping[str, str]

    @cached_property
    def replacements(self) -> dict[str, str]:
        return {**self.short, **self.full}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Any name without a following "s" ("Mondays" stay) or short form, also within words."""
        names = [re.escape(name) + "(?!s)" for name in self.short]
        return re.compile("|".join([*names, *map(re.escape, self.full)]))


def toggle_date_forms(sentence: str, rng: random.Random, *, lexicon: Calendar) -> str:
    """Abbreviate every weekday and month, and expand every short form; the case counts. ``rng`` is not used.

    Source:
        NL-Augmenter's weekday_month_abbreviation (arXiv:2112.02721).
    """
    return lexicon.pattern.sub(lambda match: lexicon.replacements[match.group()], sentence)
