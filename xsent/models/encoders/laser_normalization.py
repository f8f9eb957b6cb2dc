"""Text normalisation of LASER: Moses punctuation rules and lower case."""

import re
import unicodedata

# Moses' punctuation normalisation for English as LASER applies it: (pattern, replacement), in this order.
# The quirks (``’`` between letters other than a-z becomes a double quote; "1 000" becomes "1.000") must stay:
# the published encoder was trained on such text.
_RULES = [
    # spaces around brackets and punctuation
    (r"\r", ""),
    (r"\(", " ("),
    (r"\)", ") "),
    (r" +", " "),
    (r"\) ([.!:?;,])", r")\1"),
    (r"\( ", "("),
    (r" \)", ")"),
    (r"(\d) %", r"\1%"),
    (r" :", ":"),
    (r" ;", ";"),
    # quotes, dashes
    (r"`", "'"),
    (r"''", ' " '),
    (r"[„“”]", '"'),
    (r"–", "-"),
    (r"—", " - "),
    (r" +", " "),
    (r"´", "'"),
    (r"([a-zA-Z])[‘’]([a-zA-Z])", r"\1'\2"),
    (r"[‘‚’]", '"'),
    (r"''", '"'),
    (r"…", "..."),
    # French quotes and no-break spaces
    (r"\u00a0?«\u00a0?", '"'),
    (r"\u00a0?»\u00a0?", '"'),
    (r"\u00a0([%:?!;])", r"\1"),
    (r"nº\u00a0", "nº "),
    (r"\u00a0(ºC|cm)", r" \1"),
    (r",\u00a0", ", "),
    (r" +", " "),
    # "quotation", -> "quotation,"
    (r'"([,.]+)', r'\1"'),
    (r"(\d)[ \u00a0](\d)", r"\1.\2"),
]
RULES = [(re.compile(pattern), replacement) for pattern, replacement in _RULES]


class _NonPrinting(dict[int, int]):
    """For ``str.translate``: maps characters of the Unicode categories C* to a space."""

    def __missing__(self, code: int) -> int:
        self[code] = ord(" ") if unicodedata.category(chr(code)).startswith("C") else code
        return self[code]


_NON_PRINTING = _NonPrinting()


def normalize_laser(text: str) -> str:
    """Replace non-printing characters by spaces, normalise punctuation as Moses, lower-case.

    Source:
        LASER's ``remove-non-printing-char.perl | normalize-punctuation.perl -l en | lower case``, without
        unescaping of entities.
    """
    text = text.translate(_NON_PRINTING)
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text.strip().lower()
