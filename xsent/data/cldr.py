"""Emoji names in the 14 languages of the ``emoji`` package: a small real bitext without a download.

The names are Unicode CLDR's short names (Unicode licence), shipped by the package.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata

import emoji

from xsent.data.readers import SentencePair
from xsent.data.rejects import RejectLedger
from xsent.languages import to_iso639_3

SKIN_TONES = range(0x1F3FB, 0x1F3FF + 1)


def read_cldr(ledger: RejectLedger, root: str | None) -> Iterator[SentencePair]:
    """The English name of each emoji with its name in each other language.

    Emoji with a skin tone are left out, their names say little else; so are spellings of an emoji that
    is there in full. ``root`` has no meaning here. Line numbers count the package's emoji.

    Raises:
        ValueError: ``root`` is given.
    """
    if root is not None:
        raise ValueError(f"data.root={root}: the emoji names come with a package; expected null")
    emoji.config.load_language()
    name = f"emoji {metadata.version('emoji')}"
    fully_qualified = emoji.STATUS["fully_qualified"]
    for number, (symbol, entry) in enumerate(emoji.EMOJI_DATA.items(), start=1):
        if entry["status"] != fully_qualified or any(ord(char) in SKIN_TONES for char in symbol):
            continue
        source = _words(entry["en"])
        for code in emoji.LANGUAGES:
            target_lang = to_iso639_3(code)
            if code != "en" and code in entry:
                yield SentencePair(source, _words(entry[code]), "eng", target_lang, "cldr", name, number)


def _words(name: str) -> str:
    return name.strip(":").replace("_", " ")
