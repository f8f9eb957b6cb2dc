"""What may stand for which word: the word list of a language, inflected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import permutations

from xsent.text.distractors.rules.edits import straight
from xsent.text.words import sections

LANGUAGES = ("deu", "eng", "fra", "spa")

Forms = tuple[str, ...]
# By form and by what has to come after it (None: anything may), what may stand for it.
Choices = dict[str, dict[re.Pattern[str] | None, list[str]]]


_ADJECTIVE_AND_NOUN = re.compile(r" (?:[a-zäöüß]+(?:e|en|er|es|em) )?[A-ZÄÖÜ]")
_AMOUNT = re.compile(
    r" (?:die |the |las |los |les )?"
    r"(?!(?:1[1-9]|20)\d\d\b(?![.,]\d))"  # no year
    r"(?!\d+(?:[:.]\d\d)? ?(?:Uhr|h\b|heures?|am\b|pm\b|a\. ?m|p\. ?m|hours?\b)|\d+:\d)"  # no time
    r"(?:\d|zwei|drei|vier|fünf|sechs|acht|zehn|zwölf|zwanzig|fünfzig|hundert|two|three|four|five|six|eight|ten|twelve|twenty"
    r"|fifty|deux|trois|quatre|cinq|six|huit|dix|vingt|cinquante|cent|dos|tres|cuatro|cinco|seis|ocho|diez|veinte|cincuenta"
    r"|cien)"
)
# By the second word of a section's name.
_FOLLOWS = {
    "amount": _AMOUNT,
    "attributive": _ADJECTIVE_AND_NOUN,
    "degree": re.compile(r" [a-zà-ÿ]{3,}"),
    "determiner": _ADJECTIVE_AND_NOUN,
    "noun": re.compile(r" [A-ZÄÖÜ]"),
    "given": re.compile(r" [A-ZÀ-Þ][a-zß-ÿ]+"),
    "that": re.compile(r",? (?:dass|that|que)\b| qu['’]"),
}


@cache
def lexicon(language: str) -> dict[str, Choices]:
    """By kind of change, what may stand for which form of a word, and where.

    Of ``assets/words/distractors_<language>.txt``: a section ``[kind: inflection anything]`` holds pairs that work
    both ways (``a = b``) or one way (``a > b``), groups (``a / b / c``), and words alone, which form one group. A form
    that is several forms of its word, as French "rapide" is of both genders, is given only what fits each of them.
    """
    found: dict[str, Choices] = {}
    for section, entries in sections(f"distractors_{language}").items():
        kind, _, rest = section.partition(": ")
        if not rest:
            continue  # [leave], [numbers]
        choices = found.setdefault(kind, {})
        for one, other in _pairs(entries):
            for form, new, follows in _forms(language, rest.split()[0], one, other):
                others = choices.setdefault(form, {}).setdefault(follows, [])
                if new not in others:
                    others.append(new)
    return found


def left_alone(sentence: str, language: str) -> list[tuple[int, int]]:
    """Where the fixed expressions stand whose words are left alone."""
    return [match.span(1) for match in _fixed_expressions(language).finditer(straight(sentence))]


def overlaps(start: int, end: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a part of a sentence has characters in common with one of others."""
    return any(start < there_end and there_start < end for there_start, there_end in spans)


@cache
def _fixed_expressions(language: str) -> re.Pattern[str]:
    phrases = sections(f"distractors_{language}")["leave"]
    alternatives = "|".join(re.escape(phrase) for phrase in sorted(phrases, key=lambda phrase: (-len(phrase), phrase)))
    # A match of no width, so that expressions that overlap are all found: "après avoir" and "avoir été".
    return re.compile(rf"(?<!\w)(?=({alternatives})(?!\w))", re.IGNORECASE)


def _pairs(entries: Sequence[str]) -> Iterator[tuple[str, str]]:
    alone = [entry for entry in entries if not re.search(r" [=>/] ", entry)]
    yield from permutations(alone, 2)
    for entry in entries:
        one, sign, others = entry.partition(" > ")
        if sign:
            yield from ((one, other) for other in others.split(" / "))
        elif entry not in alone:
            yield from permutations(re.split(" [=/] ", entry), 2)


def _forms(language: str, inflection: str, one: str, other: str) -> Iterator[tuple[str, str, re.Pattern[str] | None]]:
    inflect = _INFLECTIONS[language][inflection]
    old, new = inflect(one), inflect(other)
    if len(old) != len(new):
        raise ValueError(f"distractors_{language}.txt: expected as many forms of {one!r} as of {other!r}")
    is_german = inflection == "adjectives" and language == "deu"
    for place, form in enumerate(old):
        fitting = {there for here, there in zip(old, new, strict=True) if here == form}
        if len(fitting) == 1 and form != new[place]:
            bare = is_german and place == 0
            follows = _ADJECTIVE_AND_NOUN if is_german else None
            yield form, new[place], None if bare else _FOLLOWS.get(inflection, follows)


