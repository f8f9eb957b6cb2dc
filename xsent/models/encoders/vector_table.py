"""Base class of static encoders: normalised sums of rows of one table, saved in 8 bits."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save
from torch import Tensor, nn

from xsent.batch import Tokens
from xsent.models.encoders.base import Encoder
from xsent.similarity import unit

CONFIG, VECTORS = "config.json", "vectors.safetensors"


@dataclass(kw_only=True, eq=False, repr=False)
class VectorTable(Encoder):
    """Normalised mean of the vectors of a sentence's ids, in any order."""

    can_save = True
    normalize = True
    pads = False
    cpu_token_budget = gpu_token_budget = 131_072  # no matrix products, no padding: large batches cost nothing

    name: str
    dim: int  # size D of a vector
    std: float  # this and the seed: of the normal distribution of the initial vectors
    seed: int

    def __post_init__(self) -> None:
        self.vectors = nn.Parameter(torch.zeros(0, self.dim))  # (V, D) once V is known

    def forward(self, tokens: Tokens) -> Tensor:
        mask = tokens.attention_mask.bool()  # (B, T)
        return self.embed_ids(tokens.input_ids[mask], mask.sum(dim=1))

    def embed_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        # The sum has the direction of the mean, and its kernel is ten times as fast. An empty sentence keeps the
        # vector 0, also under `unit`.
        return unit(F.embedding_bag(ids, self.vectors, lengths.cumsum(0) - lengths, mode="sum").float())

    def _truncate_dim(self, dim: int) -> None:
        self.vectors.data = self.vectors.data[:, :dim].clone()

    @property
    def word_vectors(self) -> nn.Parameter:
        return self.vectors

    def _draw(self, rows: int) -> None:
        """Draw initial vectors on the CPU, so that a seed gives the same ones on every device."""
        generator = torch.Generator().manual_seed(self.seed)
        vectors = torch.randn(rows, self.dim, generator=generator) * self.std
        self.vectors.data = vectors.to(self.vectors.device)


def write_table(folder: Path, vectors: Tensor, config: Mapping[str, object]) -> None:
    """Write the config and int8 vectors (V, D) with a scale for each row."""
    folder.mkdir(parents=True, exist_ok=True)
    vectors = vectors.detach().float().cpu()
    scale = vectors.abs().amax(dim=1).clamp(min=torch.finfo(torch.float32).tiny) / 127  # (V,)
    quantised = (vectors / scale[:, None]).round().to(torch.int8)
    (folder / VECTORS).write_bytes(save({"vectors": quantised, "scale": scale}))
    (folder / CONFIG).write_text(json.dumps(dict(config), indent=1) + "\n", encoding="utf-8")


def read_vectors(folder: Path, expected: tuple[int, int]) -> Tensor:
    """Read vectors (V, D) as float32 that ``write_table`` wrote.

    Raises:
        ValueError: they do not have the expected shape (V, D).
    """
    stored = load_file(folder / VECTORS)
    shape = tuple(stored["vectors"].shape)
    if shape != expected or len(stored["scale"]) != expected[0]:
        raise ValueError(f"{folder}: the other files need vectors of shape {expected}, {VECTORS} has {shape}")
    return stored["vectors"].float() * stored["scale"].float()[:, None]


def check_files(folder: Path, files: Sequence[str]) -> None:
    """Raise ``FileNotFoundError`` when a file of a static encoder is missing."""
    for file in files:
        if not (folder / file).is_file():
            raise FileNotFoundError(f"{folder}: expected a static encoder ({', '.join(files)}), found no {file}")
