"""Replacement of numbers in English sentences by others of the same form."""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from xsent.text.english.tokens import match_case, replace_span, starts_sentence
from xsent.text.word_lists import load_sections

Sampler = Callable[[random.Random], str]


class Number(NamedTuple):
    """A number in a sentence, and a sampler of others of its form."""

    start: int
    end: int
    sample: Sampler

    def draw(self, sentence: str, count: int, rng: random.Random) -> list[str]:
        """Different numbers from ``8 * count`` draws, as draws from small ranges repeat."""
        old = sentence[self.start : self.end].lower()
        return [new for new in dict.fromkeys(self.sample(rng) for _ in range(8 * count)) if new.lower() != old]


_UNITS = r"(?:[kKMGT]?[BbW]|[kMG]?Hz|Ghz|[kcm]?m|kg|mg|g|ml|l|ft|mi|lb|lbs|kph|km/h|mph|kcal|MP|px|am|pm|bn)\b"
# No part of a code (39C, U-235, 802.11n), date, fraction or address (9/11, 1/2, #7, 10.0.0.1).
_DIGITS = re.compile(
    r"(?<![\w./:+#])(?<![^\W\d]-)(?<!\d,)"
    r"(?:(?P<time>\d{1,2}:\d{2})|(?P<decade>1[5-9]\d0|20[012]0)(?='?s\b)"
    r"|(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?P<ordinal>st|nd|rd|th)?)"
    rf"(?:(?!\w|[/:]|[.,]\d|-[A-Z]\b)|(?={_UNITS})|(?='?s\b))"
)
_LISTS = {section: list(words) for section, words in load_sections("numbers").items()}
_SMALL, _TEENS, _TENS, _ORDINALS = (_LISTS[section] for section in ("two to twelve", "teens", "tens", "ordinals"))
_UNIT_WORDS = ["one", *_SMALL[:8]]
_WORDS = ["zero", "one", *_SMALL, *_TEENS, *_TENS]  # ascending
_NOT_ORDINAL_BEFORE = {*_UNIT_WORDS, *_SMALL, *_TENS, *_LISTS["no ordinal before"]}
_MONTHS = "|".join(load_sections("names")["month"])
_SCALES = r"hundred|thousand|million|billion|trillion|dozen"
# "Between three and six", "from 8 to 100", "four to six", "100-200".
_RANGE = re.compile(r"(?:\b(?<=between )([\w,.]+) and|([\w,.]+)(?: (?:to|or)|(?<=\d)[-–](?=\d)))\s?([\w,.]*\w)")
_NUMBER_WORD = re.compile(
    rf"(?<![\w'’-])(?:(?P<tens>{'|'.join(_TENS)})[- ](?P<ones>{'|'.join(_UNIT_WORDS)})\b"
    rf"|(?P<word>{'|'.join(_SMALL + _TEENS + _TENS)})\b|(?P<one>one)(?=[- ](?:{_SCALES})\b))"
    r"(?!['’]|-(?:thirds?|quarters?|fifths?|tenths?|eighths?|half|halves|fold|something)\b)",
    re.IGNORECASE,
)
_ORDINAL_WORD = re.compile(
    rf"\b(?:[Tt]he|his|her|its|our|their) (?P<word>first|{'|'.join(_ORDINALS)})(?= (?P<next>[a-z]+)\b)"
)


def replace_numbers(sentence: str, *, per_number: int, rng: random.Random) -> list[str]:
    """Sentences with one number replaced, up to ``per_number`` for each number.

    The form stays: thousands separators, decimals, round figures, ordinals, times, days of a month, percentages up
    to 100, number words. Years stay close and in order with the other years; ranges ("between three and six") stay
    ascending. A lone "one", 0 and 1 stay and are never drawn, so that nouns keep their grammatical number.
    """
    variants: list[str] = []
    for number in _numbers(sentence):
        new_numbers = number.draw(sentence, per_number, rng)
        texts = [replace_span(sentence, number.start, number.end, new) for new in new_numbers]
        valid = [text for text in texts if _has_valid_ranges(text) or not _has_valid_ranges(sentence)]
        variants += valid[:per_number]
    return variants


