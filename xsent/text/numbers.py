"""Other numbers in place of those of a sentence, each in the form of the one it replaces."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from xsent.text.tokens import cased_like, replaced, starts_sentence
from xsent.text.words import sections

Draw = Callable[[random.Random], str]


class Number(NamedTuple):
    """A number of a sentence and how to draw another of its form."""

    start: int
    end: int
    draw: Draw


_UNITS = r"(?:[kKMGT]?[BbW]|[kMG]?Hz|Ghz|[kcm]?m|kg|mg|g|ml|l|ft|mi|lb|lbs|kph|km/h|mph|kcal|MP|px|am|pm|bn)\b"
# Neither part of a code (39C, U-235, 802.11n), nor of a date, fraction or address (9/11, 1/2, #7, 10.0.0.1).
_DIGITS = re.compile(
    r"(?<![\w./:+#])(?<![^\W\d]-)(?<!\d,)"
    r"(?:(?P<time>\d{1,2}:\d{2})|(?P<decade>1[5-9]\d0|20[012]0)(?='?s\b)"
    r"|(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?P<ordinal>st|nd|rd|th)?)"
    rf"(?:(?!\w|[/:]|[.,]\d|-[A-Z]\b)|(?={_UNITS})|(?='?s\b))"
)
_MONTHS = "|".join(sections("names")["month"])
_SMALL = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_TEENS = ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ONES = ["one", *_SMALL[:8]]
_SCALES = r"hundred|thousand|million|billion|trillion|dozen"
_ORDINALS = [
    "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
]  # fmt: skip
_WORDS = ["zero", "one", *_SMALL, *_TEENS, *_TENS]  # in their order
# "Between three and six", "from 8 to 100", "four to six", "100-200".
_SPAN = re.compile(r"(?:\b(?<=between )([\w,.]+) and|([\w,.]+)(?: (?:to|or)|(?<=\d)[-–](?=\d)))\s?([\w,.]*\w)")
_NUMBER_WORD = re.compile(
    rf"(?<![\w'’-])(?:(?P<tens>{'|'.join(_TENS)})[- ](?P<ones>{'|'.join(_ONES)})\b"
    rf"|(?P<word>{'|'.join(_SMALL + _TEENS + _TENS)})\b|(?P<one>one)(?=[- ](?:{_SCALES})\b))"
    r"(?!['’]|-(?:thirds?|quarters?|fifths?|tenths?|eighths?|half|halves|fold|something)\b)",
    re.IGNORECASE,
)
_ORDINAL_WORD = re.compile(
    rf"\b(?:[Tt]he|his|her|its|our|their) (?P<word>first|{'|'.join(_ORDINALS)})(?= (?P<next>[a-z]+)\b)"
)
# "The first two", "the first few": not one of an order. "The first aid", "the second of": something else.
_NO_ORDER = {*_ONES, *_SMALL, *_TENS, "few", "ever", "aid", "lady", "place", "and", "or", "of", "half", "hand", "time"}


def with_other_numbers(sentence: str, *, per_number: int, rng: random.Random) -> list[str]:
    """The sentence with one number replaced, up to ``per_number`` times for each of its numbers.

    Thousands separators, decimals, round figures, ordinals, times of day, days of a month, percentages up to 100
    and number words stay what they are; a year stays near itself and in order with the other years of the
    sentence, as do the two numbers of a span ("between three and six"). "One" alone, 0 and 1 are left as they
    are, and no number becomes them: a noun keeps its number.
    """
    found: list[str] = []
    for number in _numbers(sentence):
        old = sentence[number.start : number.end]
        # Small ranges run out; then fewer are found.
        drawn = dict.fromkeys(number.draw(rng) for _ in range(8 * per_number))
        others = [replaced(sentence, number.start, number.end, new) for new in drawn if new.lower() != old.lower()]
        found += [other for other in others if _spans_in_order(other) or not _spans_in_order(sentence)][:per_number]
    return found


def _spans_in_order(sentence: str) -> bool:
    for match in _SPAN.finditer(sentence):
        first, second = _value(match[1] or match[2]), _value(match[3])
        if first is not None and second is not None and first >= second:
            return False
    return True


def _value(number: str) -> float | None:
    """What a word or figure of a span stands for; None if it is no number."""
    word = number.lower()
    if word in _WORDS:
        return _WORDS.index(word)
    digits = word.replace(",", "")
    return float(digits) if re.fullmatch(r"\d+(?:\.\d+)?", digits) else None


def _numbers(sentence: str) -> Iterator[Number]:
    for match in _DIGITS.finditer(sentence):
        draw = _digits(sentence, match)
        if draw is not None:
            yield Number(match.start(), match.end(), draw)
    for match in _NUMBER_WORD.finditer(sentence):
        # "Group of Seven", "Page Two" are names.
        if match.group().islower() or starts_sentence(sentence, match.start()):
            yield Number(match.start(), match.end(), _number_word(match))
    for match in _ORDINAL_WORD.finditer(sentence):
        if match["next"] in _NO_ORDER or (match["word"] == "first" and match["next"].endswith("s")):
            continue
        words = _ORDINALS if match["word"] != "twelfth" else _ORDINALS[:-1]
        yield Number(match.start("word"), match.end("word"), _choice(words))


# ---- digits


def _digits(sentence: str, match: re.Match[str]) -> Draw | None:
    before, after = sentence[: match.start()], sentence[match.end() :]
    if match["time"]:
        return _time(match["time"], after)
    if match["decade"]:
        return _decade(int(match["decade"]))
    text, suffix = match["number"], match["ordinal"]
    if suffix:
        low, high = (2, 20) if re.match(r"[\s-]+centur", after) else _same_length(text)
        return _ordinal(*((2, 28) if _is_day(before, after) else (low, high)))
    if text in ("0", "1"):
        return None
    if re.fullmatch(r"\d{4}", text):
        if re.match(r"\s*(?:UTC|GMT|hours)\b", after) and int(text[:2]) < 24 and int(text[2:]) < 60:
            return lambda rng: f"{rng.randrange(24):02}{rng.randrange(60):02}"
        if 1100 <= int(text) <= 2099 and not _counts(before, after):
            return _year(int(text), sentence, after)
    if re.search(r"\d{4}[-–]$", before) and len(text) == 2:
        return None  # the end of a season, 1995-96
    if len(text) <= 2 and _is_day(before, after):
        return _between(2, 28)
    if re.match(r"\s?(?:%|percent\b|per cent\b)", after) and text.isdigit() and int(text) <= 100:
        return _between(*((2, 9) if len(text) == 1 else (10, 99)))
    return lambda rng: _like(text, rng)


def _counts(before: str, after: str) -> bool:
    """Whether a number of four digits is of things, "the 1200 shell companies", rather than a year."""
    if re.search(r"\b(?:in|since|by|until|till|from|of|during|before|after|around|about|to|and)\s$", before, re.I):
        return False
    # Two words at most: a unit, or a noun in the plural.
    nouns = re.match(rf"\s?{_UNITS}|\s(?:[a-z]+ )?(?P<plural>[a-z]*[^\Wsiu]s)\b", after)
    return nouns is not None and nouns["plural"] not in ("was", "has", "as", "does")


def _is_day(before: str, after: str) -> bool:
    return (
        re.search(rf"\b(?:{_MONTHS})\.? (?:the )?(?:\d{{1,2}}(?:[a-z]{{2}})?(?:[-–]| to | and ))?$", before) is not None
        or re.match(rf",? (?:of )?(?:{_MONTHS})\b", after) is not None
    )


def _time(text: str, after: str) -> Draw | None:
    hour, minute = text.split(":")
    if int(hour) > 23 or int(minute) > 59:
        return None
    of_twelve = re.match(r"\s?[ap]\.?m\b", after) is not None
    low, high = (1, 9) if len(hour) == 1 else (10, 12) if of_twelve else (10, 23)
    step = 5 if int(minute) % 5 == 0 else 1
    return lambda rng: f"{rng.randint(low, high)}:{rng.randrange(0, 60, step):02}"


def _decade(year: int) -> Draw:
    century = year - year % 100
    decades = range(century, min(century + 100, 2030), 10)
    # The 1900s and 2000s are centuries as well as decades.
    return lambda rng: str(rng.choice([decade for decade in decades if decade % 100]))


def _year(year: int, sentence: str, after: str) -> Draw | None:
    if re.match(r"[-–/]\d\d\b", after):
        return None  # the start of a season
    return other_year(year, sentence)


def other_year(year: int, sentence: str) -> Draw | None:
    """Draws a year near to one of a sentence, on the same side of all others there; None where there is no room."""
    others = [int(other) for other in re.findall(r"(?<![\d,.])(?:1[1-9]|20)\d\d(?![\d,]|\.\d)", sentence)]
    low = max([year - 40, *(other + 1 for other in others if other < year)])
    high = min([max(year, min(year + 40, 2025)), *(other - 1 for other in others if other > year)])
    return _between(low, high) if low < high else None


def _between(low: int, high: int) -> Draw:
    return lambda rng: str(rng.randint(low, high))


def _ordinal(low: int, high: int) -> Draw:
    def draw(rng: random.Random) -> str:
        number = rng.randint(low, high)
        teen = number % 100 in (11, 12, 13)
        return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"

    return draw


def _same_length(text: str) -> tuple[int, int]:
    return (2, 9) if len(text) == 1 else (10 ** (len(text) - 1), 10 ** len(text) - 1)


def _like(text: str, rng: random.Random) -> str:
    """Other digits; signs, a leading zero and the zeros of a round figure stay."""
    whole, point, decimals = text.partition(".")
    significant = len(whole.rstrip("0,")) or 1
    digits = []
    for place, sign in enumerate(whole):
        fixed = not sign.isdigit() or place >= significant or (place == 0 and sign == "0")
        low = 2 if len(whole) == 1 and not point else 1 if place in (0, significant - 1) else 0
        digits.append(sign if fixed else str(rng.randint(low, 9)))
    # A decimal that ended in 0 would be another's form.
    digits += [
        point,
        *(str(rng.randint(0, 9)) for _ in decimals[:-1]),
        *(str(rng.randint(1, 9)) for _ in decimals[-1:]),
    ]
    return "".join(digits)


# ---- words


def _choice(words: list[str]) -> Draw:
    return lambda rng: rng.choice(words)


def _number_word(match: re.Match[str]) -> Draw:
    old = match.group()
    if match["tens"]:
        sign = old[len(match["tens"])]
        # Ones from two on: "twenty-one" may be spoken of, "one" alone never is.
        return lambda rng: cased_like(f"{rng.choice(_TENS)}{sign}{rng.choice(_SMALL[:8])}", old)
    word = old.lower()
    words = _TEENS if word in _TEENS else _TENS if word in _TENS else _SMALL[:8] if word in _ONES else _SMALL
    return lambda rng: cased_like(rng.choice(words), old)
