"""The word lists behind the noise: those written for this project, or a folder of NL-Augmenter's files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from xsent.text.noise.abbreviations import Abbreviations, Acronyms, Element, Rule, Rules, rule, rule_words
from xsent.text.noise.contractions import Contractions
from xsent.text.noise.slang import Slang
from xsent.text.noise.tokenizer import pieces
from xsent.text.noise.words import Calendar, Confusions
from xsent.text.words import sections

Value = TypeVar("Value")


@dataclass(frozen=True)
class Lexicons:
    """What each transformation with a word list knows, by its id; indexes and patterns are built when first used."""

    abr1: Abbreviations
    abr2: Rules
    abr3: Acronyms
    homo: Mapping[str, tuple[str, ...]]  # homophones by word in lower case
    cont: Contractions
    dysl: Confusions
    spel: Mapping[str, tuple[str, ...]]  # misspellings by word in lower case
    slng: Slang
    week: Calendar

    def digest(self) -> str:
        """Hex digest of the content, order included: the order of a list decides what is drawn for its entries."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()


@cache
def bundled() -> Lexicons:
    """The lists of ``assets/words``."""
    abbreviations = sections("abbreviations")
    phrases = _several(abbreviations["phrases"])
    words = _several(abbreviations["words"])
    frequent = _several(abbreviations["frequent words"])
    slang = sections("slang")
    contractions = sections("contractions")
    return Lexicons(
        abr1=Abbreviations(_as_written(phrases), _as_written({**words, **frequent}), whole_words=True),
        abr2=Rules(tuple(_rules({**phrases, **words}))),
        abr3=Acronyms(tuple(_pairs(sections("acronyms")["business"], "="))),
        homo=_homophones(sections("homophones")),
        cont=Contractions(dict(_pairs((*contractions["common"], *contractions["further"]), "="))),
        dysl=Confusions(dict(_pairs(sections("dyslexia")["pairs"], "="))),
        spel=_several(sections("misspellings")["words"]),
        slng=Slang(
            tuple((word, *_forms(slang_word)) for word, slang_word in _each(slang["nouns"])),
            tuple(_each(slang["adjectives"])),
            tuple(_each(slang["adverbs"])),
        ),
        week=_calendar(sections("calendar")),
    )


@cache
def from_folder(folder: Path) -> Lexicons:
    """The lists of NL-Augmenter (MIT), as they lie in its ``transformations``, read once.

    Args:
        folder: has a folder for each transformation. Its code holds the contractions, and its homophones come from a
            package of their own: here those are the bundled ones (of the contractions only those that it knows).

    Raises:
        FileNotFoundError: for the first file that is missing.
        ValueError: for the first broken entry, with its file, its line or key, and what was found.
    """
    abbreviations = folder / "abbreviation_transformation"
    calendar = folder / "weekday_month_abbreviation"
    slang = folder / "slangificator"
    return replace(
        bundled(),
        abr1=Abbreviations(
            _alone(_json(abbreviations / "phrase_abbrev_dict.json", _text)),
            _alone(_json(abbreviations / "word_abbrev_dict.json", _text)),
        ),
        abr2=_rule_file(folder / "insert_abbreviation" / "replacement_rules_en.txt"),
        abr3=_acronym_file(folder / "replace_abbreviation_and_acronyms" / "abbreviations.txt"),
        cont=Contractions(dict(_pairs(sections("contractions")["common"], "=")), as_released=True),
        dysl=_confusion_file(folder / "dyslexia_words_swap" / "data.json"),
        spel=_json(folder / "replace_spelling" / "spell_errors.json", _texts),
        slng=Slang(
            tuple((word, one, many) for word, one, many in _table(slang / "Slang_Nouns.txt", 3)),
            tuple((word, one) for word, one in _table(slang / "Slang_Adjectives.txt", 2)),
            tuple((word, one) for word, one in _table(slang / "Slang_Adverbs.txt", 2)),
        ),
        week=Calendar(
            _json(calendar / "weekday_month_abb_en.json", _text), _json(calendar / "weekday_month_exp_en.json", _text)
        ),
    )


# Bundled lists: entries "one = other", or "one > other / another".


def _pairs(entries: Iterable[str], sign: str) -> list[tuple[str, str]]:
    pairs = []
    for entry in entries:
        one, other = entry.split(f" {sign} ")
        pairs.append((one, other))
    return pairs


def _several(entries: Iterable[str]) -> dict[str, tuple[str, ...]]:
    return {one: tuple(others.split(" / ")) for one, others in _pairs(entries, ">")}


def _each(entries: Iterable[str]) -> list[tuple[str, str]]:
    return [(one, other) for one, others in _several(entries).items() for other in others]


def _forms(slang: str) -> tuple[str, str]:
    """Singular and plural of "mate|mates"; a word that has no plural of its own keeps its form."""
    singular, _, plural = slang.partition("|")
    return singular, plural or singular


