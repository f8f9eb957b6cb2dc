"""A small random encoder that needs no file: for tests and for trying out a configuration."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xsent.batch import Tokens
from xsent.models.encoder import Encoder
from xsent.similarity import unit


class TinyEncoder(Encoder):
    """Mean of random vectors of a sentence's words and of three letters in a row, of length one.

    Sentences with common words lie near each other, translations do not: there is something to learn.

    Args:
        name: for tables and messages.
        dim: size D of a vector.
        buckets: vectors; words are hashed into them.
        max_length: words and trigrams of a sentence that are read.
        seed: of the vectors.
    """

    pads = False
    cpu_tokens = gpu_tokens = 131_072

    def __init__(self, *, name: str, dim: int, buckets: int, max_length: int, seed: int) -> None:
        super().__init__()
        self.name = name
        self.dim = dim
        self.buckets = buckets
        self.max_length = max_length
        generator = torch.Generator().manual_seed(seed)
        self.vectors = nn.Parameter(torch.randn(buckets, dim, generator=generator))

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        return [
            [zlib.crc32(part.encode("utf-8", "replace")) % self.buckets for part in _parts(sentence)][: self.max_length]
            for sentence in sentences
        ]

    def tokenizer_digest(self) -> str:
        return hashlib.sha256(f"crc32 trigrams {self.buckets} {self.max_length}".encode()).hexdigest()

    def settings(self) -> dict[str, object]:
        return {"class": "TinyEncoder", "dim": self.dim, "pooling": "sum"}

    def forward(self, tokens: Tokens) -> Tensor:
        mask = tokens.attention_mask.bool()  # (B, T)
        return self.embed_ids(tokens.input_ids[mask], mask.sum(dim=1))

    def embed_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return unit(F.embedding_bag(ids, self.vectors, lengths.cumsum(0) - lengths, mode="sum").float())

    @property
    def word_vectors(self) -> nn.Parameter:
        return self.vectors


def _parts(sentence: str) -> list[str]:
    parts: list[str] = []
    for word in sentence.lower().split():
        marked = f"<{word}>"
        parts += [word, *(marked[i : i + 3] for i in range(len(marked) - 2))]
    return parts
