"""English tokenizer after spaCy's rules; the reference implementation draws or looks up once per spaCy token."""

import re
from functools import lru_cache
from typing import NamedTuple

from xsent.text.word_lists import load_word_sets


class Piece(NamedTuple):
    """A word, part of a contraction, sign, or white space beyond one blank; and the blank after it, if any."""

    text: str
    blank: str  # "" or " "


def split_pieces(sentence: str) -> list[Piece]:
    """Tokenize a sentence; the texts and blanks of its pieces join to the sentence again.

    A small subset of the rules of spaCy's English tokenizer (MIT), without emoticons and rare abbreviations: a
    sentence with ":-)" or "Minn." may be split differently.
    """
    pieces: list[Piece] = []
    for run in _RUNS.findall(sentence):
        if run[0].isspace():
            if pieces and run[0] == " ":
                pieces[-1] = Piece(pieces[-1].text, " ")
                run = run[1:]
            if run:
                pieces.append(Piece(run, ""))
        else:
            pieces += [Piece(text, "") for text in _split_run(run)]
    return pieces


def join_pieces(texts: list[str], pieces: list[Piece]) -> str:
    """Join new texts with the blanks of the pieces they replace."""
    return "".join([text + piece.blank for text, piece in zip(texts, pieces, strict=True)])


@lru_cache(maxsize=1 << 16)  # most words of a corpus repeat
def _split_run(run: str) -> tuple[str, ...]:
    prefixes: list[str] = []
    suffixes: list[str] = []
    while run:
        if parts := _split_special(run):
            return (*prefixes, *parts, *reversed(suffixes))
        if match := _PREFIX.match(run):
            prefixes.append(match[0])
            run = run[match.end() :]
        # Only dots make a longer suffix: searching all of a long run once per sign would take minutes.
        elif match := _SUFFIX.search(run, max(0, len(run.rstrip(".")) - _LONGEST_SUFFIX)):
            suffixes.append(match[0])
            run = run[: match.start()]
        else:
            break
    return (*prefixes, *(part for part in _INFIX.split(run) if part), *reversed(suffixes))


def _split_special(run: str) -> tuple[str, ...]:
    """Parts of a run that is exempt from the general rules; empty for all others."""
    if run in _WORDS["whole"] or _INITIALS.fullmatch(run):
        return (run,)
    match = _NEGATION.fullmatch(run) or _PRONOUN.fullmatch(run) or _FUSED.fullmatch(run)
    if match and run.lower() not in _WORDS["no contractions"]:
        return tuple(part for part in match.groups() if part)
    return (run,) if _ADDRESS.fullmatch(run) else ()


_RUNS = re.compile(r"\s+|\S+")

# `re` has no classes of case: upper case is A-Z and its Latin-1 neighbours, lower case every other letter.
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
# "don't" is "do" + "n't", "I'm" is "I" + "'m"; likewise "dont" and "im".
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
_WORDS = load_word_sets("tokenizer")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+[A-Z]\.?|[a-zäöü]\.")
_ADDRESS = re.compile(
    r"(?:https?://|ftp://|www\.)\S*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:[\w-]+\.)+(?:com|org|net|edu|gov|io|uk|de|fr)"
)
