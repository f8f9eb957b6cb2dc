"""A frozen encoder with heads has the interface of an encoder, in three spaces."""

import errno
from pathlib import Path

import numpy as np
import pytest
import torch

from xsent.models.encoders.disentangled import DisentangledEncoder, DisentanglingHeads
from xsent.models.encoders.tiny import TinyEncoder
from xsent.similarity import NotFiniteError

TEXTS = ["a cat", "the dog sat", "dogs"]


@pytest.fixture
def embedder() -> DisentangledEncoder:
    torch.manual_seed(0)
    return DisentangledEncoder(
        TinyEncoder(name="tiny", dim=8, buckets=512, max_length=64, seed=0), DisentanglingHeads(8, [])
    )


@pytest.mark.parametrize("space", ["meaning", "language", "original", None])
def test_encode_gives_the_vectors_of_a_space(embedder: DisentangledEncoder, space: str | None, tmp_path: Path) -> None:
    expected = embedder.embed(TEXTS)[space or "meaning"]
    assert torch.equal(embedder.encode(TEXTS, space=space), expected)
    torch.testing.assert_close(embedder.encode(TEXTS[1], space=space), expected[1])
    torch.testing.assert_close(embedder.encode(TEXTS, space=space, batch_size=1), expected)
    assert torch.equal(embedder.encode(TEXTS, space=space, out=tmp_path / "v.npy"), expected)
    assert np.array_equal(np.load(tmp_path / "v.npy"), expected)
    lengths = embedder.encode(TEXTS, space=space, normalize=True).norm(dim=1)
    torch.testing.assert_close(lengths, torch.ones(3))


def test_int8_is_of_the_heads_vectors(embedder: DisentangledEncoder) -> None:
    coarse = embedder.encode(TEXTS, space="language", precision="int8")
    assert coarse.dtype == torch.int8
    assert (coarse.abs().amax(dim=1) == 127).all()


def test_an_unknown_space_is_an_error_that_names_the_others(embedder: DisentangledEncoder) -> None:
    with pytest.raises(ValueError, match="space=meening: expected meaning or language or original"):
        embedder.encode(TEXTS, space="meening")


def test_a_device_is_for_one_call(embedder: DisentangledEncoder) -> None:
    assert torch.equal(embedder.encode(TEXTS, device="cpu"), embedder.encode(TEXTS))


def test_a_text_whose_vector_the_heads_spoil_is_named(embedder: DisentangledEncoder) -> None:
    torch.nn.init.constant_(embedder.heads.language.weight, float("nan"))
    with pytest.raises(NotFiniteError, match=r"^tiny, space language: the vector of row 0 \('a cat'\) is not finite"):
        embedder.encode(TEXTS)


def test_a_full_disk_is_found_before_a_sentence_is_encoded(
    embedder: DisentangledEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_full(descriptor: int, offset: int, size: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", is_full)
    monkeypatch.setattr(TinyEncoder, "encode", lambda *_, **__: pytest.fail("it was encoded"))
    with pytest.raises(OSError, match="No space left on device"):
        embedder.encode(TEXTS, out=tmp_path / "v.npy")
