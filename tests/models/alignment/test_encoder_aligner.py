"""Vectors of words against those that transformers gives, and the links that they make."""

import logging
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from tests.helpers import ROOT
from tests.models.piece_bert import LAYERS, MAX_LENGTH, save_bert
from tests.models.small import load_encoder
from xsent.batch import WordPair
from xsent.models.alignment.encoder_aligner import EncoderAligner, piece_vectors
from xsent.models.encoders.disentangled import DisentangledEncoder, DisentanglingHeads
from xsent.models.encoders.static import StaticEncoder
from xsent.models.encoders.tiny import TinyEncoder
from xsent.models.encoders.transformer import SentenceEncoder
from xsent.run import build, load_config
from xsent.text.annotation.word_alignment import (
    alignment_error_rate,
    argmax_links,
    link_words,
    parse_gold_links,
    softmax_links,
)

SENTENCES = [
    ("the", "cats", "sleep", "in", "a", "garden", "."),
    ("unfriendly", "dogs"),
    (),
    ("the", "red", "house", ",", "the", "red", "Dog"),
]
LINK = partial(link_words, match=partial(argmax_links, distortion=0.0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bert(tmp_path_factory.mktemp("bert"))


def load(folder: Path, **options: Any) -> SentenceEncoder:
    return load_encoder(folder, **{"name": "bert", "pooling": "mean", "normalize": True} | options)


@pytest.fixture(scope="module")
def bert(folder: Path) -> SentenceEncoder:
    return load(folder)


@pytest.fixture(scope="module")
def micro() -> StaticEncoder:
    return StaticEncoder.load(name="micro", path=None)


def aligner(encoder: Any, **options: Any) -> EncoderAligner:
    return EncoderAligner(**{"encoder": encoder, "layer": None, "depth": 0.667, "link": LINK} | options)


# ---- vectors


@pytest.mark.parametrize("layer", range(LAYERS + 1))
def test_vectors_are_the_hidden_states_that_transformers_gives(folder: Path, bert: SentenceEncoder, layer: int) -> None:
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    for sentence, ours in zip(SENTENCES, piece_vectors(bert, SENTENCES, layer=layer), strict=True):
        encoding = tokenizer(list(sentence), is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            states = model(**encoding, output_hidden_states=True).hidden_states[layer][0, 1:-1]
        assert ours.words.tolist() == encoding.word_ids()[1:-1]
        torch.testing.assert_close(torch.from_numpy(ours.vectors), states, rtol=1e-5, atol=1e-5)


def test_a_word_has_a_vector_for_each_of_its_pieces(bert: SentenceEncoder) -> None:
    (pieces,) = piece_vectors(bert, [("the", "unfriendly", "cats")], layer=0)
    assert pieces.words.tolist() == [0, 1, 1, 1, 2, 2]  # the un ##friend ##ly cat ##s


def test_a_prompt_is_read_and_is_no_word(folder: Path, bert: SentenceEncoder) -> None:
    with_prompt = load(folder, prompt="the Dog , ")
    (plain,), (prompted,) = (piece_vectors(encoder, [("cats", "run")], layer=2) for encoder in (bert, with_prompt))
    assert prompted.words.tolist() == plain.words.tolist() == [0, 0, 1]
    assert not np.allclose(prompted.vectors, plain.vectors, atol=1e-2)


def test_a_static_encoder_gives_the_rows_of_its_table(micro: StaticEncoder) -> None:
    assert micro.tokenizer is not None
    words = ("Gardens", "sleep", "☃", "déjà-vu")
    (pieces,) = piece_vectors(micro, [words], layer=0)
    for number, word in enumerate(words):
        ids = [
            id_ for id_ in micro.tokenizer.encode(word).ids if micro.tokenizer.id_to_token(id_) not in ("▁", "<unk>")
        ]
        np.testing.assert_array_equal(pieces.vectors[pieces.words == number], micro.vectors.detach().numpy()[ids])


def test_the_space_before_a_word_is_no_piece_of_it(micro: StaticEncoder) -> None:
    assert micro.tokenizer is not None
    assert micro.tokenizer.encode("x").tokens == ["▁", "x"]
    (pieces,) = piece_vectors(micro, [("les", "x", "x")], layer=0)
    assert pieces.words.tolist() == [0, 1, 2]


def test_encoding_leaves_the_encoder_as_it_was(bert: SentenceEncoder) -> None:
    bert.train()
    piece_vectors(bert, SENTENCES, layer=1)
    assert bert.training
    bert.eval()


# ---- links


def test_a_sentence_is_aligned_with_itself_word_by_word(bert: SentenceEncoder) -> None:
    sentence = ("the", "cats", "sleep", "in", "a", "red", "garden")
    (links,) = aligner(bert).align([WordPair(sentence, sentence)])
    assert links == tuple((word, word) for word in range(len(sentence)))


def test_links_do_not_depend_on_the_pairs_beside(bert: SentenceEncoder) -> None:
    pairs = [WordPair(source, target) for source in SENTENCES for target in SENTENCES]
    together = aligner(bert).align(pairs)
    assert together == [link for pair in pairs for link in aligner(bert).align([pair])]
    assert aligner(bert).align(pairs[::-1]) == together[::-1]
    assert together[2] == ()  # its target has no words


def test_words_behind_the_end_of_the_model_have_no_link_and_are_counted(
    bert: SentenceEncoder, caplog: pytest.LogCaptureFixture
) -> None:
    long = ("the", "cat") * MAX_LENGTH
    ours = aligner(bert)
    with caplog.at_level(logging.WARNING):
        (links,) = ours.align([WordPair(long, ("the", "cat"))])
    assert max(source for source, _ in links) < MAX_LENGTH - 2  # room for [CLS] and [SEP]
    assert ours.unseen_words == len(long) - (MAX_LENGTH - 2)
    assert f"{ours.unseen_words} of {len(long) + 2} words have no vector" in caplog.text


def test_words_that_a_static_encoder_does_not_know_have_no_link_and_are_counted(micro: StaticEncoder) -> None:
    ours = aligner(micro)
    (links,) = ours.align([WordPair(("☃", "garden"), ("jardin", "☃", "☃"))])
    assert links == ((1, 0),)
    assert ours.unseen_words == 3


def test_a_static_encoder_reads_as_far_as_its_max_length(micro: StaticEncoder) -> None:
    long = ("the",) * (micro.max_length + 5)
    (pieces,) = piece_vectors(micro, [long], layer=0)
    assert pieces.words.tolist() == list(range(micro.max_length))


def test_no_pairs_have_no_links(micro: StaticEncoder) -> None:
    assert aligner(micro).align([]) == []


def test_the_bundled_encoder_aligns_better_than_the_diagonal(micro: StaticEncoder, shared_data: Path) -> None:
    def lines(name: str) -> list[str]:
        return (shared_data / "align" / name).read_text(encoding="utf-8").rstrip("\n").split("\n")

    sides = [line.split("|||") for line in lines("enfr.src-tgt")]
    pairs = [WordPair(tuple(source.split()), tuple(target.split())) for source, target in sides]
    gold = [parse_gold_links(line, "enfr.gold") for line in lines("enfr.gold")]
    diagonal = [[(word, word) for word in range(min(map(len, pair)))] for pair in pairs]
    ours = aligner(micro, link=partial(link_words, match=partial(argmax_links, distortion=0.5))).align(pairs)
    assert alignment_error_rate(ours, gold).error_rate < alignment_error_rate(diagonal, gold).error_rate / 2


# ---- options


@pytest.mark.parametrize(("layers", "layer"), [(12, 8), (6, 4), (24, 16), (4, 3), (1, 1)])
def test_the_default_layer_is_two_thirds_up(folder: Path, layers: int, layer: int) -> None:
    encoder = load(folder)
    encoder.transformer.config.num_hidden_layers = layers
    assert aligner(encoder).layer == layer


def test_a_layer_that_the_encoder_lacks_is_refused(bert: SentenceEncoder, micro: StaticEncoder) -> None:
    with pytest.raises(ValueError, match=r"aligner.layer=8: encoder bert \(SentenceEncoder\) has hidden states 0 to 3"):
        aligner(bert, layer=8)
    with pytest.raises(ValueError, match=r"aligner.layer=1: encoder micro .* has hidden states 0 to 0"):
        aligner(micro, layer=1)
    with pytest.raises(ValueError, match=r"aligner.depth=8: expected a share of the layers, from 0 to 1"):
        aligner(bert, depth=8)


def test_an_encoder_without_pieces_of_words_is_refused() -> None:
    tiny = TinyEncoder(name="tiny", dim=8, buckets=64, max_length=16, seed=0)
    with pytest.raises(ValueError, match=r"encoder tiny \(TinyEncoder\) has no word vectors"):
        aligner(tiny)
    with_heads: Any = DisentangledEncoder(tiny, DisentanglingHeads(8, []))
    with pytest.raises(ValueError, match="a run with heads has no word vectors"):
        aligner(with_heads)


def test_an_untrained_static_encoder_is_refused() -> None:
    static = StaticEncoder(
        name="static", dim=8, vocab_size=100, coverage=1.0, lowercase=True, max_length=16, std=0.1, seed=0
    )
    with pytest.raises(ValueError, match=r"encoder static .* has no tokenizer yet"):
        aligner(static)


def test_the_digest_tells_what_decides_the_links(folder: Path, bert: SentenceEncoder, micro: StaticEncoder) -> None:
    softmax = partial(link_words, match=partial(softmax_links, threshold=0.001))
    variants = [
        aligner(bert),
        aligner(bert, layer=1),
        aligner(micro),
        aligner(bert, link=softmax),
        aligner(bert, link=partial(link_words, match=partial(softmax_links, threshold=0.1))),
        aligner(load(folder, max_length=8)),
    ]
    assert len({variant.digest() for variant in variants}) == len(variants)
    assert aligner(load(folder), layer=2).digest() == aligner(bert).digest()


ALIGNERS = sorted(path.stem for path in (ROOT / "conf/job/diverge/aligner").glob("*.yaml") if path.stem != "simalign")


@pytest.mark.parametrize("name", ALIGNERS)
def test_every_config_file_builds_an_aligner_that_links(name: str) -> None:
    pair = WordPair(("a", "red", "house", "."), ("une", "maison", "rouge", "."))
    (links,) = build(load_config("diverge", [f"aligner={name}"])["aligner"], "aligner").align([pair])
    assert {(1, 2), (2, 1), (3, 3)} <= set(links)
