"""A static encoder that sees characters: the mean of the vectors of hashed n-grams and words, of length one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from xsent.models.character_ngrams import hashed_ngrams
from xsent.models.vector_table import CONFIG, VECTORS, VectorTable, check_files, read_vectors, write_table

AT_ONCE = 1024  # sentences hashed at once; arrays of some 40 bytes for every character
IN_CONFIG = ("dim", "sizes", "buckets", "max_length")  # what a folder says of its encoder


class StaticCharacterEncoder(VectorTable):
    """Mean of the vectors of a sentence's character n-grams and words.

    A typo, a missing or an added space changes the few n-grams that it lies in and leaves the others. There is no
    tokenizer to train: every n-gram has an id, which it shares with some others. With n-grams of three characters
    whatever is not white space has a vector, a single emoji, too.

    Args:
        name: for tables and messages.
        dim: size D of a vector.
        sizes: of the n-grams, in characters; words count whatever their size.
        buckets: vectors V; n-grams and words are hashed into them.
        max_length: n-grams and words of a sentence that are read, the first ones.
        std: standard deviation of the random vectors that training starts from.
        seed: of these vectors.

    Raises:
        ValueError: a size, a number of buckets or a ``max_length`` that cannot be.

    Source:
        Bojanowski et al. 2017 (arXiv:1607.04606) have vectors of hashed n-grams within words; here they reach across
        spaces, which users leave out and add.
    """

    max_length: int

    def __init__(
        self,
        *,
        name: str,
        dim: int,
        sizes: Sequence[int],
        buckets: int,
        max_length: int,
        std: float,
        seed: int,
    ) -> None:
        super().__init__(name=name, dim=dim, std=std, seed=seed)
        if not sizes or min(sizes) < 1:
            raise ValueError(f"encoder.sizes={list(sizes)}: expected sizes of n-grams, 1 or more")
        if not 1 <= buckets <= 2**31:
            raise ValueError(f"encoder.buckets={buckets}: expected 1 to 2^31 vectors")
        if max_length < 1:
            raise ValueError(f"encoder.max_length={max_length}: expected 1 or more n-grams")
        self.sizes = tuple(sorted(set(sizes)))
        self.buckets = buckets
        self.max_length = max_length
        self._numbers = np.arange(buckets).astype(object)
        self._draw(buckets)

    # ---- text to ids

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        runs = range(0, len(sentences), AT_ONCE)
        return [ids for start in runs for ids in self._tokenize_run(sentences[start : start + AT_ONCE])]

    def _tokenize_run(self, sentences: Sequence[str]) -> list[list[int]]:
        ids, lengths = hashed_ngrams(sentences, sizes=self.sizes, buckets=self.buckets, max_length=self.max_length)
        # Python's integers of this table are shared: a list of new ones takes five times the memory.
        numbers = self._numbers[ids].tolist()
        ends = np.cumsum(lengths)
        return [numbers[start:end] for start, end in zip((ends - lengths).tolist(), ends.tolist(), strict=True)]

    def tokenizer_digest(self) -> str:
        content = f"hashed n-grams {self.sizes} and words, {self.buckets} {self.max_length}"
        return hashlib.sha256(content.encode()).hexdigest()

    def settings(self) -> dict[str, object]:
        return {"class": "StaticCharacterEncoder", "dim": self.dim, "pooling": "mean", "normalize": True}

    # ---- files

    def save(self, folder: Path) -> None:
        """Write ``config.json`` and int8 vectors with a scale for each."""
        write_table(folder, self.vectors, {key: getattr(self, key) for key in IN_CONFIG})

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
    ) -> StaticCharacterEncoder:
        """Read what ``save`` wrote, or begin with random vectors.

        Args:
            name: for tables and messages.
            path: the folder, whose ``config.json`` then decides what the rest would; None: an encoder to be trained.
            dim, sizes, buckets, max_length, std, seed: as in the class.

        Raises:
            FileNotFoundError: a file is missing from the folder.
            ValueError: the files do not belong together.
        """
        if path is None:
            return cls(name=name, dim=dim, sizes=sizes, buckets=buckets, max_length=max_length, std=std, seed=seed)
        folder = Path(path).expanduser()
        check_files(folder, (CONFIG, VECTORS))
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        missing = [key for key in IN_CONFIG if key not in config]
        if missing:
            raise ValueError(f"{folder / CONFIG}: not of a static encoder of characters: there is no {missing[0]}")
        vectors = read_vectors(folder, (config["buckets"], config["dim"]), says=f"{CONFIG} asks")
        encoder = cls(name=name, **{key: config[key] for key in IN_CONFIG}, std=0.0, seed=0)
        encoder.vectors.data = vectors
        return encoder.eval()
