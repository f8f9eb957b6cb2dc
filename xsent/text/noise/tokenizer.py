"""English words and signs, cut as spaCy's rules cut them: the reference draws once, or looks up once, for each."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from xsent.text.words import sections


class Piece(NamedTuple):
    """A word, a part of a contraction, a sign, or white space beyond one blank; and the blank after it, if any."""

    text: str
    blank: str  # "" or " "


def pieces(sentence: str) -> list[Piece]:
    """The pieces of a sentence; their texts and blanks, joined, are the sentence again.

    A small set of rules after those of spaCy's English tokeniser (MIT): no list of emoticons or of rare abbreviations,
    so a sentence with ":-)" or "Minn." may be cut differently.
    """
    found: list[Piece] = []
    for run in _RUNS.findall(sentence):
        if run[0].isspace():
            if found and run[0] == " ":
                found[-1] = Piece(found[-1].text, " ")
                run = run[1:]
            if run:
                found.append(Piece(run, ""))
        else:
            found += [Piece(text, "") for text in _cut(run)]
    return found


def joined(texts: list[str], of: list[Piece]) -> str:
    """One text for each piece, set where the piece stood."""
    return "".join([text + piece.blank for text, piece in zip(texts, of, strict=True)])


@lru_cache(maxsize=1 << 16)  # most words of a text were seen before
def _cut(run: str) -> tuple[str, ...]:
    front: list[str] = []
    back: list[str] = []
    while run:
        if whole := _whole(run):
            return (*front, *whole, *reversed(back))
        if match := _PREFIX.match(run):
            front.append(match[0])
            run = run[match.end() :]
        # Only dots make a longer sign: a search through all of a long run, once for every sign, would take minutes.
        elif match := _SUFFIX.search(run, max(0, len(run.rstrip(".")) - _LONGEST_SUFFIX)):
            back.append(match[0])
            run = run[: match.start()]
        else:
            break
    return (*front, *_within(run), *reversed(back))


def _whole(run: str) -> tuple[str, ...]:
    """How a run is cut that no general rule may touch; nothing for any other run."""
    if run in _LISTS["whole"] or _INITIALS.fullmatch(run):
        return (run,)
    match = _NEGATION.fullmatch(run) or _PRONOUN.fullmatch(run) or _FUSED.fullmatch(run)
    if match and run.lower() not in _LISTS["no contractions"]:
        return tuple(part for part in match.groups() if part)
    return (run,) if _ADDRESS.fullmatch(run) else ()


def _within(run: str) -> list[str]:
    return [part for part in _INFIX.split(run) if part] if run else []


_RUNS = re.compile(r"\s+|\S+")

# Upper case is A-Z and its Latin-1 neighbours here, lower case every other letter: `re` knows no classes of case.
_LETTER = r"[^\W\d_]"
_LOWER = r"[^\W\d_A-ZÀ-ÖØ-Þ]"
_QUOTES = "'\"”“`‘´’‚„»«「」『』（）〔〕【】《》〈〉"
_MARKS = r"…,:;!?¿؟¡()\[\]{}<>_#*&。？！，、；：～·।،۔؛٪"
_CURRENCY = "$£€¥฿₽₹₩₴"
_ICONS = "\u00a6\u00a9\u00ae\u00b0\u2190-\u2bff\u3000-\u3004\U0001f000-\U0001faff"
_UNITS = (
    "km²|km³|km|m²|m³|dm|cm|mm|nm|µm|ha|ft|kg|mg|µg|mph|kph|hPa|Pa|mbar|mb|MB|kb|KB|gb|GB|tb|TB|"
    "kcal|cal|am|pm|a.m.|p.m.|AM|PM|m|g|G|M|K|%"
)
_LONGEST_SUFFIX = 4  # "kcal", "a.m."
_PREFIX = re.compile(rf"\.\.+|\+(?!\d)|[§%=—–{_MARKS}{_QUOTES}{_CURRENCY}{_ICONS}]")
_SUFFIX = re.compile(
    rf"(?:\.\.+|['’][sS]|[—–{_MARKS}{_QUOTES}{_ICONS}]|(?<=\d)\+|(?<=\d)[{_CURRENCY}]|(?<=\d)(?:{_UNITS})"
    rf"|(?<=[%²+\-\d{_MARKS}{_QUOTES}])\.|(?<={_LOWER})\.|(?<=°[FfCcKk])\.|(?<=[A-Z][A-Z])\.)$"
)
_INFIX = re.compile(
    rf"(\.\.+|…|[{_ICONS}]|(?<=\d)[-+*^](?=[\d-])|(?:(?<={_LOWER})|(?<=[{_QUOTES}]))\.(?=[A-ZÀ-ÖØ-Þ{_QUOTES}])"
    rf"|(?<={_LETTER}),(?={_LETTER})|(?<=[^\W_])(?:---|--|——|[-–—~])(?={_LETTER})|(?<=[^\W_])[:<>=/](?={_LETTER}))"
)
# "don't" is "do" and "n't"; so is "dont", and "I'm" and "im" are cut alike.
_NEGATION = re.compile(
    r"([DdWw]o|[Dd]id|[Dd]oes|[Ii]s|[Aa]re|[Ww]as|[Ww]ere|[Hh]as|[Hh]ave|[Hh]ad|[CcWwSs]hould|[CcWw]ould|[Mm]ight"
    r"|[Mm]ust|[Nn]eed|[Dd]are|[Oo]ught|[Ss]ha|[Cc]a|[Aa]i|[Mm]ay)(n['’]?t)(['’]?ve)?"
)
_PRONOUN = re.compile(
    r"([Ii]|[Yy]ou|[Hh]e|[Ss]he|[Ii]t|[Ww]e|[Tt]hey|[Tt]h(?:at|is|ese|ose|ere)|[Hh]ow|[Ww]h(?:at|en|ere|o(?!re)|y)"
    r")(['’]?(?:ll|re|ve|d|s))(['’]?ve)?"
)
_FUSED = re.compile(
    r"([Ii])(['’]?m)|([CcWw]ould|[Ss]hould|[Mm]ight|[Mm]ust)(['’]?ve)"
    r"|([Cc]an)(not)|([Gg]on)(na)|([Gg]ot)(ta)|([Yy]['’])(all)|(y)(all)"
)
_LISTS = {section: frozenset(words) for section, words in sections("tokenizer").items()}
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+[A-Z]\.?|[a-zäöü]\.")
_ADDRESS = re.compile(
    r"(?:https?://|ftp://|www\.)\S*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:[\w-]+\.)+(?:com|org|net|edu|gov|io|uk|de|fr)"
)
