"""Disentangling heads, and a frozen encoder with them: original, meaning and language vectors of sentences."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from xsent.batch import Parts, Precision
from xsent.files.array_file import ArrayFile
from xsent.models.batching import hash_tensors
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.embedder import EncodeOptions, SentenceEmbedder, check_dim
from xsent.similarity import check_finite, unit

SPACES = ("original", "meaning", "language")
CHUNK = 16_384  # rows that pass the heads together


class DisentanglingHeads(nn.Module):
    """Two maps of a sentence embedding: meaning and language.

    Args:
        dim: size D of the embedding and of both parts.
        hidden: sizes of hidden layers, with tanh between them; empty: one affine map each.

    Source:
        Ki, Park, Kim 2024 call them multi-layer perceptrons; all released code has one affine layer.
    """

    def __init__(self, dim: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.meaning = mlp(dim, hidden)
        self.language = mlp(dim, hidden)

    def forward(self, embeddings: Tensor) -> Parts:
        """(B, D) -> two times (B, D)."""
        return Parts(self.meaning(embeddings), self.language(embeddings))


def mlp(dim: int, hidden: Sequence[int]) -> nn.Module:
    """Affine maps from ``dim`` over the hidden sizes back to ``dim``, tanh between them."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise([dim, *hidden, dim]):
        layers += [nn.Linear(inputs, outputs), nn.Tanh()]
    layers.pop()
    return layers[0] if len(layers) == 1 else nn.Sequential(*layers)


def _last_linear(head: nn.Module) -> nn.Linear:
    return [layer for layer in head.modules() if isinstance(layer, nn.Linear)][-1]


@dataclass(frozen=True, eq=False)
class DisentangledEncoder(SentenceEmbedder):
    """Encodes sentences in one of three spaces."""

    spaces = ("meaning", "language", "original")

    encoder: Encoder  # gives the original vectors (N, D)
    heads: DisentanglingHeads  # give the meaning and the language vectors

    @property
    def dim(self) -> int:
        """Size of the vectors in all spaces."""
        return int(_last_linear(self.heads.meaning).out_features)

    def truncate_dim(self, dim: int) -> None:
        check_dim(self.encoder.name, dim, self.dim)
        for head in (self.heads.meaning, self.heads.language):
            linear = _last_linear(head)
            linear.weight.data, linear.bias.data = linear.weight.data[:dim].clone(), linear.bias.data[:dim].clone()
            linear.out_features = dim

    def embed(self, sentences: Sequence[str], *, show_progress: bool = False) -> dict[str, Tensor]:
        """Vectors (N, D) float32 in all three spaces; each sentence is encoded once."""
        original = self.encoder.encode(sentences, show_progress=show_progress)
        return self._split(original, sentences)

    def _split(self, original: Tensor, sentences: Sequence[str]) -> dict[str, Tensor]:
        spaces = split_spaces(original, self.heads, self.encoder.name, sentences)
        if self.dim == original.size(1):
            return spaces
        truncated = {space: vectors[:, : self.dim] for space, vectors in spaces.items()}
        return truncated | ({"original": unit(truncated["original"])} if self.encoder.normalize else {})

    def _encode(self, sentences: Sequence[str], space: str, options: EncodeOptions) -> NDArray[Any] | ArrayFile:
        result = options.allocate(len(sentences), self.dim)
        computed: Precision = "bfloat16" if options.precision == "bfloat16" else "float32"
        original = self.encoder.encode(
            sentences, batch_size=options.batch_size, show_progress=options.show_progress, precision=computed
        )
        result[:] = options.finish(self._split(original, sentences)[space])
        return result

    def _networks(self) -> Sequence[nn.Module]:
        return [self.encoder, self.heads]

    def digest(self) -> str:
        content = hashlib.sha256(self.encoder.digest().encode())
        hash_tensors(content, self.heads.state_dict())
        return content.hexdigest()


@torch.no_grad()
def split_spaces(original: Tensor, heads: DisentanglingHeads, name: str, texts: Sequence[str]) -> dict[str, Tensor]:
    """Original vectors (N, D) in the three spaces, on the CPU.

    Args:
        name: of the encoder of the vectors, for messages.
        texts: N, for messages.

    Raises:
        NotFiniteError: a vector is not finite.
    """
    device = next(heads.parameters()).device
    chunks = [heads(original[start : start + CHUNK].to(device)) for start in range(0, len(original), CHUNK)]
    if not chunks:
        return dict.fromkeys(SPACES, original)
    spaces = {
        "original": original,
        "meaning": torch.cat([chunk.meaning for chunk in chunks]).float().cpu(),
        "language": torch.cat([chunk.language for chunk in chunks]).float().cpu(),
    }
    for space, vectors in spaces.items():
        check_finite(vectors, f"{name}, space {space}", texts=texts)
    return spaces
