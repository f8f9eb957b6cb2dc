"""Tiny random encoder without files, for tests and for trying out a configuration."""

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from xsent.models.encoders.vector_table import VectorTable


@dataclass(kw_only=True, eq=False, repr=False)
class TinyEncoder(VectorTable):
    """Normalised mean of random vectors of a sentence's words and letter trigrams.

    Sentences with common words are similar, translations are not, so there is something to learn.
    """

    can_save = False

    std: float = field(init=False, default=1.0)
    buckets: int  # number of vectors that words and trigrams are hashed into
    max_length: int = field()  # words and trigrams after which a sentence is truncated

    def __post_init__(self) -> None:
        super().__post_init__()
        self._draw(self.buckets)

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