def _has_valid_ranges(sentence: str) -> bool:
    for match in _RANGE.finditer(sentence):
        low, high = _value(match[1] or match[2]), _value(match[3])
        if low is not None and high is not None and low >= high:
            return False
    return True


def _value(number: str) -> float | None:
    word = number.lower()
    if word in _WORDS:
        return _WORDS.index(word)
    digits = word.replace(",", "")
    return float(digits) if re.fullmatch(r"\d+(?:\.\d+)?", digits) else None


def _numbers(sentence: str) -> Iterator[Number]:
    for match in _DIGITS.finditer(sentence):
        if sample := _digit_sampler(sentence, match):
            yield Number(*match.span(), sample)
    for match in _NUMBER_WORD.finditer(sentence):
        # "Group of Seven" and "Page Two" are names.
        if match.group().islower() or starts_sentence(sentence, match.start()):
            yield Number(*match.span(), _number_word_sampler(match))
    for match in _ORDINAL_WORD.finditer(sentence):
        if match["next"] in _NOT_ORDINAL_BEFORE or (match["word"] == "first" and match["next"].endswith("s")):
            continue
        yield Number(*match.span("word"), choice_sampler(_ORDINALS if match["word"] != "twelfth" else _ORDINALS[:-1]))


def _digit_sampler(sentence: str, match: re.Match[str]) -> Sampler | None:
    before, after = sentence[: match.start()], sentence[match.end() :]
    if match["time"]:
        latest = 12 if re.match(r"\s?[ap]\.?m\b", after) else 23
        return time_sampler(match["time"], (1, 9) if match["time"][1] == ":" else (10, latest))
    if match["decade"]:
        century = int(match["decade"]) // 100 * 100
        # The 1900s and 2000s may also be centuries.
        return integer_sampler(century + 10, min(century + 90, 2020), 10)
    text = match["number"]
    if match["ordinal"]:
        if _is_day(before, after):
            return _ordinal_sampler(2, 28)
        is_century = re.match(r"[\s-]+centur", after)
        return _ordinal_sampler(2, 20) if is_century else _ordinal_sampler(*_range_of_length(text))
    if text in ("0", "1"):
        return None
    if re.fullmatch(r"\d{4}", text):
        if re.match(r"\s*(?:UTC|GMT|hours)\b", after) and int(text[:2]) < 24 and int(text[2:]) < 60:
            return lambda rng: f"{rng.randrange(24):02}{rng.randrange(60):02}"
        if 1100 <= int(text) <= 2099 and not _is_quantity(before, after):
            is_season_start = re.match(r"[-–/]\d\d\b", after)
            return None if is_season_start else year_sampler(int(text), sentence)
    if re.search(r"\d{4}[-–]$", before) and len(text) == 2:
        return None  # the end of a season, 1995-96
    if len(text) <= 2 and _is_day(before, after):
        return integer_sampler(2, 28)
    if re.match(r"\s?(?:%|percent\b|per cent\b)", after) and text.isdigit() and int(text) <= 100:
        return integer_sampler(2, 9) if len(text) == 1 else integer_sampler(10, 99)
    integer, point, decimals = text.partition(".")
    return digits_sampler(integer, point + decimals, is_plural=False)


def _is_quantity(before: str, after: str) -> bool:
    """Whether a number of four digits counts things, as in "the 1200 shell companies", and is not a year."""
    if re.search(r"\b(?:in|since|by|until|till|from|of|during|before|after|around|about|to|and)\s$", before, re.I):
        return False
    # A unit, or a plural noun at most two words away.
    nouns = re.match(rf"\s?{_UNITS}|\s(?:[a-z]+ )?(?P<plural>[a-z]*[^\Wsiu]s)\b", after)
    return nouns is not None and nouns["plural"] not in ("was", "has", "as", "does")


