"""A folder of sentence-transformers with token vectors (``StaticEmbedding``), such as an export of ``mini``."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

from xsent.batch import Tokens
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.sentence_transformers_folder import Normalize, Truncate, read_static_modules
from xsent.models.encoders.vector_table import VectorTable
from xsent.models.model_files import check_sums, read_weights

WEIGHTS = ("embedding.weight", "embeddings")  # name of the table in releases of the format


@dataclass(kw_only=True, eq=False, repr=False)
class StaticEmbeddingEncoder(Encoder):
    """Mean of the vectors of a sentence's tokens, mapped by the other modules of the folder."""

    pads = False
    cpu_token_budget = gpu_token_budget = VectorTable.cpu_token_budget

    name: str
    tokenizer: Tokenizer  # truncates by itself
    table: Tensor  # (V, D) float32
    layers: nn.Sequential  # linear maps, activations and normalisations; may be empty
    max_length: int | None = field(init=False)

    def __post_init__(self) -> None:
        self.vectors = nn.Parameter(self.table)
        linear = [layer for layer in self.layers if isinstance(layer, nn.Linear)]
        self.dim = linear[-1].out_features if linear else self.table.size(1)
        self.normalize = len(self.layers) > 0 and isinstance(self.layers[-1], Normalize)
        self.max_length = (self.tokenizer.truncation or {}).get("max_length")

    @classmethod
    def load(cls, *, name: str, path: str) -> Self:
        """Read the folder.

        Raises:
            ValueError: an unsupported module, or a file of an export is damaged.
            FileNotFoundError: a file is missing.
        """
        check_sums(Path(path))
        folder, layers = read_static_modules(Path(path))
        if not (folder / "tokenizer.json").is_file():
            raise FileNotFoundError(f"{folder}: expected tokenizer.json, found none")
        weights = read_weights(folder)
        tables = [weights[key].float() for key in WEIGHTS if key in weights]
        if not tables:
            raise ValueError(f"{folder}: expected a table {' or '.join(WEIGHTS)}, found {', '.join(sorted(weights))}")
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        if tables[0].dim() != 2 or len(tables[0]) < tokenizer.get_vocab_size():
            raise ValueError(
                f"{folder}: expected a vector for each of the {tokenizer.get_vocab_size()} tokens of tokenizer.json,"
                f" found a table of shape {tuple(tables[0].shape)}"
            )
        return cls(name=name, tokenizer=tokenizer, table=tables[0], layers=layers).eval()

    def _truncate_dim(self, dim: int) -> None:
        if self.dim == self.vectors.size(1) and all(isinstance(layer, Normalize) for layer in self.layers):
            self.vectors.data = self.vectors.data[:, :dim].clone()
            return
        self.layers.append(Truncate(self.dim, dim))
        if self.normalize:
            self.layers.append(Normalize())

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        encodings = self.tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def tokenizer_digest(self) -> str:
        return hashlib.sha256(self.tokenizer.to_str().encode()).hexdigest()

    def settings(self) -> dict[str, object]:
        return {"class": type(self).__name__, "pooling": "mean", "layers": [repr(layer) for layer in self.layers]}

    def forward(self, tokens: Tokens) -> Tensor:
        mask = tokens.attention_mask.bool()  # (B, T)
        return self.embed_ids(tokens.input_ids[mask], mask.sum(dim=1))

    def embed_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        means = F.embedding_bag(ids, self.vectors, lengths.cumsum(0) - lengths, mode="mean")
        # Linear maps in the precision of their own weights.
        mapped: Tensor = self.layers(means) if len(self.layers) else means
        return mapped.to(torch.promote_types(mapped.dtype, torch.float32))

    @property
    def word_vectors(self) -> nn.Parameter:
        return self.vectors
