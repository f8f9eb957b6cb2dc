"""What ``encode`` promises of every encoder, held with the random one."""

import logging
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from xsent.batch import Tokens
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.tiny import TinyEncoder
from xsent.similarity import cos_sim

SENTENCES = ["a cat", "the dog sat on a mat and slept", "a", "the cat sat", "dogs", "on and on and on"] * 3


def tiny(seed: int = 0) -> TinyEncoder:
    return TinyEncoder(name="tiny", dim=8, buckets=512, max_length=64, seed=seed)


class LengthEncoder(Encoder):
    """A vector says how many letters its sentence has, and how wide the batch was."""

    name = "length"
    dim = 2
    padding_id = 7

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.batches: list[tuple[int, ...]] = []

    def tokenize(self, sentences: list[str]) -> list[list[int]]:  # type: ignore[override]
        return [[1] * len(sentence) for sentence in sentences]

    def tokenizer_digest(self) -> str:
        return "letters"

    def settings(self) -> dict[str, object]:
        return {}

    def forward(self, tokens: Tokens) -> Tensor:
        assert (tokens.input_ids[tokens.attention_mask == 0] == 7).all()
        assert not self.training
        self.batches.append(tuple(tokens.input_ids.shape))
        lengths = tokens.attention_mask.sum(dim=1) * self.weight
        return torch.stack([lengths, torch.zeros_like(lengths)], dim=1)


def test_order_is_kept_and_batches_hold_the_budget() -> None:
    encoder = LengthEncoder()
    sentences = ["x" * n for n in (3, 11, 0, 5, 5, 1, 30, 2)]
    encoder.cpu_token_budget = 12
    assert encoder.encode(sentences)[:, 0].tolist() == [3, 11, 0, 5, 5, 1, 30, 2]
    # A sentence beyond the budget goes alone; the others are sorted, the longest first.
    assert encoder.batches == [(1, 30), (1, 11), (2, 5), (3, 3)]


def test_the_batch_of_a_sentence_never_changes_its_vector() -> None:
    encoder = tiny()
    alone = torch.cat([encoder.encode([sentence]) for sentence in SENTENCES])
    torch.testing.assert_close(encoder.encode(SENTENCES), alone, rtol=0, atol=1e-6)
    torch.testing.assert_close(encoder.encode(SENTENCES, batch_size=1), alone, rtol=0, atol=1e-6)


def test_padded_tokens_and_flat_ids_give_the_same_vectors() -> None:
    encoder = tiny()
    with torch.no_grad():
        padded = encoder(encoder.collate(encoder.tokenize(SENTENCES)))
    torch.testing.assert_close(padded, encoder.encode(SENTENCES), rtol=0, atol=1e-6)


def test_sentences_without_tokens_are_zero_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    encoder = tiny()
    with caplog.at_level(logging.WARNING, logger="xsent.models.encoders.base"):
        vectors = encoder.encode(["a cat", "", "   \t", "a dog"])
    assert vectors[1:3].abs().sum() == 0
    assert vectors[[0, 3]].norm(dim=1).tolist() == pytest.approx([1.0, 1.0])
    assert encoder.empty_sentences == 2
    assert [record.getMessage() for record in caplog.records] == ["2 of 4 sentences have no token: their vectors are 0"]
    encoder.encode(["a cat"])
    assert encoder.empty_sentences == 0


def test_a_file_gets_the_same_vectors_as_memory(tmp_path: Path) -> None:
    encoder = tiny()
    out = tmp_path / "deep" / "vectors.npy"
    mapped = encoder.encode(SENTENCES, out=out)
    assert torch.equal(mapped, encoder.encode(SENTENCES))
    assert np.array_equal(np.load(out), mapped.numpy())
    mapped[0] = 5.0  # the result maps the file
    assert (np.load(out)[0] == 5.0).all()


def test_nothing_to_encode_is_no_error(tmp_path: Path) -> None:
    assert tiny().encode([]).shape == (0, 8)
    assert tiny().encode([], out=tmp_path / "none.npy").shape == (0, 8)
    assert np.load(tmp_path / "none.npy").shape == (0, 8)


def test_bfloat16_is_near_and_leaves_the_weights_as_they_were() -> None:
    encoder = tiny()
    before, weights = encoder.digest(), encoder.vectors
    near = encoder.encode(SENTENCES, precision="bfloat16")
    assert near.dtype == torch.float32
    torch.testing.assert_close(near, encoder.encode(SENTENCES), rtol=0, atol=2e-2)
    assert encoder.digest() == before
    assert encoder.vectors is weights


def test_encode_gives_back_every_module_in_its_mode() -> None:
    encoder = LengthEncoder()
    encoder.frozen, encoder.free = torch.nn.Dropout(), torch.nn.Dropout()
    encoder.train()
    encoder.frozen.eval()
    encoder.encode(["abc"])
    assert (encoder.training, encoder.frozen.training, encoder.free.training) == (True, False, True)


