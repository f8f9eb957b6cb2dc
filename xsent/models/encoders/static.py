"""Static encoder: the normalised mean of the vectors of a sentence's subword pieces."""

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Self

from tokenizers import Tokenizer
from torch import Tensor

from xsent.config_checks import check_choice, check_integer
from xsent.files.strict_json import read_json_object
from xsent.models.encoders.vector_table import CONFIG, VECTORS, VectorTable, check_files, read_vectors, write_table
from xsent.models.unigram_tokenizer import UNKNOWN_PIECE, train_unigram

log = logging.getLogger(__name__)

TOKENIZER = "tokenizer.json"
BUNDLED = ("micro", "mini")  # encoders of this package, in its folder `assets`


@dataclass(kw_only=True, eq=False, repr=False)
class StaticEncoder(VectorTable):
    """Mean of piece vectors, in any order."""

    vocab_size: int  # pieces V of the tokenizer that `fit_tokenizer` trains, the unknown one included
    coverage: float  # share of the text's characters that get a piece; the rarest do not
    lowercase: bool  # whether to lower-case the text
    max_length: int = field()  # pieces after which a sentence is truncated
    tokenizer: Tokenizer | None = field(init=False, default=None)
    unknown: int | None = field(init=False, default=None)  # id of the tokenizer's unknown piece, if it has one

    def fit_tokenizer(self, texts: Iterable[str]) -> None:
        """Train a unigram tokenizer and draw vectors for its pieces, unless there is a tokenizer.

        Args:
            texts: a sample in which each language has the share that it should have of the pieces.
        """
        if self.tokenizer is None:
            log.info("training a tokenizer of %s pieces", f"{self.vocab_size:,}")
            self._set_tokenizer(train_unigram(texts, self.vocab_size, coverage=self.coverage, lowercase=self.lowercase))

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        encodings = self._trained_tokenizer().encode_batch_fast(list(sentences), add_special_tokens=False)
        return [
            self._drop_unknown(encoding.ids)[: self.max_length] if sentence.strip() else []
            for sentence, encoding in zip(sentences, encodings, strict=True)
        ]

    def to_pieces(self, sentences: Sequence[str]) -> list[list[str]]:
        """Pieces of each sentence, whole, unknown ones included."""
        encodings = self._trained_tokenizer().encode_batch(list(sentences), add_special_tokens=False)
        return [encoding.tokens for encoding in encodings]

    def _drop_unknown(self, ids: list[int]) -> list[int]:
        if self.unknown not in ids:
            return ids
        # A vector for unknown pieces would pull together all sentences that have them; so would the word mark alone.
        known = [piece for piece in ids if piece != self.unknown]
        return known if any(piece != self._mark for piece in known) else []

    def tokenizer_digest(self) -> str:
        content = f"{self.max_length} {self._trained_tokenizer().to_str()}"
        return hashlib.sha256(content.encode()).hexdigest()

    def settings(self) -> dict[str, object]:
        return {"class": "StaticEncoder", "dim": self.dim, "pooling": "mean", "normalize": True}

    def embed_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        self._trained_tokenizer()
        return super().embed_ids(ids, lengths)

    def save(self, folder: Path) -> None:
        """Write ``config.json``, ``tokenizer.json`` and int8 vectors with a scale for each piece."""
        tokenizer = self._trained_tokenizer()
        write_table(folder, self.vectors, {"dim": self.dim, "max_length": self.max_length})
        (folder / TOKENIZER).write_text(tokenizer.to_str(), encoding="utf-8")

    @classmethod
    def load(cls, *, name: str, path: str | None) -> Self:
        """Read what ``save`` wrote.

        Args:
            name: of the encoder; without ``path``, one of those bundled with this package.
            path: the folder; None: the bundled encoder of that name.

        Raises:
            FileNotFoundError: the folder lacks a file.
            ValueError: the files do not fit each other, or no encoder of that name is bundled.
        """
        folder = Path(path) if path is not None else bundled_folder(name)
        check_files(folder, (CONFIG, TOKENIZER, VECTORS))
        config = read_json_object(folder / CONFIG)
        for key in ("dim", "max_length"):
            check_integer(f"{folder / CONFIG}: {key}", config.get(key), minimum=1)
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        size = tokenizer.get_vocab_size()
        vectors = read_vectors(folder, (size, config["dim"]))
        return cls.from_vectors(tokenizer, vectors, name=name, max_length=config["max_length"])

    @classmethod
    def from_vectors(cls, tokenizer: Tokenizer, vectors: Tensor, *, name: str, max_length: int) -> Self:
        """Encoder of the vectors (V, D) of a tokenizer's V pieces."""
        # Options of training a tokenizer and drawing vectors.
        unused: dict[str, Any] = {"coverage": 1.0, "lowercase": True, "std": 0.0, "seed": 0}
        encoder = cls(name=name, dim=vectors.size(1), vocab_size=len(vectors), max_length=max_length, **unused)
        encoder._set_tokenizer(tokenizer)
        encoder.vectors.data = vectors
        return encoder.eval()

    def get_extra_state(self) -> dict[str, str]:
        """The tokenizer, so that a checkpoint holds the complete encoder."""
        return {"tokenizer": "" if self.tokenizer is None else self.tokenizer.to_str()}

    def set_extra_state(self, state: dict[str, str]) -> None:
        """Do nothing: ``_load_from_state_dict`` has set the tokenizer before it loads the vectors."""

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        # The tokenizer first: its size is the number of vectors.
        state = state_dict.get(prefix + "_extra_state")
        if state and state["tokenizer"]:
            self._set_tokenizer(Tokenizer.from_str(state["tokenizer"]))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _trained_tokenizer(self) -> Tokenizer:
        if self.tokenizer is None:
            raise ValueError(
                f"encoder {self.name} has no tokenizer yet: a recipe trains it on its data"
                " (python train.py recipe=labse encoder=static)"
            )
        return self.tokenizer

    def _set_tokenizer(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._mark: int | None = tokenizer.token_to_id("▁")
        self.unknown = unknown_id(tokenizer)
        size = tokenizer.get_vocab_size()
        if len(self.vectors) != size:
            self._draw(size)


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """Id of the unknown piece; None if the tokenizer has none."""
    # A unigram model has the id alone, which the package does not give; its trainers call the piece so.
    unknown: int | None = tokenizer.token_to_id(getattr(tokenizer.model, "unk_token", None) or UNKNOWN_PIECE)
    return unknown


def bundled_folder(name: str) -> Path:
    """Folder of a bundled encoder inside this package.

    Raises:
        ValueError: no encoder of that name is bundled.
    """
    check_choice("encoder.name", name, BUNDLED)  # a name may come from a stored config: it opens no other folder
    return Path(str(resources.files("xsent"))) / "assets" / name
