"""Types and tokens by hand: words, pieces of a file, pieces of an encoder."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from xsent.config_checks import UsageError
from xsent.evaluation.noise.token_counts import TokenCounter, TokenCounts, count_summary


class Letters:
    """Encoder whose pieces are characters."""

    name = "letters"

    def to_pieces(self, sentences: Sequence[str]) -> list[list[str]]:
        return [list(sentence) for sentence in sentences]


def counted(
    sentences: list[str], encoder: object = None, *, pieces: str = "words", lower_case: bool = True
) -> TokenCounts:
    return TokenCounter(pieces=pieces, lower_case=lower_case)([sentences], encoder).of(sentences)


def test_words_are_counted_over_all_sentences() -> None:
    # the, cat, saw, dog: 4 of 8; with capitals also The: 5 of 8.
    text = ["The cat saw the dog", "the  dog saw"]
    assert counted(text) == (4, 8)
    assert counted(text).ratio == 50
    assert counted(text, lower_case=False) == (5, 8)
    assert counted(text, Letters()) == (4, 8)
    assert math.isnan(counted([" "]).ratio)


def test_pieces_of_the_teacher_are_those_of_its_tokenizer() -> None:
    text = ["Aba", "b"]
    counts = TokenCounter(pieces="teacher", lower_case=True)([text], Letters())
    assert (counts.of(text), counts.unit) == ((3, 4), "pieces of letters")  # A, b, a: the encoder decides on the case
    counts = TokenCounter(pieces="teacher", lower_case=True)([text], object())
    assert (counts.of(text), counts.unit) == ((2, 2), "words")  # no pieces of text


def test_pieces_of_a_file(fixtures_dir: Path) -> None:
    counter = TokenCounter(pieces=str(fixtures_dir / "laser2" / "laser2_tiny.spm"), lower_case=True)
    counter.check()
    once, four_times = ["something to read"], ["something to read"] * 4
    counts = counter([once, four_times], None)
    assert counts.of(four_times) == (counts.of(once).types, 4 * counts.of(once).tokens)
    assert counts.unit == "pieces of laser2_tiny"


def test_a_missing_model_another_file_and_another_word_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"evaluator\.pieces"):
        TokenCounter(pieces=str(tmp_path / "none.spm"), lower_case=True).check()
    (tmp_path / "a.spm").write_text("no model")
    with pytest.raises(ValueError, match="expected a SentencePiece model"):
        TokenCounter(pieces=str(tmp_path / "a.spm"), lower_case=True).check()
    with pytest.raises(UsageError, match=r"evaluator\.pieces=word: expected one of teacher, words, FILE\.spm"):
        TokenCounter(pieces="word", lower_case=True)


def test_counts_of_generations_are_averaged_and_ratios_tested_against_the_standard_text() -> None:
    # Ratios 10 and 30, standard 10 and 10: quotients 1 and 3. Pooled variance 100, t = 10 / sqrt(100) = 1.
    result = count_summary([TokenCounts(1, 10), TokenCounts(6, 20)], [TokenCounts(2, 20), TokenCounts(2, 20)])
    assert (result["ttr"], result["ttr_standard"], result["ttr_ratio"]) == (20, 10, 2)
    assert result["sd_ttr"] == pytest.approx(math.sqrt(200))
    assert result["p_ttr"] == pytest.approx(1 - 1 / math.sqrt(3))
    assert (result["types"], result["types_standard"], result["types_ratio"]) == (3.5, 2, 1.75)
    assert (result["tokens"], result["tokens_standard"], result["tokens_ratio"]) == (15, 20, 0.75)
    single = count_summary([TokenCounts(1, 10)], [TokenCounts(1, 5)])
    assert not [name for name in single if name.startswith(("p_", "sd_"))]
