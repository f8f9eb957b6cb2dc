"""Contractions, expanded or made: ``cont`` of the paper's noise."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


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
        """Any full form before a blank."""
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
