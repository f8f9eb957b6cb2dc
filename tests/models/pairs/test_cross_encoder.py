"""The cross-encoder: words to ids and back, fair cuts, and judgements that do not depend on the batch."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.models.small import pair_transformer
from xsent.batch import WordPair
from xsent.models.encoders.transformer import SentenceEncoder
from xsent.models.pairs.cross_encoder import PairEncoder, fair_lengths

OPTIONS: dict[str, Any] = {"pooling": "cls", "max_length": 32, "segment_ids": "pair", "dropout": 0.1}
OPTIONS |= {"tags_words": True, "seed": 1}
PAIRS = [
    WordPair(("Now", "look", "here", "!"), ("Regarde", "donc", "ici", "!")),
    WordPair(("A", "cat", "."), ("Un", "extraordinairement", "grand", "chat", ".")),
    WordPair(("the", "cat", "sat", "on", "the", "mat", "with", "the", "very", "big", "dog") * 4, ("le", "chat")),
]


@pytest.fixture(scope="module")
def base() -> SentenceEncoder:
    return pair_transformer()


@pytest.fixture(scope="module")
def encoder(base: SentenceEncoder) -> PairEncoder:
    encoder = PairEncoder(base=base, **OPTIONS)
    torch.nn.init.normal_(encoder.token_head.weight, generator=torch.Generator().manual_seed(0))
    return encoder.eval()


@pytest.mark.parametrize(
    ("source", "target", "room", "expected"),
    [
        (5, 5, 10, (5, 5)),  # both fit
        (20, 4, 10, (6, 4)),  # the longer side alone is cut
        (4, 20, 10, (4, 6)),
        (20, 20, 10, (5, 5)),
        (20, 19, 11, (6, 5)),
        (6, 20, 10, (5, 5)),  # the shorter one, too, once they are equally long
    ],
)
def test_both_sides_are_cut_fairly(source: int, target: int, room: int, expected: tuple[int, int]) -> None:
    assert fair_lengths(source, target, room) == expected


def test_a_pair_is_laid_out_as_the_paper_says(encoder: PairEncoder) -> None:
    pair = encoder.tokenize(PAIRS[:1])[0]
    tokens = encoder.base.tokenizer.convert_ids_to_tokens(pair.ids.tolist())
    assert (tokens[0], tokens[-1], tokens.count("[SEP]")) == ("[CLS]", "[SEP]", 2)
    second = tokens.index("[SEP]") + 1
    assert pair.segments.tolist() == [0] * second + [1] * (len(tokens) - second)


def test_words_are_numbered_through_both_sides(encoder: PairEncoder) -> None:
    pair = encoder.tokenize(PAIRS[1:2])[0]
    real = pair.words[pair.words >= 0].tolist()
    assert sorted(set(real)) == list(range(8))
    assert real == sorted(real)
    assert real.count(4) > 1  # a long word has several pieces, all of them its own


def test_a_long_pair_is_cut_and_counted_and_words_that_are_gone_are_no_divergence(encoder: PairEncoder) -> None:
    judged = encoder.judge(PAIRS)
    assert encoder.truncated_pairs == 1
    long = judged[2]
    assert long.source is not None
    assert long.target is not None
    assert long.source[0] > 0
    assert long.source[-1] == 0
    assert (long.target > 0).all()  # the shorter side stays whole
    assert len(encoder.tokenize(PAIRS[2:])[0].ids) == 32


def test_a_judgement_does_not_depend_on_the_other_pairs(encoder: PairEncoder) -> None:
    together, alone = encoder.judge(PAIRS), [encoder.judge([pair])[0] for pair in PAIRS]
    for batched, single in zip(together, alone, strict=True):
        assert batched.score == pytest.approx(single.score, abs=1e-6)
        assert batched.source is not None
        assert single.source is not None
        np.testing.assert_allclose(batched.source, single.source, atol=1e-6)


def test_training_and_judging_see_the_same_scores(encoder: PairEncoder) -> None:
    tokens = encoder.collate(encoder.tokenize(PAIRS))
    with torch.no_grad():
        scores, logits = encoder(tokens)
    assert logits.shape == (3, 32, 2)
    assert scores.tolist() == pytest.approx([judgement.score for judgement in encoder.judge(PAIRS)], abs=1e-6)


def test_a_word_diverges_when_any_of_its_pieces_does(encoder: PairEncoder, fixtures_dir: Path) -> None:
    case = json.loads((fixtures_dir / "divergent_mbert.json").read_text(encoding="utf-8"))["subword_projection"]
    ids = encoder.tokenize([WordPair(tuple(case["words"]), ("x",))])[0]
    counts = case["subwords_per_word"]
    words = np.repeat(np.arange(len(counts)), counts).astype(np.int16)
    tags = np.array([float(tag == "D") for tag in case["subword_pred"]], dtype=np.float32)
    judged = encoder._judgement(WordPair(tuple(case["words"]), ()), ids._replace(words=words), 0.0, tags)
    assert judged.source is not None
    assert ["D" if value > 0.5 else "O" for value in judged.source] == case["word_pred_any_rule"]


def test_a_word_without_a_piece_is_no_divergence(encoder: PairEncoder) -> None:
    judged = encoder.judge([WordPair(("a", "\u200b", "b"), ("c",))])[0]
    assert judged.source is not None
    assert len(judged.source) == 3


def test_segments_play_a_part_only_where_they_are_asked_for(base: SentenceEncoder) -> None:
    by_option = {
        option: PairEncoder(base=base, **OPTIONS | {"segment_ids": option}).eval() for option in ("pair", "zeros")
    }
    tokens = by_option["pair"].collate(by_option["pair"].tokenize(PAIRS[:1]))
    no_segments = tokens._replace(segments=torch.zeros_like(tokens.segments))
    with torch.no_grad():
        pair, zeros = by_option["pair"](tokens).scores, by_option["zeros"](tokens).scores
        assert not torch.equal(pair, zeros)
        assert torch.equal(zeros, by_option["pair"](no_segments).scores)


def test_without_a_head_for_words_none_are_tagged(base: SentenceEncoder) -> None:
    judged = PairEncoder(base=base, **OPTIONS | {"tags_words": False}).judge(PAIRS[:1])[0]
    assert judged.source is None
    assert judged.target is None


def test_a_threshold_is_part_of_the_weights_and_of_the_digest(base: SentenceEncoder) -> None:
    first, second = (PairEncoder(base=base, **OPTIONS) for _ in range(2))
    digest = first.digest()
    assert digest == second.digest()
    first.set_threshold(1.5)
    assert first.digest() != digest
    second.load_state_dict(first.state_dict())
    assert second.threshold == 1.5


def test_sentences_are_cut_as_before_once_pairs_were_tokenised(base: SentenceEncoder) -> None:
    text = " ".join(["word"] * 200)
    before = base.tokenize([text])
    PairEncoder(base=base, **OPTIONS).tokenize(PAIRS)
    assert base.tokenize([text]) == before


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("pooling", "max", "recipe.judge.pooling=max: expected one of cls, mean"),
        ("segment_ids", "ones", "recipe.judge.segment_ids=ones: expected one of pair, zeros"),
        ("max_length", 65, "recipe.judge.max_length=65: expected 8 to 64 tokens for small"),
    ],
)
def test_options_that_do_not_fit_are_refused(base: SentenceEncoder, option: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PairEncoder(base=base, **OPTIONS | {option: value})
