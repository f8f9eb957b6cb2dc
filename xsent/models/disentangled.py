"""A frozen encoder with two heads on top: every sentence has an original, a meaning and a language vector."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor

from xsent.models.encoder import Encoder
from xsent.models.heads import DisentanglingHeads

SPACES = ("original", "meaning", "language")
CHUNK = 16_384  # rows that pass the heads at a time


class DisentangledEncoder:
    """Encodes in one of three spaces.

    Args:
        encoder: gives the original vectors (N, D).
        heads: split them.
    """

    def __init__(self, encoder: Encoder, heads: DisentanglingHeads) -> None:
        self.encoder = encoder
        self.heads = heads

    def encode(self, sentences: Sequence[str], *, space: str = "meaning", progress: bool = False) -> Tensor:
        """Vectors (N, D) float32 of one space, by default what sentences mean.

        Raises:
            ValueError: there is no such space.
        """
        if space not in SPACES:
            raise ValueError(f"no space {space!r}; there are {', '.join(SPACES)}")
        return self.embed(sentences, progress=progress)[space]

    def embed(self, sentences: Sequence[str], *, progress: bool = False) -> dict[str, Tensor]:
        """Vectors (N, D) float32 of all three spaces, the sentences encoded once."""
        return split(self.encoder.encode(sentences, progress=progress), self.heads)

    def digest(self) -> str:
        """Hex digest of the encoder and the heads."""
        content = hashlib.sha256(self.encoder.digest().encode())
        for name, tensor in sorted(self.heads.state_dict().items()):
            content.update(f"{name}{tuple(tensor.shape)}".encode())
            content.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return content.hexdigest()


@torch.no_grad()
def split(original: Tensor, heads: DisentanglingHeads) -> dict[str, Tensor]:
    """The three spaces of original vectors (N, D), on the CPU."""
    device = next(heads.parameters()).device
    chunks = [heads(original[start : start + CHUNK].to(device)) for start in range(0, len(original), CHUNK)]
    if not chunks:
        return dict.fromkeys(SPACES, original)
    return {
        "original": original,
        "meaning": torch.cat([chunk.meaning for chunk in chunks]).float().cpu(),
        "language": torch.cat([chunk.language for chunk in chunks]).float().cpu(),
    }
