"""A static encoder: the mean of the vectors of a sentence's subword pieces, of length one."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save
from tokenizers import Tokenizer
from torch import Tensor, nn

from xsent.batch import Tokens
from xsent.models.encoder import Encoder
from xsent.models.unigram import train_unigram
from xsent.similarity import unit

log = logging.getLogger(__name__)

UNKNOWN = 0  # id of the unknown piece
FILES = ("config.json", "tokenizer.json", "vectors.safetensors")


class StaticEncoder(Encoder):
    """Mean of piece vectors; the order of the pieces plays no part.

    Args:
        name: for tables and messages.
        dim: size D of a vector.
        vocab_size: pieces V of the tokenizer that ``prepare`` trains, the unknown one included.
        coverage: share of the text's characters that get a piece; the rarest are left out.
        lowercase: whether upper and lower case are one.
        max_length: pieces of a sentence that are read.
        std: standard deviation of the random vectors that training starts from.
        seed: of these vectors.
    """

    has_files = True
    pads = False
    cpu_tokens = gpu_tokens = 131_072  # no products, no padding: large batches cost nothing

    def __init__(
        self,
        *,
        name: str,
        dim: int,
        vocab_size: int,
        coverage: float,
        lowercase: bool,
        max_length: int,
        std: float,
        seed: int,
    ) -> None:
        super().__init__()
        self.name = name
        self.dim = dim
        self.vocab_size = vocab_size
        self.coverage = coverage
        self.lowercase = lowercase
        self.max_length = max_length
        self.std = std
        self.seed = seed
        self.tokenizer: Tokenizer | None = None
        self.vectors = nn.Parameter(torch.zeros(0, dim))  # (V, D) once there is a tokenizer

    # ---- text to ids

    def prepare(self, texts: Iterable[str]) -> None:
        """Train a unigram tokenizer and draw random vectors for its pieces, unless that is done.

        Args:
            texts: a sample in which every language has the share that it should have of the pieces.
        """
        if self.tokenizer is None:
            log.info("training a tokenizer of %s pieces", f"{self.vocab_size:,}")
            self._set_tokenizer(train_unigram(texts, self.vocab_size, coverage=self.coverage, lowercase=self.lowercase))

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        encodings = self._ready().encode_batch_fast(list(sentences), add_special_tokens=False)
        return [
            self._known(encoding.ids)[: self.max_length] if sentence.strip() else []
            for sentence, encoding in zip(sentences, encodings, strict=True)
        ]

    def _known(self, ids: list[int]) -> list[int]:
        if UNKNOWN not in ids:
            return ids
        # What no piece covers says nothing; a vector for it would pull all such sentences together. So
        # would the mark of a word's beginning, were it all that is left.
        known = [piece for piece in ids if piece != UNKNOWN]
        return known if any(piece != self._mark for piece in known) else []

    def tokenizer_digest(self) -> str:
        content = f"{self.max_length} {self._ready().to_str()}"
        return hashlib.sha256(content.encode()).hexdigest()

    def settings(self) -> dict[str, object]:
        return {"class": "StaticEncoder", "dim": self.dim, "pooling": "mean", "normalize": True}

    # ---- ids to vectors

    def forward(self, tokens: Tokens) -> Tensor:
        mask = tokens.attention_mask.bool()  # (B, T)
        return self.embed_ids(tokens.input_ids[mask], mask.sum(dim=1))

    def embed_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        # Nothing to pad: the pieces of all sentences in one row, and where each sentence begins.
        self._ready()
        # The mean has the direction of the sum, and the kernel of the sum is ten times as fast. A sentence
        # without pieces has sum 0, and 0 stays 0 under `unit`.
        return unit(F.embedding_bag(ids, self.vectors, lengths.cumsum(0) - lengths, mode="sum").float())

    @property
    def word_vectors(self) -> nn.Parameter:
        return self.vectors

    # ---- files

    def save(self, folder: Path) -> None:
        """Write ``config.json``, ``tokenizer.json`` and int8 vectors with a scale per piece."""
        tokenizer = self._ready()
        folder.mkdir(parents=True, exist_ok=True)
        vectors = self.vectors.detach().float().cpu()
        scale = vectors.abs().amax(dim=1).clamp(min=torch.finfo(torch.float32).tiny) / 127  # (V,)
        quantised = (vectors / scale[:, None]).round().to(torch.int8)
        (folder / "vectors.safetensors").write_bytes(save({"vectors": quantised, "scale": scale}))
        (folder / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")
        config = {"dim": self.dim, "max_length": self.max_length}
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, *, name: str, path: str | None) -> StaticEncoder:
        """Read what ``save`` wrote.

        Args:
            name: for tables and messages.
            path: the folder; None is the encoder that comes with this package.

        Raises:
            FileNotFoundError: a file is missing from the folder.
            ValueError: the files do not belong together.
        """
        folder = Path(path) if path is not None else bundled_folder()
        for file in FILES:
            if not (folder / file).is_file():
                raise FileNotFoundError(
                    f"{folder}: expected a static encoder here ({', '.join(FILES)}), but there is no {file}"
                )
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        stored = load_file(folder / "vectors.safetensors")
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        expected = (tokenizer.get_vocab_size(), config["dim"])
        if tuple(stored["vectors"].shape) != expected or len(stored["scale"]) != expected[0]:
            raise ValueError(
                f"{folder}: tokenizer.json and config.json ask for vectors of shape {expected},"
                f" vectors.safetensors has {tuple(stored['vectors'].shape)}"
            )
        # Nothing is drawn or trained any more: what decides that plays no part.
        encoder = cls(
            name=name, dim=config["dim"], vocab_size=expected[0], coverage=1.0, lowercase=True,
            max_length=config["max_length"], std=0.0, seed=0,
        )  # fmt: skip
        encoder._set_tokenizer(tokenizer)
        encoder.vectors.data = stored["vectors"].float() * stored["scale"].float()[:, None]
        return encoder.eval()

    # ---- checkpoints

    def get_extra_state(self) -> dict[str, str]:
        """The tokenizer, so that a checkpoint holds all of the encoder."""
        return {"tokenizer": "" if self.tokenizer is None else self.tokenizer.to_str()}

    def set_extra_state(self, state: dict[str, str]) -> None:
        """Nothing is left to do: the tokenizer was taken over before the vectors, by the method below."""

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        # The vectors' number of rows is the tokenizer's, so it has to be there first.
        state = state_dict.get(prefix + "_extra_state")
        if state and state["tokenizer"]:
            self._set_tokenizer(Tokenizer.from_str(state["tokenizer"]))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    # ---- the rest

    def _ready(self) -> Tokenizer:
        if self.tokenizer is None:
            raise RuntimeError(
                f"encoder {self.name} has no tokenizer yet: a recipe trains it on its data"
                " (python train.py recipe=labse encoder=static)"
            )
        return self.tokenizer

    def _set_tokenizer(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._mark: int | None = tokenizer.token_to_id("▁")
        size = tokenizer.get_vocab_size()
        if len(self.vectors) != size:
            generator = torch.Generator().manual_seed(self.seed)
            random = torch.randn(size, self.dim, generator=generator) * self.std
            self.vectors.data = random.to(self.vectors.device)


def bundled_folder() -> Path:
    """Where the encoder ``mini`` lies inside this package."""
    return Path(str(resources.files("xsent"))) / "assets" / "mini"
