from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from xsent.batch import Tokens


class Letters:
    """Tokens are letters; the vector of a sentence is its length and its last letter."""

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        return [[ord(letter) for letter in sentence] for sentence in sentences]

    def collate(self, token_ids: Sequence[Sequence[int]]) -> Tokens:
        raise AssertionError("padding is left to the batches")

    def tokenizer_digest(self) -> str:
        return "letters"

    def encode(self, sentences: Sequence[str], *, show_progress: bool = False, out: Path | None = None) -> Tensor:
        vectors = torch.tensor([[len(sentence), ord(sentence[-1])] for sentence in sentences]).float()
        if out is not None:
            np.save(out, vectors.numpy())
        return vectors

    def digest(self) -> str:
        return "letters"
