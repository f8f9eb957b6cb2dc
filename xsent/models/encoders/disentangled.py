"""Frozen encoder with disentangling heads: original, meaning and language vectors of sentences."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from xsent.models.batching import hash_tensors
from xsent.models.encoders.base import Encoder
from xsent.models.heads import DisentanglingHeads

SPACES = ("original", "meaning", "language")
CHUNK = 16_384  # rows that pass the heads together


@dataclass(frozen=True, eq=False)
class DisentangledEncoder:
    """Encodes sentences in one of three spaces."""

    encoder: Encoder  # gives the original vectors (N, D)
    heads: DisentanglingHeads  # give the meaning and the language vectors

    def encode(self, sentences: Sequence[str], *, space: str = "meaning", progress: bool = False) -> Tensor:
        """Vectors (N, D) float32 in one space."""
        if space not in SPACES:
            raise ValueError(f"no space {space!r}; expected one of {', '.join(SPACES)}")
        return self.embed(sentences, progress=progress)[space]

    def embed(self, sentences: Sequence[str], *, progress: bool = False) -> dict[str, Tensor]:
        """Vectors (N, D) float32 in all three spaces; each sentence is encoded once."""
        return split_spaces(self.encoder.encode(sentences, progress=progress), self.heads)

    def digest(self) -> str:
        content = hashlib.sha256(self.encoder.digest().encode())
        hash_tensors(content, self.heads.state_dict())
        return content.hexdigest()


@torch.no_grad()
def split_spaces(original: Tensor, heads: DisentanglingHeads) -> dict[str, Tensor]:
    """Original vectors (N, D) in the three spaces, on the CPU."""
    device = next(heads.parameters()).device
    chunks = [heads(original[start : start + CHUNK].to(device)) for start in range(0, len(original), CHUNK)]
    if not chunks:
        return dict.fromkeys(SPACES, original)
    return {
        "original": original,
        "meaning": torch.cat([chunk.meaning for chunk in chunks]).float().cpu(),
        "language": torch.cat([chunk.language for chunk in chunks]).float().cpu(),
    }