def _as_written(short_forms: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """With every entry as it stands at the start of a sentence, and with a curled apostrophe, unless it is listed."""
    found = dict(short_forms)
    for full, short in short_forms.items():
        for written in (full, full[0].upper() + full[1:]):
            found.setdefault(written, short)
            found.setdefault(written.replace("'", "’"), short)
    return found


def _rules(short_forms: Mapping[str, tuple[str, ...]]) -> Iterable[Rule]:
    """A rule for the first short form of each entry, and another where it is written with a curled apostrophe."""
    for full, short in short_forms.items():
        for written in dict.fromkeys((full, full.replace("'", "’"))):
            yield Rule(short[0], tuple(Element((word,)) for word in rule_words(written)))


def _homophones(groups: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The other words of all groups a word is in; a word of several pieces ("they're") is written, but never found."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in (*groups["alike"], *groups["nearly"]):
        group = entry.split()
        for word in group:
            key = word.lower()
            if len(pieces(key)) == 1:
                others = (*found.get(key, ()), *group)
                found[key] = tuple(dict.fromkeys(other for other in others if other != word))
    return found


def _calendar(names: Mapping[str, tuple[str, ...]]) -> Calendar:
    """A name is shortened to the first of its short forms; all are written out."""
    short = _several((*names["weekdays"], *names["months"]))
    return Calendar(
        {name: forms[0] for name, forms in short.items()},
        {form: name for name, forms in short.items() for form in forms},
    )


# NL-Augmenter's files.


def _json(path: Path, value: Callable[[Any], Value | None]) -> dict[str, Value]:
    """An object by key; ``value`` gives what is stored, or None for what is broken."""
    try:
        content = json.loads(_read(path))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: expected JSON: {error.msg}") from error
    if not isinstance(content, dict) or not content:
        raise ValueError(f"{path}: expected a JSON object with entries, found {_shown(content)}")
    found = {}
    for key, written in content.items():
        read = value(written)
        if not key or read is None:
            raise ValueError(f"{path}: key {key!r}: {_EXPECTED[value]}, found {_shown(written)}")
        found[key] = read
    return found


def _text(written: Any) -> str | None:
    return written if isinstance(written, str) and written else None


def _texts(written: Any) -> tuple[str, ...] | None:
    if not isinstance(written, list) or not written or None in map(_text, written):
        return None
    return tuple(written)


def _category(written: Any) -> dict[str, str] | None:
    if not isinstance(written, dict) or None in map(_text, [*written, *written.values()]):
        return None
    return written


_EXPECTED: dict[Callable[[Any], Any], str] = {
    _text: "expected a text that is not empty",
    _texts: "expected a list of texts, none of them empty",
    _category: "expected an object of texts by text, none of them empty",
}


def _shown(content: Any) -> str:
    text = repr(content)
    return text if len(text) <= 80 else text[:80] + "..."


def _alone(short_forms: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {full: (short,) for full, short in short_forms.items()}


def _confusion_file(path: Path) -> Confusions:
    categories = _json(path, _category)
    return Confusions({one: other for pairs in categories.values() for one, other in pairs.items()})


def _rule_file(path: Path) -> Rules:
    """Lines ``short = phrase``, ``#`` begins a comment; blanks in a short form are single."""
    found = []
    for number, line in _lines(path):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if "=" not in words:
            raise ValueError(f"{path}:{number}: expected 'short = phrase', found {line!r}")
        sign = words.index("=")
        label, phrase = " ".join(words[:sign]), words[sign + 1 :]
        if " ".join(words) in _SLIPS:
            found.append(Rule(label, tuple(Element((word,)) for word in phrase)))
            continue
        if "=" in phrase:
            raise ValueError(f"{path}:{number}: expected one 'short = phrase', found {line!r}")
        try:
            found.append(rule(label, " ".join(phrase)))
        except ValueError as error:
            raise ValueError(f"{path}:{number}: {error}") from error
    return Rules(tuple(found))


# Two lines of the released file are not in its notation: they are taken word by word.
_SLIPS = {"cad = control + alt + delete", "g2tu = got to tellg4c = going for coffee"}


def _acronym_file(path: Path) -> Acronyms:
    found = []
    for number, line in _lines(path):
        short, _, full = line.partition(":")
        if not short.strip() or not full.strip():
            raise ValueError(f"{path}:{number}: expected 'short:full form', found {line!r}")
        found.append((short, full))
    return Acronyms(tuple(found))


def _table(path: Path, columns: int) -> list[list[str]]:
    """Lines of columns apart by commas; blanks around a column are kept, as in the reference."""
    found = []
    for number, line in _lines(path):
        row = line.split(",")
        if len(row) != columns or not all(column.strip() for column in row):
            raise ValueError(f"{path}:{number}: expected {columns} columns between commas, found {line!r}")
        found.append(row)
    return found


def _lines(path: Path) -> list[tuple[int, str]]:
    """Lines with their numbers from 1; what ends the last one begins no other."""
    lines = _read(path).split("\n")
    if lines[-1] == "":
        lines.pop()
    return [(number, line.removesuffix("\r")) for number, line in enumerate(lines, start=1)]


def _read(path: Path) -> str:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file, but a folder of NL-Augmenter's word lists has it")
    content = path.read_bytes()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}:{number}: expected UTF-8, found byte {content[error.start]:#04x}") from error
