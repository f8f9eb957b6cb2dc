import gzip
import time
from pathlib import Path

import pytest

from xsent.text.noise.tokenizer import split_pieces


# Cut by the blank English tokeniser of spaCy 3.8.
@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Mr. Smith's dog, 5pm (it's) cannot", "Mr.|Smith|'s|dog|,|5|pm|(|it|'s|)|can|not"),
        (
            "I can’t, dont, gonna, I'm, im, y'all, who'd've",
            "I|ca|n’t|,|do|nt|,|gon|na|,|I|'m|,|i|m|,|y'|all|,|who|'d|'ve",
        ),
        ("its ill were well e.g. U.S. A.S.A.P. etc.", "its|ill|were|well|e.g.|U.S.|A.S.A.P.|etc|."),
        ("well-known P/E R&D TL;DR and/or 5-year-old", "well|-|known|P|/|E|R&D|TL;DR|and/or|5|-|year|-|old"),
        ("$5 3.5% 1,000 10:30 2-3 100°C. no.", "$|5|3.5|%|1,000|10:30|2|-|3|100|°|C|.|no|."),
        ("…end end… “Quote” he said--no—yes wait...what", "…|end|end|…|“|Quote|”|he|said|--|no|—|yes|wait|...|what"),
        ("hi😀 x@y.com #tag DON'T", "hi|😀|x@y.com|#|tag|DON'T"),
    ],
)
def test_cuts_words_and_signs_as_spacy_does(sentence: str, expected: str) -> None:
    assert [piece.text for piece in split_pieces(sentence)] == expected.split("|")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("a  b", [("a", " "), (" ", ""), ("b", "")]),
        ("  a b ", [("  ", ""), ("a", " "), ("b", " ")]),
        ("a\tb", [("a", ""), ("\t", ""), ("b", "")]),
        (" ", [(" ", "")]),
        ("", []),
    ],
)
def test_white_space_beyond_one_blank_is_a_piece(sentence: str, expected: list[tuple[str, str]]) -> None:
    assert split_pieces(sentence) == expected


def test_pieces_and_their_blanks_are_the_sentence(shared_data: Path) -> None:
    with gzip.open(shared_data / "english" / "english.tsv.gz", "rt", encoding="utf-8", newline="\n") as lines:
        sentences = [line.split("\t")[0] for line, _ in zip(lines, range(2000), strict=False)]
    for sentence in [*sentences, "日本語の文。", "Ένα δύο", "👩‍👩‍👧!?", " \u3000\u00a0x\n"]:
        assert "".join(piece.text + piece.blank for piece in split_pieces(sentence)) == sentence


@pytest.mark.parametrize("run", ["a" + ")" * 10_000, "!" * 10_000, "." * 10_000, "_" * 5_000, "don't" * 5_000])
def test_a_long_run_without_blanks_takes_no_minutes(run: str) -> None:
    started = time.perf_counter()
    assert "".join(piece.text for piece in split_pieces(run)) == run
    assert time.perf_counter() - started < 10
