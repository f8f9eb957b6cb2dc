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

    @cached_property
    def short(self) -> dict[str, str]:
        """Contraction by full form."""
        return {full: short for short, full in self.full.items()}

    @cached_property
    def contracted(self) -> re.Pattern[str]:
        """Any contraction between word boundaries."""
        return _any_of(self.full)

    @cached_property
    def expanded(self) -> re.Pattern[str]:
        """Any full form before a blank."""
        return _any_of(self.short, before=" ")


def cont(sentence: str, rng: random.Random, *, lexicon: Contractions) -> str:
    """All contractions written out; if there are none, all full forms contracted; nothing is drawn.

    Args:
        sentence: any text; both forms match in any case and keep their first letter.
        rng: not used.
        lexicon: the contractions.

    Source:
        NL-Augmenter's contraction_expansions (arXiv:2112.02721): the first of its outputs.
    """
    expanded = _replaced(lexicon.contracted, lexicon.full, sentence)
    return expanded if expanded != sentence else _replaced(lexicon.expanded, lexicon.short, sentence)


def _replaced(pattern: re.Pattern[str], forms: Mapping[str, str], sentence: str) -> str:
    def other(match: re.Match[str]) -> str:
        found = match.group()
        # Without regard to case the pattern takes letters of other alphabets too ("ſ" for "s"): those stay.
        return found[0] + forms.get(found.lower(), found)[1:]

    return pattern.sub(other, sentence)


def _any_of(forms: Mapping[str, str], *, before: str = "") -> re.Pattern[str]:
    # In the order of the list, as in the reference: "can't" wins over "can't've". First letters come first and
    # rule out most words at once: a fifth of the time.
    rests: dict[str, list[str]] = {}
    for form in forms:
        rests.setdefault(form[0].lower(), []).append(re.escape(form[1:]))
    alternatives = "|".join(f"{re.escape(first)}(?:{'|'.join(some)})" for first, some in rests.items())
    return re.compile(rf"\b(?:{alternatives})\b" + (f"(?={before})" if before else ""), re.IGNORECASE)
