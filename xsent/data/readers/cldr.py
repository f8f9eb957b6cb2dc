"""Emoji names in the languages of the ``emoji`` package: a small bitext without a download.

The names are Unicode CLDR's short names (Unicode licence), shipped by the package.
"""

from collections.abc import Iterator
from importlib import metadata

import emoji

from xsent.data.readers.parallel import SentencePair
from xsent.data.readers.rejects import RejectLedger
from xsent.languages import to_iso639_3

SKIN_TONES = range(0x1F3FB, 0x1F3FF + 1)


def read_cldr(ledger: RejectLedger, root: str | None) -> Iterator[SentencePair]:
    """Pair the English name of each emoji with its name in each other language.

    Emoji with a skin tone are left out, because their names differ by the tone alone, and so are incomplete
    spellings of an emoji. Line numbers count the package's emoji, of which a limited ledger reads the first.

    Raises:
        ValueError: ``root`` is not None.
    """
    if root is not None:
        raise ValueError(f"data.root={root}: the emoji names come with a package; expected null")
    emoji.config.load_language()
    name = f"emoji {metadata.version('emoji')}"
    fully_qualified = emoji.STATUS["fully_qualified"]
    for number, (symbol, entry) in enumerate(ledger.limited(emoji.EMOJI_DATA.items()), start=1):
        if entry["status"] != fully_qualified or any(ord(char) in SKIN_TONES for char in symbol):
            continue
        source = _words(entry["en"])
        for code in emoji.LANGUAGES:
            if code != "en" and code in entry:
                yield SentencePair(source, _words(entry[code]), "eng", to_iso639_3(code), "cldr", name, number)


def _words(name: str) -> str:
    return name.strip(":").replace("_", " ")
