"""Forms of English verbs, from a list of irregular ones and the rules of spelling."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from xsent.text.words import sections


class Forms(NamedTuple):
    """The five forms of a verb."""

    base: str
    third: str  # he ...
    past: str
    participle: str
    gerund: str  # ...ing


_THIRD = {"be": "is", "have": "has", "do": "does", "go": "goes"}
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
# One vowel between consonants at the end of a single syllable: the last consonant is doubled.
_SHORT = re.compile(r"^[^aeiou]*[aeiou][^aeiouwxy]$")


def forms(base: str) -> Forms:
    """All forms of a verb, known or not; an unknown one is taken for regular."""
    past, participle = _irregular().get(base, (_with_ed(base),) * 2)
    return Forms(base, _third(base), past, participle, _gerund(base))


@cache
def known() -> dict[str, Forms]:
    """Forms of all verbs of the lists by base."""
    verbs = sections("verbs")
    return {base: forms(base) for base in [*_irregular(), *verbs["doubled"], *verbs["regular"]]}


@cache
def bases(form: str) -> dict[str, str]:
    """Base by word of a form of ``Forms``, e.g. all past forms; a form of two verbs stands for the first."""
    found: dict[str, str] = {}
    for base, every in known().items():
        found.setdefault(getattr(every, form), base)
    return found


@cache
def _irregular() -> dict[str, tuple[str, str]]:
    rows = [entry.split() for entry in sections("verbs")["irregular"]]
    return {base: (past, participle) for base, past, participle in rows}


def _third(base: str) -> str:
    if base in _THIRD:
        return _THIRD[base]
    if _CONSONANT_Y.search(base):
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "x", "z", "ch", "sh")) else "s")


def _with_ed(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if _CONSONANT_Y.search(base):
        return base[:-1] + "ied"
    return _doubled(base) + "ed"


def _gerund(base: str) -> str:
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")) and base != "be":
        return base[:-1] + "ing"
    return _doubled(base) + "ing"


def _doubled(base: str) -> str:
    doubles = _SHORT.match(base) or base in sections("verbs")["doubled"] or base in ("begin", "forget", "forbid")
    return base + base[-1] if doubles else base
