"""Stores of token ids and of noisy copies of texts, each made once: tokenisation may take as long as training."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from xsent.batch import Tokenizer, Tokens
from xsent.data.stores.array_cache import Layout, cached_arrays, store_key
from xsent.files.array_file import save_array
from xsent.text.noise import Noiser, noise_sentences

log = logging.getLogger(__name__)

CHUNK = 50_000  # texts per step of the progress bar


@dataclass(frozen=True, eq=False)
class TokenStore:
    """Ids of N texts, flat and memory-mapped; text i has ``ids[offsets[i]:offsets[i + 1]]``."""

    ids: NDArray[np.int32]  # (M,), the ids of all texts one after the other
    offsets: NDArray[np.int64]  # (N + 1,)

    def tokens(self, rows: NDArray[np.int64]) -> Tokens:
        """Texts ``rows`` (B,), padded on the right with 0 to the longest."""
        start, lengths = self.offsets[rows], self.offsets[rows + 1] - self.offsets[rows]
        mask = np.arange(lengths.max(initial=0)) < lengths[:, None]  # (B, T)
        within = np.broadcast_to(np.arange(mask.shape[1]), mask.shape)
        input_ids = np.zeros(mask.shape, dtype=np.int64)
        input_ids[mask] = self.ids[(start[:, None] + within)[mask]]
        return Tokens(torch.from_numpy(input_ids), torch.from_numpy(mask.astype(np.int64)))

    def flat(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Ids (M,) int64 of texts ``rows`` (N,), one text after the other, and their lengths (N,) int64."""
        start, lengths = self.offsets[rows], self.offsets[rows + 1] - self.offsets[rows]
        before = np.cumsum(lengths) - lengths
        ids = self.ids[np.repeat(start - before, lengths) + np.arange(lengths.sum())]
        return torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(lengths)


def store_of(token_ids: Sequence[Sequence[int] | NDArray[np.int32]]) -> TokenStore:
    """Store of token ids in memory."""
    flat = [np.zeros(0, dtype=np.int32), *(np.asarray(ids, dtype=np.int32) for ids in token_ids)]
    lengths = np.fromiter(map(len, token_ids), dtype=np.int64, count=len(token_ids))
    return TokenStore(np.concatenate(flat), np.concatenate([[0], np.cumsum(lengths)]))


def tokenize_once(texts: Sequence[str], tokenizer: Tokenizer, cache_dir: Path) -> TokenStore:
    """Ids of the texts, stored in ``cache_dir``, so the same tokenizer reads the same texts once."""

    def make(folder: Path) -> None:
        log.info("tokenising %s texts", f"{len(texts):,}")
        token_ids: list[NDArray[np.int32]] = []
        for start in tqdm(range(0, len(texts), CHUNK), desc="tokenising", disable=len(texts) <= CHUNK):
            chunk = tokenizer.tokenize(texts[start : start + CHUNK])
            token_ids += [np.asarray(ids, dtype=np.int32) for ids in chunk]
        store = store_of(token_ids)
        save_array(folder / "ids.npy", store.ids)
        save_array(folder / "offsets.npy", store.offsets)

    key = store_key(tokenizer.tokenizer_digest(), texts)
    layout: Layout = {"ids": (np.int32, (None,)), "offsets": (np.int64, (len(texts) + 1,))}
    arrays = cached_arrays(cache_dir, "tokens", key, make, layout=layout)
    return TokenStore(cast("NDArray[np.int32]", arrays["ids"]), np.asarray(arrays["offsets"]))


def noisy_texts(
    texts: Sequence[str], keys: Sequence[int], noiser: Noiser, *, cache_dir: Path, workers: int
) -> list[str]:
    """Text i with noise of key i; stored, so the same noise of the same texts is made once.

    A key is a function of its text. The result does not depend on the number of worker processes.
    """

    def make(folder: Path) -> None:
        log.info("making %s sentences noisy", f"{len(texts):,}")
        noisy = noise_sentences(noiser, texts, keys, workers=workers)
        raw = [sentence.text.encode("utf-8", "surrogatepass") for sentence in noisy]
        save_array(folder / "bytes.npy", np.frombuffer(b"".join(raw), dtype=np.uint8))
        save_array(folder / "ends.npy", np.cumsum([len(text) for text in raw], dtype=np.int64))
        untouched = sum(not sentence.applied for sentence in noisy)
        save_array(folder / "untouched.npy", np.array([untouched], dtype=np.int64))

    key = store_key(noiser.digest(), texts)
    layout: Layout = {
        "bytes": (np.uint8, (None,)),
        "ends": (np.int64, (len(texts),)),
        "untouched": (np.int64, (1,)),
    }
    arrays = cached_arrays(cache_dir, "noise", key, make, layout=layout)
    untouched = int(arrays["untouched"][0])
    log.info("noise: %s of %s sentences were left as they are", f"{untouched:,}", f"{len(texts):,}")
    content, ends = arrays["bytes"].tobytes(), arrays["ends"].tolist()
    return [content[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise([0, *ends])]