# ---- inflection: all forms of a word in a fixed order


def _as_it_is(word: str) -> Forms:
    return (word,)


def _listed(forms: str) -> Forms:
    return tuple(forms.split())


def _german_adjective(stem: str) -> Forms:
    return (stem, *_german_attributive(stem))


def _german_attributive(stem: str) -> Forms:
    return tuple(stem + ending for ending in ("e", "en", "er", "es", "em"))


def _german_name(name: str) -> Forms:
    return (name, f"{name}'" if name.endswith(("s", "x", "z")) else f"{name}s")


def _german_people(name: str) -> Forms:
    """Of Amerikaner: with him, of him, to them, her and them."""
    return (name, f"{name}s", f"{name}n", f"{name}in", f"{name}innen")


def _german_verb(stem: str) -> Forms:
    """A regular verb with an unstressed prefix, or none: of erhöh, verkauf, *lob (gelobt)."""
    prefix, stem = ("ge", stem[1:]) if stem.startswith("*") else ("", stem)
    e = "e" if stem.endswith(("t", "d")) else ""
    infinitive = f"{stem}n" if stem.endswith(("er", "el")) else f"{stem}en"
    return (f"{stem}{e}t", f"{stem}{e}te", f"{stem}{e}ten", infinitive, f"{prefix}{stem}{e}t")


def _french_adjective(forms: str) -> Forms:
    """Of "grand grande", or of "rapide" alone: one and several, of both genders."""
    masculine, feminine = (forms.split() * 2)[:2]
    return (masculine, feminine, _french_plural(masculine), _french_plural(feminine))


def _french_plural(word: str) -> str:
    if word.endswith(("s", "x")):
        return word
    if word.endswith("al"):
        return f"{word[:-1]}ux"
    return f"{word}x" if word.endswith("eau") else f"{word}s"


_FRENCH_ENDINGS = (
    "e", "ent", "ait", "aient", "a", "èrent", "er", "é", "ée", "és", "ées", "era", "eront", "erait", "eraient", "ant",
)  # fmt: skip


def _french_verb(stem: str) -> Forms:
    """A regular verb in -er by its stem."""
    return tuple(stem + ending for ending in _FRENCH_ENDINGS)


def _spanish_adjective(masculine: str) -> Forms:
    if masculine.endswith("o"):
        return tuple(masculine[:-1] + ending for ending in ("o", "a", "os", "as"))
    return (masculine, masculine, _spanish_plural(masculine), _spanish_plural(masculine))


def _spanish_plural(word: str) -> str:
    if word.endswith(("a", "e", "o")):
        return f"{word}s"
    return f"{word[:-1]}ces" if word.endswith("z") else f"{word}es"


_SPANISH_ENDINGS = {
    "ar": ("ar", "a", "an", "ó", "aron", "aba", "aban", "ad", "ando", "ará", "arán", "aría", "arían"),
    "er": ("er", "e", "en", "ió", "ieron", "ía", "ían", "id", "iendo", "erá", "erán", "ería", "erían"),
    "ir": ("ir", "e", "en", "ió", "ieron", "ía", "ían", "id", "iendo", "irá", "irán", "iría", "irían"),
}


def _spanish_verb(infinitive: str) -> Forms:
    """A regular verb, with the four forms of its participle."""
    forms = [infinitive[:-2] + ending for ending in _SPANISH_ENDINGS[infinitive[-2:]]]
    participles = [form + ending for form in forms for ending in ("o", "a", "os", "as") if form.endswith(("ad", "id"))]
    return (*forms, *participles)


_ALL: dict[str, Callable[[str], Forms]] = {
    "words": _as_it_is,
    "amount": _as_it_is,
    "degree": _as_it_is,
    "determiner": _as_it_is,
    "noun": _as_it_is,
    "forms": _listed,
    "given": _as_it_is,
    "that": _as_it_is,
}
_INFLECTIONS: dict[str, dict[str, Callable[[str], Forms]]] = {
    "eng": _ALL,
    "deu": _ALL
    | {
        "adjectives": _german_adjective,
        "attributive": _german_attributive,
        "names": _german_name,
        "people": _german_people,
        "verbs": _german_verb,
    },
    "fra": _ALL | {"adjectives": _french_adjective, "verbs": _french_verb},
    "spa": _ALL | {"adjectives": _spanish_adjective, "verbs": _spanish_verb},
}
