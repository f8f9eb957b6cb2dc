"""Contractions written out, or made: ``cont`` of the method's noise."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Contractions:
    """What each contraction stands for, both in lower case; of several for one full form the last is made."""

    full: Mapping[str, str]
    as_released: bool = False  # in the order of the list, with the sentence's first letter; straight apostrophes only

    @cached_property
    def short(self) -> dict[str, str]:
        """Contraction by full form."""
        return {full: short for short, full in self.full.items()}

    @cached_property
    def contracted(self) -> re.Pattern[str]:
        """Any contraction between word boundaries."""
        return self._any_of(self.full)

    @cached_property
    def expanded(self) -> re.Pattern[str]:
        """Any full form before a blank."""
        return self._any_of(self.short, before=" ")

    def replaced(self, pattern: re.Pattern[str], forms: Mapping[str, str], sentence: str) -> str:
        """A sentence with the other form of all that a pattern finds."""

        def other(match: re.Match[str]) -> str:
            found = match.group()
            # Without regard to case the pattern takes letters of other alphabets too ("ſ" for "s"): those stay.
            form = forms.get(found.lower().replace("’", "'"), found)
            # The reference makes "Ain't" "As not".
            first = found[0] if self.as_released else form[0].upper() if found[0].isupper() else form[0]
            return first + form[1:]

        return pattern.sub(other, sentence)

    def _any_of(self, forms: Mapping[str, str], *, before: str = "") -> re.Pattern[str]:
        # In the reference "can't" wins over "can't've", as it does in the list. First letters come first and rule out
        # most words at once: a fifth of the time.
        apostrophe = "'" if self.as_released else "['’]"
        rests: dict[str, list[str]] = {}
        for form in forms if self.as_released else sorted(forms, key=len, reverse=True):
            rests.setdefault(form[0].lower(), []).append(re.escape(form[1:]).replace("'", apostrophe))
        alternatives = "|".join(f"{re.escape(first)}(?:{'|'.join(some)})" for first, some in rests.items())
        return re.compile(rf"\b(?:{alternatives})\b" + (f"(?={before})" if before else ""), re.IGNORECASE)


def cont(sentence: str, rng: random.Random, *, lexicon: Contractions) -> str:
    """All contractions written out; if there are none, all full forms contracted; nothing is drawn.

    Args:
        sentence: any text; both forms match in any case and keep the case of their first letter.
        rng: not used.
        lexicon: the contractions; of those that begin alike the longest is found, or the first of the released ones.

    Source:
        NL-Augmenter's contraction_expansions (arXiv:2112.02721): the first of its outputs.
    """
    expanded = lexicon.replaced(lexicon.contracted, lexicon.full, sentence)
    return expanded if expanded != sentence else lexicon.replaced(lexicon.expanded, lexicon.short, sentence)
