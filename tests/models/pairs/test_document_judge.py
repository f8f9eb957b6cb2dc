"""Document judge: divergence of words by the probability that they have no counterpart."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from xsent.batch import WordPair
from xsent.models.alignment.document_aligner import AlignedSide
from xsent.models.pairs.document_judge import DocumentJudge


class Letters:
    """A word's vector is the place of its first letter in the alphabet; other words are unknown."""

    def encode(self, words: Sequence[str], *, normalize: bool) -> Tensor:
        assert normalize
        letters = [ord(word[0].lower()) - ord("a") for word in words]
        return torch.stack([torch.eye(26)[n] if 0 <= n < 26 else torch.zeros(26) for n in letters])

    def digest(self) -> str:
        return "letters"


class Unmatched:
    """Gives every word of either document the same probability, in the order of the words."""

    def __init__(self, source: list[float], target: list[float]) -> None:
        self.sides = [AlignedSide(np.array(side, np.float32), np.zeros(len(side), int)) for side in (source, target)]

    def align(self, source: np.ndarray, target: np.ndarray) -> list[AlignedSide]:
        return self.sides


def judge(aligner: Any, **changes: Any) -> DocumentJudge:
    encoder: Any = Letters()
    return DocumentJudge(encoder, "letters", aligner, **{"threshold": 0.7, "word_threshold": 0.8, **changes})


def test_the_threshold_of_words_becomes_one_half_and_the_score_is_the_mean_of_what_can_differ() -> None:
    # 0.4 is half of 0.8, and 0.9 half of the way from 0.8 to 1. The full stop and the unknown word 7 do not count:
    # the score is 1 - (0.4 + 0.8 + 0.9 + 0.1) / 4.
    pair = WordPair(("a", ".", "b"), ("c", "7", "d"))
    (judged,) = judge(Unmatched([0.4, 0.9, 0.8], [0.9, 0.9, 0.1])).judge([pair])
    assert judged.score == pytest.approx(0.45)
    assert judged.source is not None
    assert judged.target is not None
    np.testing.assert_allclose(judged.source, [0.25, 0, 0.5], rtol=1e-6)
    np.testing.assert_allclose(judged.target, [0.75, 0, 0.0625], rtol=1e-6)


def test_documents_without_a_known_word_are_equivalent() -> None:
    (judged,) = judge(Unmatched([0.9], [0.9])).judge([WordPair((".",), ("!",))])
    assert judged.score == 1


def test_the_digest_tells_what_the_judgements_depend_on() -> None:
    digests = {
        judge("one aligner").digest(),
        judge("another").digest(),
        judge("one aligner", word_threshold=0.5).digest(),
    }
    assert len(digests) == 3
    assert judge("one aligner").digest() == judge("one aligner", threshold=0.1).digest()


def test_a_threshold_that_is_no_probability_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^word_threshold=1\.5: expected a probability between 0 and 1$"):
        judge(None, word_threshold=1.5)
