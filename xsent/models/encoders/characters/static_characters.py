"""Static character encoder: the normalised mean of vectors of hashed n-grams and words."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np

from xsent.config_checks import check_integer
from xsent.files.strict_json import read_json_object
from xsent.models.encoders.characters.character_ngrams import hashed_ngrams
from xsent.models.encoders.vector_table import CONFIG, VECTORS, VectorTable, check_files, read_vectors, write_table

MAX_SIZE = 100  # characters of an n-gram
CHUNK = 1024  # sentences hashed together; arrays of some 40 bytes per character
CONFIG_KEYS = ("dim", "sizes", "buckets", "max_length")


@dataclass(kw_only=True, eq=False, repr=False)
class StaticCharacterEncoder(VectorTable):
    """Mean of the vectors of a sentence's character n-grams and words.

    A typo, or a missing or additional space, changes the few n-grams that include it. No tokenizer is trained: n-grams
    are hashed to ids, and several may share one. With n-grams of three characters every character but white space has
    a vector, including a single emoji.

    Source:
        Bojanowski et al. 2017 (arXiv:1607.04606) hash n-grams within words. Differs from the paper: n-grams cross
        spaces, because users omit and add them.
    """

    sizes: Sequence[int]  # of the n-grams, in characters; words have no limit
    buckets: int  # number of vectors V that n-grams and words are hashed into
    max_length: int = field()  # n-grams and words after which a sentence is truncated

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.sizes or not all(isinstance(size, int) and 1 <= size <= MAX_SIZE for size in self.sizes):
            raise ValueError(f"encoder.sizes={list(self.sizes)}: expected sizes of n-grams, 1 to {MAX_SIZE}")
        if not 1 <= self.buckets <= 2**31:
            raise ValueError(f"encoder.buckets={self.buckets}: expected 1 to 2^31 vectors")
        check_integer("encoder.max_length", self.max_length, minimum=1)
        self.sizes = tuple(sorted(set(self.sizes)))
        self._integers = np.arange(self.buckets).astype(object)
        self._draw(self.buckets)

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        token_ids: list[list[int]] = []
        for start in range(0, len(sentences), CHUNK):
            ids, lengths = hashed_ngrams(
                sentences[start : start + CHUNK], sizes=self.sizes, buckets=self.buckets, max_length=self.max_length
            )
            # Python integers of this table are shared; new ones would take five times the memory.
            integers = self._integers[ids].tolist()
            token_ids += [integers[end - length : end] for end, length in zip(np.cumsum(lengths), lengths, strict=True)]
        return token_ids

    def tokenizer_digest(self) -> str:
        content = f"hashed n-grams {self.sizes} and words, {self.buckets} {self.max_length}"
        return hashlib.sha256(content.encode()).hexdigest()

    def settings(self) -> dict[str, object]:
        return {"class": "StaticCharacterEncoder", "dim": self.dim, "pooling": "mean", "normalize": True}

    def save(self, folder: Path) -> None:
        """Write ``config.json`` and int8 vectors with a scale for each."""
        write_table(folder, self.vectors, {key: getattr(self, key) for key in CONFIG_KEYS})

    @classmethod
    def load(
        cls,
        *,
        name: str,
        path: str | None,
        dim: int,
        sizes: Sequence[int],
        buckets: int,
        max_length: int,
        std: float,
        seed: int,
    ) -> Self:
        """Read what ``save`` wrote, or start with random vectors.

        Args:
            path: folder whose ``config.json`` replaces the other arguments; None: an encoder to train.

        Raises:
            FileNotFoundError: the folder lacks a file.
            ValueError: the files do not fit each other.
        """
        if path is None:
            return cls(name=name, dim=dim, sizes=sizes, buckets=buckets, max_length=max_length, std=std, seed=seed)
        folder = Path(path).expanduser()
        check_files(folder, (CONFIG, VECTORS))
        config = read_json_object(folder / CONFIG)
        missing = [key for key in CONFIG_KEYS if key not in config]
        if missing:
            raise ValueError(f"{folder / CONFIG}: expected a static character encoder, found no {missing[0]}")
        vectors = read_vectors(folder, (config["buckets"], config["dim"]))
        encoder = cls(name=name, **{key: config[key] for key in CONFIG_KEYS}, std=0.0, seed=0)
        encoder.vectors.data = vectors
        return encoder.eval()
