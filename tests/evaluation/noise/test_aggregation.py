"""The t-test of two samples of scores, and type-token ratios."""

import math
from pathlib import Path

import pytest

from xsent.evaluation.noise.aggregation import TypeTokenRatio, ratio_summary, two_sample_p

# ---- t-test


def test_a_textbook_case_of_two_samples_of_six() -> None:
    # Weights of screws from two factories, the usual example of Student's test: t = 1.959, 10 degrees of freedom.
    a = [30.02, 29.99, 30.11, 29.97, 30.01, 29.99]
    b = [29.89, 29.93, 29.72, 29.98, 30.02, 29.98]
    assert two_sample_p(a, b) == pytest.approx(0.07857, abs=1e-5)


def test_two_samples_of_two_by_hand() -> None:
    # Means 0.5 and 2.5, pooled variance 0.5: t = -2 / sqrt(0.5) with 2 degrees of freedom, and there
    # p = 1 - |t| / sqrt(t^2 + 2) = 1 - sqrt(8 / 10).
    assert two_sample_p([0, 1], [2, 3]) == pytest.approx(1 - math.sqrt(0.8))
    assert two_sample_p([2, 3], [0, 1]) == two_sample_p([0, 1], [2, 3])


def test_constant_samples_have_p_1_if_equal_and_otherwise_0() -> None:
    assert two_sample_p([0.3] * 10, [0.3] * 10) == 1
    assert two_sample_p([0.3] * 10, [0.3 + 1e-15] * 10) == 1  # rounding
    assert two_sample_p([0.3] * 10, [0.4] * 10) == 0


def test_one_sample_may_be_constant() -> None:
    # Means 1 and 0, pooled variance 1: t = 1 with 2 degrees of freedom.
    assert two_sample_p([1 - 1, 1 + 1], [0, 0]) == pytest.approx(1 - 1 / math.sqrt(3))


def test_a_single_score_has_p_nan() -> None:
    assert math.isnan(two_sample_p([1], [2, 3]))


# ---- type-token ratio


def test_the_ratio_counts_words_over_all_sentences() -> None:
    # the, cat, saw, dog: 4 of 8.
    words = TypeTokenRatio(pieces=None, lower_case=True)
    assert words(["The cat saw the dog", "the  dog saw"]) == 50
    assert TypeTokenRatio(pieces=None, lower_case=False)(["The cat saw the dog", "the dog saw"]) == 62.5
    assert math.isnan(words([" "]))
    assert words.unit == "words"


def test_the_ratio_counts_the_pieces_of_a_model(fixtures_dir: Path) -> None:
    pieces = TypeTokenRatio(pieces=str(fixtures_dir / "laser2" / "laser2_tiny.spm"), lower_case=True)
    pieces.check()
    once = pieces(["something to read"])
    assert pieces(["something to read"] * 4) == pytest.approx(once / 4)  # the same types, four times the tokens
    assert pieces.unit == "pieces of laser2_tiny.spm"


def test_a_missing_model_and_another_file_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"evaluator\.pieces"):
        TypeTokenRatio(pieces=str(tmp_path / "none.spm"), lower_case=True).check()
    (tmp_path / "a.spm").write_text("no model")
    with pytest.raises(ValueError, match="expected a SentencePiece model"):
        TypeTokenRatio(pieces=str(tmp_path / "a.spm"), lower_case=True).check()


def test_ratios_of_generations_are_averaged_and_tested_against_the_standard_text() -> None:
    # Noisy 10 and 30, standard 10 and 10: ratios 1 and 3. Pooled variance 100, t = 10 / sqrt(100) = 1.
    result = ratio_summary([10, 30], [10, 10])
    assert (result["ttr"], result["ttr_standard"], result["ttr_ratio"]) == (20, 10, 2)
    assert result["sd_ttr"] == pytest.approx(math.sqrt(200))
    assert result["p_ttr"] == pytest.approx(1 - 1 / math.sqrt(3))
    assert set(ratio_summary([10], [20])) == {"ttr", "ttr_standard", "ttr_ratio"}
