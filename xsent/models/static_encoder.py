"""A static encoder: the mean of the vectors of a sentence's subword pieces, of length one."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from torch import Tensor

from xsent.models.unigram import train_unigram
from xsent.models.vector_table import CONFIG, VECTORS, VectorTable, check_files, read_vectors, write_table

log = logging.getLogger(__name__)

UNKNOWN = 0  # id of the unknown piece
TOKENIZER = "tokenizer.json"


class StaticEncoder(VectorTable):
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

    max_length: int

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
        super().__init__(name=name, dim=dim, std=std, seed=seed)
        self.vocab_size = vocab_size
        self.coverage = coverage
        self.lowercase = lowercase
        self.max_length = max_length
        self.tokenizer: Tokenizer | None = None

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

    def embed_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        self._ready()
        return super().embed_ids(ids, lengths)

    # ---- files

    def save(self, folder: Path) -> None:
        """Write ``config.json``, ``tokenizer.json`` and int8 vectors with a scale per piece."""
        tokenizer = self._ready()
        write_table(folder, self.vectors, {"dim": self.dim, "max_length": self.max_length})
        (folder / TOKENIZER).write_text(tokenizer.to_str(), encoding="utf-8")

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
        check_files(folder, (CONFIG, TOKENIZER, VECTORS))
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        size = tokenizer.get_vocab_size()
        vectors = read_vectors(folder, (size, config["dim"]), says=f"{TOKENIZER} and {CONFIG} ask")
        # Nothing is drawn or trained any more: what decides that plays no part.
        encoder = cls(
            name=name, dim=config["dim"], vocab_size=size, coverage=1.0, lowercase=True,
            max_length=config["max_length"], std=0.0, seed=0,
        )  # fmt: skip
        encoder._set_tokenizer(tokenizer)
        encoder.vectors.data = vectors
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
            self._draw(size)


def bundled_folder() -> Path:
    """Where the encoder ``mini`` lies inside this package."""
    return Path(str(resources.files("xsent"))) / "assets" / "mini"
