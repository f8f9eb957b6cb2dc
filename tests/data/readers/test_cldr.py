import emoji

from xsent.data.readers.cldr import read_cldr
from xsent.data.readers.parallel import SentencePair
from xsent.data.readers.rejects import RejectLedger


def pairs() -> list[SentencePair]:
    return list(read_cldr(RejectLedger(strict=True), None))


def test_there_are_fourteen_languages_and_english_is_always_the_source() -> None:
    names = pairs()
    assert {pair.source_lang for pair in names} == {"eng"}
    targets = {"ara", "deu", "fas", "fra", "ind", "ita", "jpn", "kor", "por", "rus", "spa", "tur", "zho"}
    assert {pair.target_lang for pair in names} == targets


def test_names_read_as_words() -> None:
    names = {(pair.source, pair.target_lang): pair.target for pair in pairs()}
    # https://unicode.org/emoji/charts, U+1F600 in English and German
    assert names["grinning face", "deu"] == "grinsendes gesicht"
    assert not any(":" in f"{source[0]}{source[-1]}" or "_" in source for source, _ in names)


def test_skin_tones_are_dropped_and_their_bare_emoji_stay() -> None:
    sources = {pair.source for pair in pairs()}
    assert not any("skin tone" in source for source in sources)
    assert "thumbs up" in sources


def test_the_module_says_line_and_package_of_each_pair() -> None:
    pair = pairs()[0]
    symbol = list(emoji.EMOJI_DATA)[pair.line - 1]
    assert emoji.EMOJI_DATA[symbol]["en"].strip(":").replace("_", " ") == pair.source
    assert pair.file.startswith("emoji ")
