"""Lexicons of the noise: the bundled word lists, or a folder of NL-Augmenter's files."""

import hashlib
import json
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from xsent.files.strict_json import parse_json
from xsent.text.noise.abbreviation_rules import Element, Rule, Rules, parse_rule, rule_words
from xsent.text.noise.abbreviations import Abbreviations, Acronyms
from xsent.text.noise.slang import Slang
from xsent.text.noise.social import Respellings
from xsent.text.noise.tokenizer import split_pieces
from xsent.text.noise.word_substitutions import Calendar, Confusions, Contractions
from xsent.text.text_lines import read_numbered
from xsent.text.word_lists import load_sections


@dataclass(frozen=True)
class Lexicons:
    """Lexicon of each transformation that has one, by its code; indexes are built on first use."""

    abr1: Abbreviations
    abr2: Rules
    abr3: Acronyms
    homo: Mapping[str, tuple[str, ...]]  # homophones by lower-case word
    cont: Contractions
    dysl: Confusions
    spel: Mapping[str, tuple[str, ...]]  # misspellings by lower-case word
    slng: Slang
    week: Calendar
    respelling: Respellings
    emoticons: tuple[str, ...]

    def digest(self) -> str:
        """Hex digest of the content, including its order, which decides the draws."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()


@cache
def bundled() -> Lexicons:
    """The lists of ``assets/words``."""
    abbreviations = load_sections("abbreviations")
    phrases = _parse_alternatives(abbreviations["phrases"])
    words = _parse_alternatives(abbreviations["words"])
    frequent = _parse_alternatives(abbreviations["frequent words"])
    slang = load_sections("slang")
    calendar = _parse_alternatives(chain.from_iterable(load_sections("calendar").values()))
    contractions = load_sections("contractions")
    return Lexicons(
        abr1=Abbreviations(_add_variants(phrases), _add_variants({**words, **frequent}), whole_words=True),
        abr2=Rules(tuple(_make_rules({**phrases, **words}))),
        abr3=Acronyms(tuple(_parse_pairs(load_sections("acronyms")["business"], "="))),
        homo=_homophones(load_sections("homophones")),
        cont=Contractions(dict(_parse_pairs((*contractions["common"], *contractions["further"]), "="))),
        dysl=Confusions(dict(_parse_pairs(load_sections("dyslexia")["pairs"], "="))),
        spel=_parse_alternatives(load_sections("misspellings")["words"]),
        slng=Slang(
            # A word without plural, as in "mate|mates", keeps its form.
            tuple((word, *(slang_word.split("|") * 2)[:2]) for word, slang_word in _flatten(slang["nouns"])),
            tuple(_flatten(slang["adjectives"])),
            tuple(_flatten(slang["adverbs"])),
        ),
        # A name becomes its first short form; every short form becomes the name.
        week=Calendar(
            {name: forms[0] for name, forms in calendar.items()},
            {form: name for name, forms in calendar.items() for form in forms},
        ),
        respelling=Respellings(_parse_alternatives(load_sections("respellings")["respellings"])),
        emoticons=tuple(chain.from_iterable(load_sections("emoticons").values())),
    )


@cache
def from_folder(folder: Path) -> Lexicons:
    """The lists of NL-Augmenter (MIT) in its ``transformations`` folder.

    Its contractions are in its code, and its homophones come from another package: both are the bundled ones here
    (only the contractions that NL-Augmenter has).

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: an invalid entry; names file, line or key, and the text.
    """
    abbreviations = folder / "abbreviation_transformation"
    calendar = folder / "weekday_month_abbreviation"
    slang = folder / "slangificator"
    misspellings = _read_json(folder / "replace_spelling" / "spell_errors.json", *_TEXTS)
    confusions = _read_json(folder / "dyslexia_words_swap" / "data.json", *_CATEGORY)
    return replace(
        bundled(),
        abr1=Abbreviations(
            {phrase: (short,) for phrase, short in _read_json(abbreviations / "phrase_abbrev_dict.json").items()},
            {word: (short,) for word, short in _read_json(abbreviations / "word_abbrev_dict.json").items()},
        ),
        abr2=_read_rules(folder / "insert_abbreviation" / "replacement_rules_en.txt"),
        abr3=_read_acronyms(folder / "replace_abbreviation_and_acronyms" / "abbreviations.txt"),
        cont=Contractions(dict(_parse_pairs(load_sections("contractions")["common"], "=")), as_released=True),
        dysl=Confusions({first: second for pairs in confusions.values() for first, second in pairs.items()}),
        spel={word: tuple(errors) for word, errors in misspellings.items()},
        slng=Slang(
            _read_table(slang / "Slang_Nouns.txt", 3),
            _read_table(slang / "Slang_Adjectives.txt", 2),
            _read_table(slang / "Slang_Adverbs.txt", 2),
        ),
        week=Calendar(
            _read_json(calendar / "weekday_month_abb_en.json"), _read_json(calendar / "weekday_month_exp_en.json")
        ),
    )


# ---- bundled lists: entries "word = replacement" or "word > replacement / replacement"


def _parse_pairs(entries: Iterable[str], sign: str) -> list[tuple[str, str]]:
    return [(word, replacement) for word, replacement in (entry.split(f" {sign} ") for entry in entries)]


def _parse_alternatives(entries: Iterable[str]) -> dict[str, tuple[str, ...]]:
    return {word: tuple(replacements.split(" / ")) for word, replacements in _parse_pairs(entries, ">")}


def _flatten(entries: Iterable[str]) -> list[tuple[str, str]]:
    return [(word, option) for word, options in _parse_alternatives(entries).items() for option in options]


def _add_variants(short_forms: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Add unlisted variants of each entry: with an initial capital, and with a curly apostrophe."""
    variants = dict(short_forms)
    for full, short in short_forms.items():
        for variant in (full, full[0].upper() + full[1:]):
            variants.setdefault(variant, short)
            variants.setdefault(variant.replace("'", "’"), short)
    return variants


