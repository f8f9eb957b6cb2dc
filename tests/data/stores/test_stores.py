import json
import logging
import multiprocessing
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from xsent.batch import Tokens
from xsent.data.stores.array_cache import cached_arrays, digest_of_texts
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.data.stores.tokens import tokenize_once

TEXTS = ["one", "seven", "", "ten"]


class LetterEncoder:
    """The vector of a sentence is its length, its tokens are its letters; counts how often it is asked."""

    def __init__(self, name: str = "letters", log: Path | None = None) -> None:
        self.name = name
        self.log = log
        self.calls = 0

    def encode(self, sentences: Sequence[str], *, show_progress: bool = False, out: Path | None = None) -> Tensor:
        self._count()
        vectors = np.array([[len(sentence), 1.0] for sentence in sentences], dtype=np.float32)
        if out is not None:
            np.save(out, vectors)
        return torch.from_numpy(vectors)

    def digest(self) -> str:
        return self.name

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        self._count()
        return [[ord(letter) for letter in sentence] for sentence in sentences]

    def collate(self, token_ids: Sequence[Sequence[int]]) -> Tokens:
        raise AssertionError("padding is left to the batches")

    def tokenizer_digest(self) -> str:
        return self.name

    def _count(self) -> None:
        self.calls += 1
        if self.log is not None:
            time.sleep(0.5)
            with self.log.open("a") as file:
                file.write("made\n")


def test_vectors_are_made_once_and_come_back_mapped(tmp_path: Path) -> None:
    encoder, store = LetterEncoder(), EmbeddingStore(tmp_path)
    first, second = (store.vectors(TEXTS, encoder) for _ in range(2))
    assert encoder.calls == 1
    assert isinstance(second, np.memmap)
    np.testing.assert_array_equal(first, [[3, 1], [5, 1], [0, 1], [3, 1]])
    np.testing.assert_array_equal(first, second)
    with pytest.raises(ValueError, match="read-only"):
        second[0] = 0


def test_another_encoder_or_other_texts_never_get_these_vectors(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path)
    for name, texts in [("a", TEXTS), ("b", TEXTS), ("a", TEXTS[::-1]), ("a", TEXTS[:3])]:
        encoder = LetterEncoder(name)
        vectors = store.vectors(texts, encoder)
        assert encoder.calls == 1
        assert vectors[:, 0].tolist() == [len(text) for text in texts]


@pytest.mark.parametrize(("texts", "others"), [(["ab"], ["a", "b"]), (["a", ""], ["a"]), (["a\n", "b"], ["a", "\nb"])])
def test_lists_that_join_to_one_text_have_different_digests(texts: list[str], others: list[str]) -> None:
    assert digest_of_texts(texts) != digest_of_texts(others)


@pytest.mark.parametrize("damage", ["truncated", "altered", "no digests", "gone"])
def test_a_damaged_file_is_noticed_and_made_again(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = EmbeddingStore(tmp_path)
    expected = np.array(store.vectors(TEXTS, LetterEncoder()))
    (path,) = tmp_path.rglob("vectors.npy")
    raw = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(raw[:-4])
    elif damage == "altered":
        path.write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
    elif damage == "gone":
        path.unlink()
    else:
        (path.parent / "sha256.json").write_text("{")
    encoder = LetterEncoder()
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(store.vectors(TEXTS, encoder), expected)
    assert encoder.calls == 1
    assert "making it again" in caplog.text


def test_what_a_killed_process_left_behind_is_no_result(tmp_path: Path) -> None:
    encoder, store = LetterEncoder(), EmbeddingStore(tmp_path)
    store.vectors(TEXTS, encoder)
    (folder,) = (path.parent for path in tmp_path.rglob("vectors.npy"))
    folder.rename(folder.with_name(f"{folder.name}.tmp"))
    (folder.with_name(f"{folder.name}.tmp") / "vectors.npy").write_bytes(b"half")
    assert store.vectors(TEXTS, encoder)[0, 0] == 3
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_failure_while_making_leaves_nothing_that_looks_made(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        np.save(folder / "a.npy", np.zeros(3))
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space left"):
        cached_arrays(tmp_path, "kind", "key", fail)
    assert not list(tmp_path.rglob("*.npy"))


def _embed_in_a_process(cache_dir: Path, log: Path) -> None:
    vectors = EmbeddingStore(cache_dir).vectors(TEXTS, LetterEncoder(log=log))
    assert vectors[:, 0].tolist() == [3, 5, 0, 3]


def test_of_two_processes_at_once_one_works_and_the_other_waits(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    log = tmp_path / "log"
    workers = [context.Process(target=_embed_in_a_process, args=(tmp_path / "cache", log)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert log.read_text() == "made\n"


# ---- token ids


def test_token_ids_come_back_padded_on_the_right(tmp_path: Path) -> None:
    tokens = tokenize_once(TEXTS, LetterEncoder(), tmp_path).tokens(np.array([3, 2, 1]))
    expected = [[*map(ord, "ten"), 0, 0], [0] * 5, list(map(ord, "seven"))]
    assert tokens.input_ids.tolist() == expected
    assert tokens.attention_mask.tolist() == [[int(i > 0) for i in row] for row in expected]
    assert tokens.input_ids.dtype == tokens.attention_mask.dtype == torch.int64


def test_texts_are_tokenised_once_for_a_tokenizer(tmp_path: Path) -> None:
    encoders = [LetterEncoder("a"), LetterEncoder("a"), LetterEncoder("b")]
    for encoder in encoders:
        tokenize_once(TEXTS, encoder, tmp_path)
    assert [encoder.calls for encoder in encoders] == [1, 0, 1]


def test_texts_without_any_token_are_stored_too(tmp_path: Path) -> None:
    tokens = tokenize_once(["", ""], LetterEncoder(), tmp_path).tokens(np.array([0, 1]))
    assert tokens.input_ids.shape == (2, 0)


def test_the_digests_cover_every_file(tmp_path: Path) -> None:
    tokenize_once(TEXTS, LetterEncoder(), tmp_path)
    (digests,) = tmp_path.rglob("sha256.json")
    assert set(json.loads(digests.read_text())) == {"ids.npy", "offsets.npy"}
