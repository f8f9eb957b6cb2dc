import logging
from itertools import islice
from pathlib import Path

import pytest

from xsent.text.annotation.moses_tokenizer import moses_words

pytest.importorskip("sacremoses", reason="pip install 'xsent[divergence]'")


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("“Don’t” – she said…", "eng", ('"', "Don", "'t", '"', "-", "she", "said", "...")),  # first to ASCII
        ("M. Dupont dort.", "fra", ("M.", "Dupont", "dort", ".")),  # only an abbreviation keeps its dot
        ("A&B <b> | [x] d'y", "eng", ("A", "&", "B", "<", "b", ">", "|", "[", "x", "]", "d", "'y")),  # not for HTML
        ("cafe\u0301 noir", "fra", ("café", "noir")),  # an accent that stands apart
        ("one\ttwo\u2028three\u200b fo\u00adur", "eng", ("one", "two", "three", "four")),  # invisible characters
        *((text, "fra", ()) for text in ("", "  ", "\u00a0", "\u200b\n")),
    ],
)
def test_sentences_are_normalised_and_tokenized(text: str, language: str, words: tuple[str, ...]) -> None:
    assert moses_words(text, language) == words


def test_each_language_has_its_own_rules() -> None:
    # An apostrophe belongs to the word before it in French and to the one after it in English.
    assert moses_words("l’eau", "fra") == ("l'", "eau")
    assert moses_words("l’eau", "eng") == ("l", "'eau")
    # So does the sign between thousands: Moses writes what it takes for the one of the language.
    assert moses_words("1\u00a0000 km", "fra") == ("1,000", "km")
    assert moses_words("1\u00a0000 km", "eng") == ("1.000", "km")


def test_no_word_is_empty_or_has_white_space_inside_whatever_the_sign() -> None:
    signs = [chr(code) for code in range(0x3100) if not 0xD800 <= code < 0xE000]
    for language in ("eng", "fra"):
        words = moses_words(" ".join(f"a{sign}b {sign}" for sign in signs), language)
        assert all(word.split() == [word] for word in words)


def test_an_unknown_language_uses_the_common_rules_and_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert moses_words("xin chào, bạn", "vie") == ("xin", "chào", ",", "bạn")
        moses_words("chào", "vie")
        moses_words("bonjour", "fra")
    assert [record.getMessage() for record in caplog.records] == [
        "language vie: Moses has no rules for it; the language-independent ones apply"
    ]


@pytest.mark.parametrize(("file", "language"), [("seeds.en.conllu", "eng"), ("seeds.fr.conllu", "fra")])
def test_tokens_equal_those_of_the_shared_seeds(shared_data: Path, file: str, language: str) -> None:
    path = shared_data / "seeds" / file
    if not path.is_file():
        pytest.skip(f"no {path}")
    sentences = list(islice(path.read_text(encoding="utf-8").split("\n\n"), 500))
    for lines in (sentence.split("\n") for sentence in sentences):
        text = next(line.removeprefix("# text = ") for line in lines if line.startswith("# text"))
        assert moses_words(text, language) == tuple(line.split("\t")[1] for line in lines if not line.startswith("#"))
