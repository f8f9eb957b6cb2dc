"""Number edits for German, French and Spanish; a new number has the format of the old one."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from xsent.text.distractors.rules.edits import Edit, apply_edits
from xsent.text.distractors.rules.lexicon import find_fixed_expressions, overlaps
from xsent.text.english.numbers import year_sampler
from xsent.text.english.tokens import match_case
from xsent.text.word_lists import load_sections

Draw = Callable[[random.Random], str]

_DRAWS = 8  # per number: draws from small ranges repeat
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
    for start, end, draw in _number_spans(sentence, language, rules):
        if overlaps(start, end, fixed):
            continue
        old = sentence[start:end]
        drawn = dict.fromkeys(draw(rng) for _ in range(_DRAWS * per_span))
        edits = [Edit(start, end, new, "number") for new in drawn if new.lower() != old.lower()]
        yield from [edit for edit in edits if not is_ordered or _ranges_in_order(apply_edits(sentence, [edit]))][
            :per_span
        ]


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


def _number_spans(sentence: str, language: str, rules: Numerals) -> Iterator[tuple[int, int, Draw]]:
    for match in _DIGITS.finditer(sentence):
        draw = _time(match["time"]) if match["time"] else _digits(sentence, language, match, rules)
        if draw is not None:
            part = "time" if match["time"] else "number"
            yield match.start(part), match.end(part), draw
    if language != "deu":
        for match in _ROMAN.finditer(sentence):
            if match["roman"] in _CENTURIES:
                yield *match.span("roman"), _choose(_CENTURIES)
    for match in rules.spelled.finditer(sentence):
        word = match.group()
        group = next(group for group in rules.groups if word.lower() in group)
        if word.islower() or match.start() == 0:
            before = re.search(r"\bo $", sentence[: match.start()])
            fitting = [new for new in group if not (before and new.startswith("o"))]
            yield *match.span(), _choose([match_case(new, word) for new in fitting])


def _choose(options: list[str]) -> Draw:
    return lambda rng: rng.choice(options)


def _between(low: int, high: int, step: int = 1) -> Draw:
    return lambda rng: str(rng.randrange(low, high + 1, step))


def _time(text: str) -> Draw | None:
    hour, minute = text.split(":")
    if int(hour) > 23 or int(minute) > 59:
        return None
    low, high = (2, 9) if len(hour) == 1 else (10, 12) if int(hour) <= 12 else (13, 23)
    step = 5 if int(minute) % 5 == 0 else 1
    return lambda rng: f"{rng.randint(low, high)}:{rng.randrange(0, 60, step):02}"


def _digits(sentence: str, language: str, match: re.Match[str], rules: Numerals) -> Draw | None:
    text, before, after = match["number"], sentence[: match.start()], sentence[match.end() :]
    if not text.isdigit():
        if _HOUR.match(after):  # 11.29 Uhr
            time = _time(re.sub("[.,]", ":", text)) if re.fullmatch(r"\d\d?[.,]\d\d", text) else None
            return (lambda rng: time(rng).replace(":", ".")) if time else None
        return lambda rng: _similar_number(text, rng)
    value = int(text)
    if value < 2 or (text.startswith("0") and len(text) > 1):
        return None
    if rules.days.match(after):
        return _between(2, 28) if value <= 31 else None
    if re.match(r"\. [A-ZÄÖÜ]", after) and language == "deu" and value < 100 and "Jahrhundert" in after[:16]:
        return _between(10, 20)
    if match["ordinal"]:
        return _between(4, 20) if value <= 20 else lambda rng: _similar_number(text, rng)
    if _HOUR.match(after) and value <= 24:
        return _between(2, 9) if len(text) == 1 else _between(10, 23)
    if len(text) == 4 and 1100 <= value <= 2029:
        decade = re.search(_DECADE[language], before) is not None and value % 10 == 0
        return _decade(value) if decade else year_sampler(value, sentence)
    if re.match(rf"{_SPACE}?(?:%|Prozent|pour cent|por ciento)", after) and value <= 100:
        return _between(2, 9) if len(text) == 1 else _between(10, 95, 5 if value % 5 == 0 else 1)
    return lambda rng: _similar_number(text, rng)


def _decade(year: int) -> Draw:
    century = year - year % 100
    return _between(century + 10, min(century + 90, 2020), 10) if century < 2000 else _between(1910, 1990, 10)


def _similar_number(text: str, rng: random.Random) -> str:
    """Random digits; separators, a leading zero, an integer part below 2, and final zeros are kept."""
    decimals = re.search(r"[.,](?!\d{3}$)\d+$", text)
    integer = text[: decimals.start()] if decimals else text
    significant = len(re.sub(r"\D?0*(?:\D0+)*$", "", integer)) or 1
    digits = []
    for i, sign in enumerate(integer):
        fixed = not sign.isdigit() or i >= significant or (i == 0 and sign == "0") or integer in ("0", "1")
        low = 2 if len(integer) == 1 else 1 if i in (0, significant - 1) else 0
        digits.append(sign if fixed else str(rng.randint(low, 9)))
    fraction = decimals.group() if decimals else ""
    # A final 0 would be unusual after a decimal point.
    digits += [fraction[:1], *(str(rng.randint(0, 9)) for _ in fraction[1:-1])]
    return "".join(digits) + (str(rng.randint(1, 9)) if fraction else "")


def _ranges_in_order(sentence: str) -> bool:
    spans = [tuple(re.sub(r"\D", "", part) for part in match.groups()) for match in _SPAN.finditer(sentence)]
    return all(int(first) < int(second) for first, second in spans)
