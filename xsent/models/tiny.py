"""A small random encoder that needs no file: for tests and for trying out a configuration."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence

from xsent.models.vector_table import VectorTable


class TinyEncoder(VectorTable):
    """Mean of random vectors of a sentence's words and of three letters in a row, of length one.

    Sentences with common words lie near each other, translations do not: there is something to learn.

    Args:
        name: for tables and messages.
        dim: size D of a vector.
        buckets: vectors; words are hashed into them.
        max_length: words and trigrams of a sentence that are read.
        seed: of the vectors.
    """

    has_files = False

    def __init__(self, *, name: str, dim: int, buckets: int, max_length: int, seed: int) -> None:
        super().__init__(name=name, dim=dim, std=1.0, seed=seed)
        self.buckets = buckets
        self.max_length = max_length
        self._draw(buckets)

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        return [
            [zlib.crc32(part.encode("utf-8", "replace")) % self.buckets for part in _parts(sentence)][: self.max_length]
            for sentence in sentences
        ]

    def tokenizer_digest(self) -> str:
        return hashlib.sha256(f"crc32 trigrams {self.buckets} {self.max_length}".encode()).hexdigest()

    def settings(self) -> dict[str, object]:
        return {"class": "TinyEncoder", "dim": self.dim, "pooling": "sum"}


def _parts(sentence: str) -> list[str]:
    parts: list[str] = []
    for word in sentence.lower().split():
        marked = f"<{word}>"
        parts += [word, *(marked[i : i + 3] for i in range(len(marked) - 2))]
    return parts
