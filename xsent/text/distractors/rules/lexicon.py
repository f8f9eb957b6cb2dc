"""Lexicon of replacements: the word list of a language, inflected."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import permutations

from xsent.text.distractors.rules.edits import split_list, straighten
from xsent.text.word_lists import load_sections

LANGUAGES = ("deu", "eng", "fra", "spa")

Forms = tuple[str, ...]
Replacement = tuple[str, str, re.Pattern[str] | None]  # form, new form, pattern that has to follow
# Replacements by form and by the pattern that has to follow it (None: anything).
Choices = dict[str, dict[re.Pattern[str] | None, list[str]]]


_ADJECTIVE_AND_NOUN = re.compile(r" (?:[a-zäöüß]+(?:e|en|er|es|em) )?[A-ZÄÖÜ]")
_AMOUNT = re.compile(
    r" (?:die |the |las |los |les )?"
    r"(?!(?:1[1-9]|20)\d\d\b(?![.,]\d))"  # not a year
    r"(?!\d+(?:[:.]\d\d)? ?(?:Uhr|h\b|heures?|am\b|pm\b|a\. ?m|p\. ?m|hours?\b)|\d+:\d)"  # not a time
    r"(?:\d|zwei|drei|vier|fünf|sechs|acht|zehn|zwölf|zwanzig|fünfzig|hundert|two|three|four|five|six|eight|ten|twelve|twenty"
    r"|fifty|deux|trois|quatre|cinq|six|huit|dix|vingt|cinquante|cent|dos|tres|cuatro|cinco|seis|ocho|diez|veinte|cincuenta"
    r"|cien)"
)
# Pattern that has to follow, by the second word of a section's name.
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
    """Replacements of each form of a word by kind of edit, from ``assets/words/distractors_<language>.txt``.

    A section ``[kind: inflection anything]`` holds pairs for both directions (``a = b``) or one (``a > b``), groups
    (``a / b / c``), and single words, which form one group. An ambiguous form, such as French "rapide" of both
    genders, gets only replacements that fit all its readings.
    """
    kinds: dict[str, Choices] = {}
    for section, entries in load_sections(f"distractors_{language}").items():
        kind, _, rest = section.partition(": ")
        if not rest:
            continue  # [leave], [numbers]
        choices = kinds.setdefault(kind, {})
        for word, replacement in _pairs(entries):
            for form, new, follows in _forms(language, rest.split()[0], word, replacement):
                replacements = choices.setdefault(form, {}).setdefault(follows, [])
                if new not in replacements:
                    replacements.append(new)
    return kinds


def find_fixed_expressions(sentence: str, language: str) -> list[tuple[int, int]]:
    """Spans of the fixed expressions, which are not edited."""
    return [match.span(1) for match in _fixed_expressions(language).finditer(straighten(sentence))]


def overlaps(start: int, end: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a span overlaps one of several spans."""
    return any(start < span_end and span_start < end for span_start, span_end in spans)


@cache
def _fixed_expressions(language: str) -> re.Pattern[str]:
    phrases = load_sections(f"distractors_{language}")["leave"]
    alternatives = "|".join(re.escape(phrase) for phrase in sorted(phrases, key=lambda phrase: (-len(phrase), phrase)))
    # A match without width, to find overlapping expressions: "après avoir" and "avoir été".
    return re.compile(rf"(?<!\w)(?=({alternatives})(?!\w))", re.IGNORECASE)


def _pairs(entries: Sequence[str]) -> Iterator[tuple[str, str]]:
    single = [entry for entry in entries if not re.search(r" [=>/] ", entry)]
    yield from permutations(single, 2)
    for entry in entries:
        word, sign, replacements = entry.partition(" > ")
        if sign:
            yield from ((word, replacement) for replacement in replacements.split(" / "))
        elif entry not in single:
            yield from permutations(re.split(" [=/] ", entry), 2)


def _forms(language: str, inflection: str, word: str, replacement: str) -> Iterator[Replacement]:
    inflect = _INFLECTIONS[language][inflection]
    old, new = inflect(word), inflect(replacement)
    if len(old) != len(new):
        raise ValueError(f"distractors_{language}.txt: expected as many forms of {word!r} as of {replacement!r}")
    is_german = inflection == "adjectives" and language == "deu"
    for i, form in enumerate(old):
        fitting = {new_form for old_form, new_form in zip(old, new, strict=True) if old_form == form}
        if len(fitting) == 1 and form != new[i]:
            bare = is_german and i == 0
            follows = _ADJECTIVE_AND_NOUN if is_german else None
            yield form, new[i], None if bare else _FOLLOWS.get(inflection, follows)


def _endings(endings: str) -> Callable[[str], Forms]:
    """The stem with each of the endings; "-" is none."""
    return lambda stem: tuple(stem + ending.removeprefix("-") for ending in endings.split())


def _german_name(name: str) -> Forms:
    return (name, f"{name}'" if name.endswith(("s", "x", "z")) else f"{name}s")


def _german_verb(stem: str) -> Forms:
    """A regular verb with an unstressed prefix, or none: of erhöh, verkauf, *lob (gelobt)."""
    prefix, stem = ("ge", stem[1:]) if stem.startswith("*") else ("", stem)
    e = "e" if stem.endswith(("t", "d")) else ""
    infinitive = f"{stem}n" if stem.endswith(("er", "el")) else f"{stem}en"
    return (f"{stem}{e}t", f"{stem}{e}te", f"{stem}{e}ten", infinitive, f"{prefix}{stem}{e}t")


def _french_adjective(forms: str) -> Forms:
    """Singular and plural of both genders, from "grand grande" or "rapide"."""
    masculine, feminine = (forms.split() * 2)[:2]
    return (masculine, feminine, _french_plural(masculine), _french_plural(feminine))


def _french_plural(word: str) -> str:
    if word.endswith(("s", "x")):
        return word
    if word.endswith("al"):
        return f"{word[:-1]}ux"
    return f"{word}x" if word.endswith("eau") else f"{word}s"


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


_UNINFLECTED = ("words", "amount", "degree", "determiner", "noun", "given", "that")
_ALL: dict[str, Callable[[str], Forms]] = {**dict.fromkeys(_UNINFLECTED, _endings("-")), "forms": split_list}
_INFLECTIONS: dict[str, dict[str, Callable[[str], Forms]]] = {
    "eng": _ALL,
    "deu": _ALL
    | {
        "adjectives": _endings("- e en er es em"),
        "attributive": _endings("e en er es em"),
        "names": _german_name,
        "people": _endings("- s n in innen"),  # Amerikaner, with the feminine forms
        "verbs": _german_verb,
    },
    "fra": _ALL
    | {
        "adjectives": _french_adjective,
        "verbs": _endings("e ent ait aient a èrent er é ée és ées era eront erait eraient ant"),  # regular ones in -er
    },
    "spa": _ALL | {"adjectives": _spanish_adjective, "verbs": _spanish_verb},
}