def _is_day(before: str, after: str) -> bool:
    return (
        re.search(rf"\b(?:{_MONTHS})\.? (?:the )?(?:\d{{1,2}}(?:[a-z]{{2}})?(?:[-–]| to | and ))?$", before) is not None
        or re.match(rf",? (?:of )?(?:{_MONTHS})\b", after) is not None
    )


def time_sampler(text: str, hours: tuple[int, int]) -> Sampler | None:
    """Sampler of times such as "9:30"; five-minute steps if ``text`` has one; None if it is no time."""
    hour, minute = map(int, text.split(":"))
    if hour > 23 or minute > 59:
        return None
    step = 5 if minute % 5 == 0 else 1
    return lambda rng: f"{rng.randint(*hours)}:{rng.randrange(0, 60, step):02}"


def year_sampler(year: int, sentence: str) -> Sampler | None:
    """Sampler of years close to ``year`` that keep the order of all years in the sentence; None if there are none."""
    years = [int(number) for number in re.findall(r"(?<![\d,.])(?:1[1-9]|20)\d\d(?![\d,]|\.\d)", sentence)]
    low = max([year - 40, *(earlier + 1 for earlier in years if earlier < year)])
    high = min([max(year, min(year + 40, 2025)), *(later - 1 for later in years if later > year)])
    return integer_sampler(low, high) if low < high else None


def integer_sampler(low: int, high: int, step: int = 1) -> Sampler:
    return lambda rng: str(rng.randrange(low, high + 1, step))


def choice_sampler(words: Sequence[str]) -> Sampler:
    return lambda rng: rng.choice(words)


def _ordinal_sampler(low: int, high: int) -> Sampler:
    def sample(rng: random.Random) -> str:
        number = rng.randint(low, high)
        is_teen = number % 100 in (11, 12, 13)
        return f"{number}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"

    return sample


def _range_of_length(text: str) -> tuple[int, int]:
    return (2, 9) if len(text) == 1 else (10 ** (len(text) - 1), 10 ** len(text) - 1)


def digits_sampler(integer: str, fraction: str, *, is_plural: bool) -> Sampler:
    """Sampler of random digits; signs, a leading zero and the zeros of a round figure stay.

    Args:
        integer: the integer part, with separators of thousands.
        fraction: the decimal sign and the decimals, or empty.
        is_plural: an integer part of 0 or 1 stays, and no other becomes 1, because a noun agrees with it.
    """
    significant = len(re.sub(r"\D?0*(?:\D0+)*$", "", integer)) or 1
    is_constant = is_plural and integer in ("0", "1")
    lowest = 2 if len(integer) == 1 and (is_plural or not fraction) else 1

    def sample(rng: random.Random) -> str:
        digits = []
        for position, sign in enumerate(integer):
            is_fixed = not sign.isdigit() or position >= significant or (position == 0 and sign == "0") or is_constant
            low = lowest if position in (0, significant - 1) else 0
            digits.append(sign if is_fixed else str(rng.randint(low, 9)))
        # No final 0: it would shorten the decimals.
        lows = [0] * (len(fraction) - 2) + [1] if fraction else []
        return "".join([*digits, fraction[:1], *(str(rng.randint(low, 9)) for low in lows)])

    return sample


def _number_word_sampler(match: re.Match[str]) -> Sampler:
    old = match.group()
    if match["tens"]:
        sign = old[len(match["tens"])]
        # Units from two on: with "one" the noun could change its number.
        return lambda rng: match_case(f"{rng.choice(_TENS)}{sign}{rng.choice(_SMALL[:8])}", old)
    word = old.lower()
    words = _TEENS if word in _TEENS else _TENS if word in _TENS else _SMALL[:8] if word in _UNIT_WORDS else _SMALL
    return lambda rng: match_case(rng.choice(words), old)
