"""Number edits for German, French and Spanish; a new number has the format of the old one."""

import random
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from xsent.text.distractors.rules.edits import Edit, apply_edits
from xsent.text.distractors.rules.lexicon import find_fixed_expressions, overlaps
from xsent.text.english.numbers import (
    Number,
    Sampler,
    choice_sampler,
    digits_sampler,
    integer_sampler,
    time_sampler,
    year_sampler,
)
from xsent.text.english.tokens import match_case
from xsent.text.word_lists import load_sections

_SPACE = "[ \u00a0\u202f]"
# Not part of a code (39C, A380), range, score, fraction or address (7:2, 5-3, 1/2, UTC+1).
_DIGITS = re.compile(
    rf"(?<![\w/:+#^])(?<![\w)][.,–-])(?<!\d{_SPACE})(?:(?P<time>\d{{1,2}}:\d{{2}})|(?P<number>"
    rf"\d{{1,3}}(?:{_SPACE}\d{{3}})+(?!\d)(?:[.,]\d+)?|\d{{1,3}}(?:[.,]\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
    r"(?P<ordinal>(?:e|ème)\b(?!\s*\d)|er\b(?=\s[a-zA-Z])|º|ª)?)(?:(?![\w/:+^]|[.,]\d|[-–]\d)|(?=(?:[kcm]?m|k?g|%)\b))"
)
_ROMAN = re.compile(r"\b(?:(?<=siglo )|(?=[IVX]+(?:e|ème) siècle))(?P<roman>[IVX]+)(?=\b|e\b|ème\b)")
_CENTURIES = ["XI", "XII", "XIII", "XIV", "XV", "XVI", "XVII", "XVIII", "XIX", "XX"]
_SPAN = re.compile(r"(\d[\d.,]*)(?: (?:bis|und|oder|à|et|ou|a|y|o)(?: (?:las|los))? | ?[-–] ?)(\d[\d.,]*)")
_HOUR = re.compile(rf"{_SPACE}?(?:Uhr|h\b|heures?|horas?\b)")
_DECADE = {"deu": r"er$", "fra": r"\b(?:années|décennie)\s$", "spa": r"\b(?:años|década de(?: los)?|los)\s$"}


class Numerals(NamedTuple):
    """Number formats of a language."""

    days: re.Pattern[str]  # text after a day of a month
    spelled: re.Pattern[str]  # number words on their own
    groups: tuple[tuple[str, ...], ...]  # interchangeable number words


def replace_numbers(sentence: str, language: str, *, per_span: int, rng: random.Random) -> Iterator[Edit]:
    """Edits that replace one number each, up to ``per_span`` for each number.

    Separators, decimals, round figures and the length are kept. Years stay close and in order with the other years of
    the sentence; ranges stay in order ("3 bis 6"). Hours, days of a month and percentages stay valid. The integer part
    of numbers below 2 is kept, because nouns and verbs agree with it. Fixed expressions are not edited.
    """
    rules = _numerals(language)
    fixed = find_fixed_expressions(sentence, language)
    is_ordered = _ranges_in_order(sentence)
    for number in _numbers(sentence, language, rules):
        if not overlaps(number.start, number.end, fixed):
            new_numbers = number.draw(sentence, per_span, rng)
            edits = [Edit(number.start, number.end, new, "number") for new in new_numbers]
            valid = [edit for edit in edits if not is_ordered or _ranges_in_order(apply_edits(sentence, [edit]))]
            yield from valid[:per_span]


@cache
def _numerals(language: str) -> Numerals:
    lists = load_sections(f"distractors_{language}")
    months = "|".join(lists["entity: words month"])
    groups = tuple(tuple(entry.split()) for entry in lists["numbers"])
    every = "|".join(word for group in groups for word in group if word not in lists.get("numbers, not replaced", ()))
    return Numerals(
        re.compile(rf"\.?{_SPACE}(?:de )?(?:{months})\b"),
        re.compile(rf"(?<![\w'’-])(?<!\by )(?:{every})(?![\w'’-]| y (?:{every})\b)", re.IGNORECASE),
        groups,
    )


def _numbers(sentence: str, language: str, rules: Numerals) -> Iterator[Number]:
    for match in _DIGITS.finditer(sentence):
        sample = _time(match["time"]) if match["time"] else _digit_sampler(sentence, language, match, rules)
        if sample is not None:
            yield Number(*match.span("time" if match["time"] else "number"), sample)
    if language != "deu":
        for match in _ROMAN.finditer(sentence):
            if match["roman"] in _CENTURIES:
                yield Number(*match.span("roman"), choice_sampler(_CENTURIES))
    for match in rules.spelled.finditer(sentence):
        word = match.group()
        group = next(group for group in rules.groups if word.lower() in group)
        if word.islower() or match.start() == 0:
            before = re.search(r"\bo $", sentence[: match.start()])
            fitting = [new for new in group if not (before and new.startswith("o"))]
            yield Number(*match.span(), choice_sampler([match_case(new, word) for new in fitting]))


def _time(text: str) -> Sampler | None:
    hour = text.split(":")[0]
    return time_sampler(text, (2, 9) if len(hour) == 1 else (10, 12) if int(hour) <= 12 else (13, 23))


def _digit_sampler(sentence: str, language: str, match: re.Match[str], rules: Numerals) -> Sampler | None:
    text, before, after = match["number"], sentence[: match.start()], sentence[match.end() :]
    decimals = re.search(r"[.,](?!\d{3}$)\d+$", text)
    fraction = decimals.group() if decimals else ""
    similar = digits_sampler(text.removesuffix(fraction), fraction, is_plural=True)
    if not text.isdigit():
        if _HOUR.match(after):  # 11.29 Uhr
            time = _time(re.sub("[.,]", ":", text)) if re.fullmatch(r"\d\d?[.,]\d\d", text) else None
            return (lambda rng: time(rng).replace(":", ".")) if time else None
        return similar
    value = int(text)
    if value < 2 or (text.startswith("0") and len(text) > 1):
        return None
    if rules.days.match(after):
        return integer_sampler(2, 28) if value <= 31 else None
    if re.match(r"\. [A-ZÄÖÜ]", after) and language == "deu" and value < 100 and "Jahrhundert" in after[:16]:
        return integer_sampler(10, 20)
    if match["ordinal"]:
        return integer_sampler(4, 20) if value <= 20 else similar
    if _HOUR.match(after) and value <= 24:
        return integer_sampler(2, 9) if len(text) == 1 else integer_sampler(10, 23)
    if len(text) == 4 and 1100 <= value <= 2029:
        if re.search(_DECADE[language], before) is None or value % 10:
            return year_sampler(value, sentence)
        century = value // 100 * 100 if value < 2000 else 1900
        return integer_sampler(century + 10, century + 90, 10)
    if re.match(rf"{_SPACE}?(?:%|Prozent|pour cent|por ciento)", after) and value <= 100:
        return integer_sampler(2, 9) if len(text) == 1 else integer_sampler(10, 95, 5 if value % 5 == 0 else 1)
    return similar


def _ranges_in_order(sentence: str) -> bool:
    spans = [tuple(re.sub(r"\D", "", part) for part in match.groups()) for match in _SPAN.finditer(sentence)]
    return all(int(first) < int(second) for first, second in spans)
