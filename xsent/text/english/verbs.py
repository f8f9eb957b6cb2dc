"""English verb inflection: a list of irregular verbs and the rules of spelling."""

import re
from functools import cache
from typing import NamedTuple

from xsent.text.word_lists import load_sections


class Forms(NamedTuple):
    """The five forms of a verb."""

    base: str
    third: str  # third person singular
    past: str
    participle: str
    gerund: str


_THIRD = {"be": "is", "have": "has", "do": "does", "go": "goes"}
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
# A single syllable that ends in vowel + consonant doubles the consonant.
_SHORT = re.compile(r"^[^aeiou]*[aeiou][^aeiouwxy]$")


def forms(base: str) -> Forms:
    """All forms of a verb; an unlisted verb is regular."""
    past, participle = _irregular().get(base, (_add_ed(base),) * 2)
    return Forms(base, _THIRD.get(base) or add_s(base), past, participle, _gerund(base))


@cache
def listed_forms() -> dict[str, Forms]:
    verbs = load_sections("verbs")
    return {base: forms(base) for base in [*_irregular(), *verbs["doubled"], *verbs["regular"]]}


@cache
def bases(form: str) -> dict[str, str]:
    """Map from a form (a field of ``Forms``) to the base; of two verbs that share a form the first counts."""
    base_by_form: dict[str, str] = {}
    for base, inflected in listed_forms().items():
        base_by_form.setdefault(getattr(inflected, form), base)
    return base_by_form


@cache
def _irregular() -> dict[str, tuple[str, str]]:
    rows = [entry.split() for entry in load_sections("verbs")["irregular"]]
    return {base: (past, participle) for base, past, participle in rows}


def add_s(word: str) -> str:
    """Regular third person of a verb, or plural of a noun."""
    if _CONSONANT_Y.search(word):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")


def _add_ed(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if _CONSONANT_Y.search(base):
        return base[:-1] + "ied"
    return _double_consonant(base) + "ed"


def _gerund(base: str) -> str:
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")) and base != "be":
        return base[:-1] + "ing"
    return _double_consonant(base) + "ing"


def _double_consonant(base: str) -> str:
    doubles = _SHORT.match(base) or base in load_sections("verbs")["doubled"] or base in ("begin", "forget", "forbid")
    return base + base[-1] if doubles else base
