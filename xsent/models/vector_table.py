"""What static encoders share: sums of the rows of one table, of length one, and files of them in 8 bits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save
from torch import Tensor, nn

from xsent.batch import Tokens
from xsent.models.encoder import Encoder
from xsent.similarity import unit

CONFIG, VECTORS = "config.json", "vectors.safetensors"


class VectorTable(Encoder):
    """Mean of the vectors of a sentence's parts, whose order plays no part.

    Args:
        name: for tables and messages.
        dim: size D of a vector.
        std: standard deviation of the random vectors that training starts from.
        seed: of these vectors.
    """

    has_files = True
    pads = False
    cpu_tokens = gpu_tokens = 131_072  # no products, no padding: large batches cost nothing

    def __init__(self, *, name: str, dim: int, std: float, seed: int) -> None:
        super().__init__()
        self.name = name
        self.dim = dim
        self.std = std
        self.seed = seed
        self.vectors = nn.Parameter(torch.zeros(0, dim))  # (V, D) once V is known

    def forward(self, tokens: Tokens) -> Tensor:
        mask = tokens.attention_mask.bool()  # (B, T)
        return self.embed_ids(tokens.input_ids[mask], mask.sum(dim=1))

    def embed_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        # Nothing to pad: the parts of all sentences in one row, and where each sentence begins. The mean has the
        # direction of the sum, and the kernel of the sum is ten times as fast. A sentence without parts has
        # sum 0, and 0 stays 0 under `unit`.
        return unit(F.embedding_bag(ids, self.vectors, lengths.cumsum(0) - lengths, mode="sum").float())

    @property
    def word_vectors(self) -> nn.Parameter:
        return self.vectors

    def _draw(self, rows: int) -> None:
        """Random vectors to start from, the same for the same seed on every device."""
        generator = torch.Generator().manual_seed(self.seed)
        random = torch.randn(rows, self.dim, generator=generator) * self.std
        self.vectors.data = random.to(self.vectors.device)


def write_table(folder: Path, vectors: Tensor, config: Mapping[str, object]) -> None:
    """Write the config and int8 vectors (V, D) with a scale for each row."""
    folder.mkdir(parents=True, exist_ok=True)
    vectors = vectors.detach().float().cpu()
    scale = vectors.abs().amax(dim=1).clamp(min=torch.finfo(torch.float32).tiny) / 127  # (V,)
    quantised = (vectors / scale[:, None]).round().to(torch.int8)
    (folder / VECTORS).write_bytes(save({"vectors": quantised, "scale": scale}))
    (folder / CONFIG).write_text(json.dumps(dict(config), indent=1) + "\n", encoding="utf-8")


def read_vectors(folder: Path, expected: tuple[int, int], *, says: str) -> Tensor:
    """The vectors (V, D) float32 that ``write_table`` wrote.

    Args:
        folder: of the files.
        expected: V and D.
        says: the files that say so, for a message.

    Raises:
        ValueError: the file has vectors of another shape.
    """
    stored = load_file(folder / VECTORS)
    if tuple(stored["vectors"].shape) != expected or len(stored["scale"]) != expected[0]:
        raise ValueError(
            f"{folder}: {says} for vectors of shape {expected}, {VECTORS} has {tuple(stored['vectors'].shape)}"
        )
    return stored["vectors"].float() * stored["scale"].float()[:, None]


def check_files(folder: Path, files: Sequence[str]) -> None:
    """Raise ``FileNotFoundError`` when one of a static encoder's files is missing."""
    for file in files:
        if not (folder / file).is_file():
            raise FileNotFoundError(
                f"{folder}: expected a static encoder here ({', '.join(files)}), but there is no {file}"
            )
