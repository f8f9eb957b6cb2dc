"""Tiny random encoder without files, for tests and for trying out a configuration."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence

from xsent.models.encoders.vector_table import VectorTable


class TinyEncoder(VectorTable):
    """Normalised mean of random vectors of a sentence's words and letter trigrams.

    Sentences with common words are similar, translations are not, so there is something to learn.

    Args:
        dim, seed: as in ``VectorTable``.
        buckets: number of vectors that words and trigrams are hashed into.
        max_length: words and trigrams after which a sentence is truncated.
    """

    can_save = False

    def __init__(self, *, name: str, dim: int, buckets: int, max_length: int, seed: int) -> None:
        super().__init__(name=name, dim=dim, std=1.0, seed=seed)
        self.buckets = buckets
        self.max_length = max_length
        self._draw(buckets)

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        features = (_words_and_trigrams(sentence)[: self.max_length] for sentence in sentences)
        return [[zlib.crc32(text.encode("utf-8", "replace")) % self.buckets for text in texts] for texts in features]

    def tokenizer_digest(self) -> str:
        return hashlib.sha256(f"crc32 trigrams {self.buckets} {self.max_length}".encode()).hexdigest()

    def settings(self) -> dict[str, object]:
        return {"class": "TinyEncoder", "dim": self.dim, "pooling": "sum"}


def _words_and_trigrams(sentence: str) -> list[str]:
    features: list[str] = []
    for word in sentence.lower().split():
        marked = f"<{word}>"
        features += [word, *(marked[i : i + 3] for i in range(len(marked) - 2))]
    return features
