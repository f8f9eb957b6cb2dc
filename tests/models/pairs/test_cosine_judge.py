"""Similarity as a pair judge: hand-computed scores and tags."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from xsent.batch import WordPair
from xsent.models.pairs.cosine_judge import CosineJudge
from xsent.similarity import unit

VECTORS: dict[str, list[float]] = {
    "cat": [1.0, 0.0],
    "chat": [2, 0],
    "red": [0, 1],
    "bleu": [0.6, 0.8],
    ",": [-1, 0],
    "zzz": [0, 0],
}


class AverageEncoder:
    """The sum of the vectors of the words."""

    def encode(self, sentences: Sequence[str], *, normalize: bool) -> Tensor:
        assert normalize
        rows = torch.tensor([np.sum([VECTORS[word] for word in text.split()], axis=0).tolist() for text in sentences])
        return unit(rows.float())

    def digest(self) -> str:
        return "average"


def judge(word_threshold: float = 0.3) -> CosineJudge:
    return CosineJudge(AverageEncoder(), "average", threshold=0.4, word_threshold=word_threshold)  # type: ignore[arg-type]


def test_a_pair_scores_the_cosine_and_a_word_the_distance_of_its_best_cosine_from_the_threshold() -> None:
    # cat + red = (1, 1), chat + bleu = (2.6, 0.8): cosine 3.4 / sqrt(2 * 7.4). The best cosine of cat and chat is 1,
    # that of red and bleu 0.8; a word has 0.5 + (0.3 - cosine) / 2.
    (judged,) = judge().judge([WordPair(("cat", "red"), ("chat", "bleu"))])
    assert judged.score == pytest.approx(3.4 / (2 * 7.4) ** 0.5, rel=1e-6)
    for tags in (judged.source, judged.target):
        assert tags is not None
        np.testing.assert_allclose(tags, [0.15, 0.25], rtol=1e-5)


def test_punctuation_and_unknown_words_are_never_divergent_and_a_missing_word_is() -> None:
    (judged,) = judge().judge([WordPair(("red", ",", "zzz"), ("chat",))])
    assert judged.source is not None
    assert judged.source[0] > 0.5
    assert judged.source[1:].tolist() == [0, 0]


def test_judgements_do_not_depend_on_the_pairs_beside_them() -> None:
    pairs = [WordPair(("cat",), ("chat",)), WordPair(("red",), ("bleu", "chat")), WordPair(("cat", "red"), ("bleu",))]
    together, alone = judge().judge(pairs), [judge().judge([pair])[0] for pair in pairs]
    assert [judged.score for judged in together] == [judged.score for judged in alone]
    for first, second in zip(together, alone, strict=True):
        assert first.source is not None
        assert second.source is not None
        np.testing.assert_array_equal(first.source, second.source)


def test_the_digest_changes_with_the_threshold_of_words_only() -> None:
    assert judge(0.3).digest() != judge(0.2).digest()
    stricter = CosineJudge(AverageEncoder(), "average", threshold=0.9, word_threshold=0.3)  # type: ignore[arg-type]
    assert judge(0.3).digest() == stricter.digest()
