"""The alignment judge: features by hand, independence of the batch, checkpoints that know their encoder."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from tests.helpers import toy_bert, toy_words
from xsent.batch import WordPair
from xsent.models.encoders.static import StaticEncoder
from xsent.models.encoders.transformer import SentenceEncoder
from xsent.models.pairs.alignment_features import FEATURES, WordTable, alignment_features, embed_words
from xsent.models.pairs.alignment_judge import AlignmentJudge

OPTIONS: dict[str, Any] = {
    "depth": 1.0,
    "max_words": 6,
    "hidden": 4,
    "dropout": 0.0,
    "tags_words": True,
    "clean_divergent": 0.1,
}
OPTIONS["seed"] = 1
PAIRS = [
    WordPair(("The", "cat", "sleeps", "."), ("Le", "chat", "dort", ".")),
    WordPair(("Yes", "!"), ("Non", ",", "pas", "du", "tout", "!")),
    WordPair(("In", "1969", "two", "men", "walked", "on", "the", "moon", "."), ("zzz",)),
    WordPair((), ("vide",)),
]


@pytest.fixture(scope="module")
def micro() -> StaticEncoder:
    return StaticEncoder.load(name="micro", path=None)


@pytest.fixture
def judge(micro: StaticEncoder) -> AlignmentJudge:
    judge = AlignmentJudge(base=micro, **OPTIONS)
    judge.fit_inputs(judge.tokenize(PAIRS))
    return judge.eval()


def table(*vectors: list[float]) -> WordTable:
    rows = torch.tensor(vectors)
    properties = torch.tensor([[float(number + 1), 0, 0, 0, 1, 0] for number in range(len(vectors))])
    return WordTable(rows, torch.arange(len(vectors)), properties)


def test_features_by_hand() -> None:
    """Source words a, b; target words x = a, y at 60 degrees from a and 30 from b."""
    y = [0.5, math.sqrt(3) / 2]
    words = table([1.0, 0.0], [0.0, 1.0], [1.0, 0.0], y)
    (features,) = alignment_features(words, [torch.tensor([0, 1])], [torch.tensor([2, 3])])
    rows = [dict(zip(FEATURES, row.tolist(), strict=True)) for row in features]
    b, second = rows[1], math.sqrt(3) / 2
    assert [row["best cosine"] for row in rows] == pytest.approx([1, second, 1, second])
    assert [row["second-best cosine"] for row in rows] == pytest.approx([0.5, 0, 0, 0.5])
    assert b["their difference"] == pytest.approx(second)
    assert [row["best for each other"] for row in rows] == [1, 1, 1, 1]
    # Softmax over cosines / 0.1: b against x and y, and y against a and b.
    forward = 1 / (1 + math.exp(-10 * second))
    backward = 1 / (1 + math.exp(-10 * (second - 0.5)))
    assert b["log probability of alignment"] == pytest.approx(math.log(forward * backward), rel=1e-5)
    assert [row["position gap to the nearest word"] for row in rows] == [0, 0, 0, 0]
    assert b["best cosine of the neighbour at -1, near the counterpart"] == pytest.approx(1)  # a with x
    assert b["best cosine of the neighbour at +1, near the counterpart"] == -1  # none
    assert [row["norm"] for row in rows] == [1, 2, 3, 4]
    assert [row["norm by the mean of the side"] for row in rows] == pytest.approx([2 / 3, 4 / 3, 6 / 7, 8 / 7])
    assert [row["words that share the counterpart"] for row in rows] == [1, 1, 1, 1]
    assert b["log length ratio"] == 0
    assert b["log length"] == pytest.approx(math.log(2))
    assert [row["is in the target"] for row in rows] == [0, 0, 1, 1]


def test_two_words_with_one_counterpart_share_it_and_one_of_them_is_mutual() -> None:
    words = table([1.0, 0.0], [0.8, 0.6], [1.0, 0.0])
    (features,) = alignment_features(words, [torch.tensor([0, 1])], [torch.tensor([2])])
    rows = [dict(zip(FEATURES, row.tolist(), strict=True)) for row in features]
    assert [row["words that share the counterpart"] for row in rows] == [2, 2, 1]
    assert [row["best for each other"] for row in rows] == [1, 0, 1]
    assert [row["second-best cosine"] for row in rows] == pytest.approx([-1, -1, 0.8])
    assert [row["position gap to the nearest word"] for row in rows] == [0, 0.5, 0]
    assert rows[0]["log length ratio"] == pytest.approx(math.log(2))


def test_a_word_has_the_sum_of_its_pieces_and_its_shape(micro: StaticEncoder) -> None:
    words, rows = embed_words(micro, [("Apollo", "11", "!"), ("!", "\u2603")], layer=0)
    assert [row.tolist() for row in rows] == [[0, 1, 2], [2, 3]]
    ids = micro.tokenize(["Apollo"])[0]
    vector = micro.vectors[ids].sum(0)
    torch.testing.assert_close(words.vectors[0], vector / vector.norm())
    assert words.properties[0].tolist() == pytest.approx([vector.norm().item(), 0, 0, 1, len(ids), 0])
    assert words.properties[1, 1:4].tolist() == [0, 1, 0]
    assert words.properties[2, 1:4].tolist() == [1, 0, 0]
    if not micro.tokenize(["\u2603"])[0]:
        assert words.properties[3].tolist() == [0, 1, 0, 0, 0, 1]


def test_a_judgement_does_not_depend_on_the_other_pairs(judge: AlignmentJudge) -> None:
    together, alone = judge.judge(PAIRS), [judge.judge([pair])[0] for pair in PAIRS]
    for first, second in zip(together, alone, strict=True):
        assert first.score == pytest.approx(second.score, abs=1e-5)
        assert first.source is not None
        assert second.source is not None
        assert first.source.tolist() == pytest.approx(second.source.tolist(), abs=1e-6)


def test_words_behind_the_limit_and_empty_sides_have_no_tag(judge: AlignmentJudge) -> None:
    judged = judge.judge(PAIRS)
    assert judge.truncated_pairs == 1
    for pair, judgement in zip(PAIRS, judged, strict=True):
        assert judgement.source is not None
        assert judgement.target is not None
        assert [len(judgement.source), len(judgement.target)] == [len(pair.source), len(pair.target)]
    assert judged[2].source is not None
    assert judged[2].source[6:].tolist() == [0, 0, 0]
    assert (judged[2].source[:6] > 0).all()


def test_training_and_judging_see_the_same_scores(judge: AlignmentJudge) -> None:
    scores, logits = judge(judge.collate(judge.tokenize(PAIRS)))
    assert scores.tolist() == pytest.approx([judgement.score for judgement in judge.judge(PAIRS)], abs=1e-5)
    assert logits[1, 8:].abs().sum() == 0  # padding


def test_inputs_are_standardised_by_the_training_pairs(judge: AlignmentJudge) -> None:
    inputs = torch.cat([pair.features for pair in judge.tokenize(PAIRS)])
    standard = (inputs - judge.mean) / judge.deviation
    torch.testing.assert_close(standard.mean(0), torch.zeros(len(FEATURES)), atol=1e-4, rtol=0)
    varies = inputs.std(0) > 1e-3
    torch.testing.assert_close(standard.std(0)[varies], torch.ones(int(varies.sum())), atol=1e-4, rtol=0)


def test_the_encoder_is_no_part_of_the_weights(judge: AlignmentJudge, micro: StaticEncoder) -> None:
    weights = judge.state_dict()
    assert all(len(value) < 1000 for value in weights.values() if isinstance(value, torch.Tensor) and value.dim())
    other = AlignmentJudge(base=micro, **OPTIONS | {"seed": 2})
    other.load_state_dict(weights)
    assert other.eval().judge(PAIRS)[0].score == judge.judge(PAIRS)[0].score
    assert other.digest() == judge.digest()


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> SentenceEncoder:
    path = toy_bert(tmp_path_factory.mktemp("bert"))
    options: dict[str, Any] = {
        "revision": None,
        "pooling": "mean",
        "projection": None,
        "prompt": None,
        "max_length": None,
    }
    return SentenceEncoder.load(name="toy", path=str(path), normalize=True, trust_remote_code=False, **options)


def test_another_encoder_is_refused(judge: AlignmentJudge, bert: SentenceEncoder) -> None:
    with pytest.raises(ValueError, match=r"trained on an encoder with digest \w+, toy has"):
        AlignmentJudge(base=bert, **OPTIONS).load_state_dict(judge.state_dict())


def test_a_transformer_gives_a_word_a_vector_in_each_sentence(bert: SentenceEncoder) -> None:
    word, other, third = toy_words("e", [1, 2, 3]).split()
    words, rows = embed_words(bert, [(word, other), (word, third)], layer=2)
    assert [row.tolist() for row in rows] == [[0, 1], [2, 3]]
    assert words.strings.tolist() == [0, 1, 0, 2]
    assert not torch.allclose(words.vectors[0], words.vectors[2], atol=1e-4)
    judged = AlignmentJudge(base=bert, **OPTIONS).eval().judge([WordPair((word, other), (third,))])
    assert math.isfinite(judged[0].score)


def test_calibration_is_part_of_the_weights_and_the_threshold_is_0(judge: AlignmentJudge, micro: StaticEncoder) -> None:
    before = [judgement.score for judgement in judge.judge(PAIRS)]
    lengths = np.array([8, 8, 10, 3] * 5)
    judge.calibrate(np.array(before * 5) + np.arange(20) % 3, np.arange(20) % 2 == 0, lengths, threshold=9.0)
    judge.languages = ("eng", "fra")
    after = [judgement.score for judgement in judge.judge(PAIRS)]
    assert after != before
    assert judge.threshold == 0
    again = AlignmentJudge(base=micro, **OPTIONS).eval()
    again.load_state_dict(judge.state_dict())
    assert [judgement.score for judgement in again.judge(PAIRS)] == after
    assert again.languages == ("eng", "fra")


def test_more_clean_pairs_move_the_threshold(judge: AlignmentJudge) -> None:
    scores, equivalent = np.array([0.0, 1.0, 5.0, 6.0]), np.array([False, False, True, True])
    judge.keep_clean([*PAIRS, *PAIRS[:2]])
    judge.calibrate(scores, equivalent, np.full(4, 8), threshold=0.0)
    # The six raw scores are near 0, far below those of the two clean dev pairs.
    assert judge.thresholds.max() < 2
    judge.keep_clean([])
    judge.calibrate(scores, equivalent, np.full(4, 8), threshold=0.0)
    assert judge.thresholds.min() >= 5