def test_the_digest_changes_with_weights_tokens_and_settings_only() -> None:
    encoder = tiny()
    digest = encoder.digest()
    assert tiny().digest() == digest
    encoder.encode(SENTENCES)
    assert encoder.train().digest() == digest
    assert tiny(seed=1).digest() != digest
    assert TinyEncoder(name="tiny", dim=8, buckets=512, max_length=63, seed=0).digest() != digest
    with torch.no_grad():
        encoder.vectors[3, 3] = torch.nextafter(encoder.vectors[3, 3], torch.tensor(9.0))
    assert encoder.digest() != digest


def test_a_vector_that_is_not_finite_stops() -> None:
    encoder = LengthEncoder()
    with torch.no_grad():
        encoder.weight.fill_(float("nan"))
    with pytest.raises(FloatingPointError, match=r"length: the vector of row 0 \('a'\) is not finite"):
        encoder.encode(["a", "ab"])


def test_one_string_gives_one_vector_and_any_iterable_gives_rows() -> None:
    rows = tiny().encode(["a cat", "a dog"])
    assert rows.shape == (2, 8)
    torch.testing.assert_close(tiny().encode("a cat"), rows[0])
    for texts in (("a cat", "a dog"), iter(["a cat", "a dog"]), np.array(["a cat", "a dog"])):
        assert torch.equal(tiny().encode(texts), rows)  # type: ignore[arg-type]


@pytest.mark.parametrize("batch_size", [1, 2, 7, 1000])
def test_batch_size_limits_the_rows_and_keeps_the_vectors(batch_size: int) -> None:
    encoder = LengthEncoder()
    vectors = encoder.encode(SENTENCES, batch_size=batch_size)
    assert max(rows for rows, _ in encoder.batches) <= batch_size
    assert vectors[:, 0].tolist() == [len(sentence) for sentence in SENTENCES]


def test_vectors_can_have_length_one() -> None:
    # (L, 0) becomes (1, 0); a text without a token stays zero.
    vectors = LengthEncoder().encode(["abc", "", "a"], normalize=True)
    assert vectors.tolist() == [[1, 0], [0, 0], [1, 0]]


def test_int8_vectors_use_their_whole_range_and_keep_cosines(tmp_path: Path) -> None:
    exact = tiny().encode([*SENTENCES, ""])
    coarse = tiny().encode([*SENTENCES, ""], precision="int8", out=tmp_path / "vectors.npy")
    assert coarse.dtype == torch.int8
    assert np.array_equal(np.load(tmp_path / "vectors.npy"), coarse.numpy())
    assert (coarse[:-1].abs().amax(dim=1) == 127).all()
    assert not coarse[-1].any()
    # Each of the 8 numbers is rounded by at most half of 1/127 of the largest.
    torch.testing.assert_close(tiny().similarity(coarse, coarse), cos_sim(exact, exact), rtol=0, atol=0.02)


def test_similarity_of_texts_and_vectors_is_the_cosine_of_every_pair() -> None:
    # (3, 0) and (4, 0) against (1, 1), (0, 2) and (3, 4): cosines 1 / sqrt(2), 0 and 0.6.
    b = np.array([[1.0, 1.0], [0.0, 2.0], [3.0, 4.0]])
    expected = torch.tensor([[0.5**0.5, 0.0, 0.6]] * 2)
    torch.testing.assert_close(LengthEncoder().similarity(["abc", "abcd"], b), expected)
    torch.testing.assert_close(LengthEncoder().similarity("abc", torch.from_numpy(b)), expected[:1])
    torch.testing.assert_close(LengthEncoder().similarity(torch.tensor([3, 0], dtype=torch.int8), b), expected[:1])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"space": "meaning"}, ValueError, "space=meaning: expected original; only a run with heads has meaning"),
        ({"precision": "fp8"}, ValueError, "precision=fp8: expected one of float32, float16, bfloat16, int8, binary"),
        ({"precision": "int8", "normalize": True}, ValueError, "cannot have length one"),
        ({"precision": "binary", "normalize": True}, ValueError, "cannot have length one"),
        ({"batch_size": 0}, ValueError, "batch_size=0: expected an integer of at least 1"),
        ({"device": "cuda:99"}, ValueError, "device 'cuda:99' cannot be used"),
        ({"sentences": ["a", None]}, TypeError, "sentence 1: expected a string, found NoneType"),
        ({"sentences": "a", "out": "x.npy"}, ValueError, "out=x.npy: expected a list of sentences"),
    ],
)
def test_a_wrong_argument_of_encode_is_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        tiny().encode(**{"sentences": ["a"]} | options)


def test_a_device_is_for_one_call() -> None:
    encoder = tiny()
    assert torch.equal(encoder.encode(SENTENCES, device="cpu"), encoder.encode(SENTENCES))
    assert encoder.device == torch.device("cpu")


def test_what_is_cut_is_told_from_what_just_fits() -> None:
    encoder = TinyEncoder(name="tiny", dim=8, buckets=512, max_length=4, seed=0)  # a letter takes two
    assert encoder.truncated(["a", "a b", "a b c", ""]).tolist() == [False, False, True, False]
    assert len(encoder.tokenize(["a b c"])[0]) == 4  # as before


def test_an_encoder_without_a_greatest_length_cuts_nothing() -> None:
    assert LengthEncoder().truncated(["x" * 999, ""]).tolist() == [False, False]