def _make_rules(short_forms: Mapping[str, tuple[str, ...]]) -> Iterable[Rule]:
    """A rule for the first short form of each entry, and another with curly apostrophes."""
    for full, short in short_forms.items():
        for variant in dict.fromkeys((full, full.replace("'", "’"))):
            yield Rule(short[0], tuple(Element((word,)) for word in rule_words(variant)))


def _homophones(groups: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The other words of all groups of a word; a word of several pieces ("they're") is inserted but never found."""
    homophones: dict[str, tuple[str, ...]] = {}
    for entry in (*groups["alike"], *groups["nearly"]):
        group = entry.split()
        for word in group:
            key = word.lower()
            if len(split_pieces(key)) == 1:
                candidates = (*homophones.get(key, ()), *group)
                homophones[key] = tuple(dict.fromkeys(candidate for candidate in candidates if candidate != word))
    return homophones


# ---- NL-Augmenter's files


def _is_text(raw: object) -> bool:
    return isinstance(raw, str) and raw != ""


# Forms of the values of a JSON object: description and check.
_TEXT = ("a text that is not empty", _is_text)
_TEXTS = (
    "a list of texts, none of them empty",
    lambda raw: isinstance(raw, list) and raw != [] and all(map(_is_text, raw)),
)
_CATEGORY = (
    "an object of texts by text, none of them empty",
    lambda raw: isinstance(raw, dict) and all(map(_is_text, [*raw, *raw.values()])),
)


def _read_json(path: Path, form: str = _TEXT[0], is_valid: Callable[[Any], bool] = _TEXT[1]) -> dict[str, Any]:
    lines = [line for _, line in _read_lines(path)]
    try:
        content = parse_json("\n".join(lines))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: expected JSON: {error.msg}") from error
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON, found {error}") from error
    if not isinstance(content, dict) or not content:
        raise ValueError(f"{path}: expected a JSON object with entries, found {reprlib.repr(content)}")
    for key, value in content.items():
        if not key or not is_valid(value):
            raise ValueError(f"{path}: key {key!r}: expected {form}, found {reprlib.repr(value)}")
    return content


def _read_rules(path: Path) -> Rules:
    """Lines ``short = phrase`` and ``#`` comments; blanks in a short form become single."""
    rules = []
    for number, line in _read_lines(path):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if "=" not in words:
            raise ValueError(f"{path}:{number}: expected 'short = phrase', found {line!r}")
        sign = words.index("=")
        short, phrase = " ".join(words[:sign]), words[sign + 1 :]
        if " ".join(words) in _LITERAL_RULES:
            rules.append(Rule(short, tuple(Element((word,)) for word in phrase)))
            continue
        if "=" in phrase:
            raise ValueError(f"{path}:{number}: expected one 'short = phrase', found {line!r}")
        try:
            rules.append(parse_rule(short, " ".join(phrase)))
        except ValueError as error:
            raise ValueError(f"{path}:{number}: {error}") from error
    return Rules(tuple(rules))


# Two lines of the released file break its notation: they match word by word.
_LITERAL_RULES = {"cad = control + alt + delete", "g2tu = got to tellg4c = going for coffee"}


def _read_acronyms(path: Path) -> Acronyms:
    pairs = []
    for number, line in _read_lines(path):
        short, _, full = line.partition(":")
        if not short.strip() or not full.strip():
            raise ValueError(f"{path}:{number}: expected 'short:full form', found {line!r}")
        pairs.append((short, full))
    return Acronyms(tuple(pairs))


def _read_table(path: Path, columns: int) -> tuple[tuple[str, ...], ...]:
    """Lines of comma-separated columns; blanks around a column stay, as in the reference."""
    rows = []
    for number, line in _read_lines(path):
        row = tuple(line.split(","))
        if len(row) != columns or not all(column.strip() for column in row):
            raise ValueError(f"{path}:{number}: expected {columns} columns between commas, found {line!r}")
        rows.append(row)
    return tuple(rows)


def _read_lines(path: Path) -> Iterator[tuple[int, str]]:
    return read_numbered(path, "a file of NL-Augmenter's word lists")
