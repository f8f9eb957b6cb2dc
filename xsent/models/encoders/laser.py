"""LASER2 encoder without fairseq: SentencePiece, bidirectional LSTM, max-pooling.

Artetxe and Schwenk 2019 (arXiv:1812.10464); LASER2 of Heffernan et al. 2022 (arXiv:2205.12654).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import Any, Self

import sentencepiece
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from xsent.batch import Tokens
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.laser_normalization import normalize_laser
from xsent.models.model_files import check_layers
from xsent.models.pooling import max_pool
from xsent.similarity import unit

# The first four ids of every fairseq dictionary.
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
PADDING, END, UNKNOWN = 1, 2, 3
DOWNLOAD_URL = "https://dl.fbaipublicfiles.com/nllb/laser/"


@dataclass(kw_only=True, eq=False, repr=False)
class LaserEncoder(Encoder):
    """The encoder half of LASER2."""

    padding_id = PADDING
    cpu_token_budget = 8192  # an LSTM step multiplies one token of each sentence: use many sentences

    name: str
    # Sizes, as in the published file: `num_embeddings`, `embed_dim`, `hidden_size`, `num_layers`, `bidirectional`.
    params: InitVar[Mapping[str, Any]]
    dictionary: Mapping[str, int]  # id of each piece
    pieces: bytes  # SentencePiece model, serialised
    max_length: int | None = field()  # tokens after which a sentence is truncated, the end token included
    normalize: bool  # whether vectors get length one; LASER's own do not

    def __post_init__(self, params: Mapping[str, Any]) -> None:
        self.dictionary = {**self.dictionary, **{piece: id_ for id_, piece in enumerate(SPECIAL)}}
        self._splitter = sentencepiece.SentencePieceProcessor(model_proto=self.pieces)
        self.embed_tokens = nn.Embedding(params["num_embeddings"], params["embed_dim"], padding_idx=PADDING)
        self.lstm = nn.LSTM(
            params["embed_dim"],
            params["hidden_size"],
            num_layers=params["num_layers"],
            bidirectional=params["bidirectional"],
            batch_first=True,
        )
        self.dim = self._full_dim = params["hidden_size"] * (2 if params["bidirectional"] else 1)

    @classmethod
    def load(cls, *, name: str, path: str | None, max_length: int | None, normalize: bool) -> Self:
        """Load the published files.

        Args:
            path: folder with ``laser2.pt``, ``laser2.spm`` and, if the weights have no dictionary, ``laser2.cvocab``;
                files of other names are read if there is one of each kind.

        Raises:
            FileNotFoundError: a file is missing; the message gives the download address.
            ValueError: the weights are not those of a LASER2 encoder.
        """
        if path is None:
            raise FileNotFoundError(
                f"encoder {name} is not on the hub: fetch laser2.pt, laser2.spm and laser2.cvocab from {DOWNLOAD_URL}"
                " into a folder and give it with encoder.path=/a/local/folder"
            )
        folder = Path(path).expanduser()
        weights_file = _find_file(folder, ".pt")
        # weights_only: tensors and dictionaries; no code of the file is executed.
        stored = torch.load(weights_file, map_location="cpu", weights_only=True)
        if not {"params", "model"} <= stored.keys():
            raise ValueError(f"{weights_file}: expected params and model of a LASER2 encoder, found {sorted(stored)}")
        check_layers(stored["params"], weights_file)
        encoder = cls(
            name=name,
            params=stored["params"],
            dictionary=stored.get("dictionary") or _read_dictionary(_find_file(folder, ".cvocab")),
            pieces=_find_file(folder, ".spm").read_bytes(),
            max_length=max_length,
            normalize=normalize,
        )
        try:
            encoder.load_state_dict(stored["model"])
        except RuntimeError as error:
            raise ValueError(f"{weights_file}: not a LASER2 encoder: {error}") from error
        return encoder.eval()

    def _truncate_dim(self, dim: int) -> None:
        """Do nothing: ``forward`` truncates to ``dim``."""

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        limit = None if self.max_length is None else self.max_length - 1
        return [
            [*(self.dictionary.get(piece, UNKNOWN) for piece in pieces[:limit]), END] if pieces else []
            for pieces in self.to_pieces(sentences)
        ]

    def to_pieces(self, sentences: Sequence[str]) -> list[list[str]]:
        """SentencePiece pieces of each sentence, whole, as LASER normalises it."""
        pieces: list[list[str]] = self._splitter.encode([normalize_laser(text) for text in sentences], out_type=str)
        return pieces

    def tokenizer_digest(self) -> str:
        content = hashlib.sha256(self.pieces)
        content.update(json.dumps([self.dictionary, self.max_length], sort_keys=True).encode())
        return content.hexdigest()

    def settings(self) -> dict[str, object]:
        settings: dict[str, object] = {"class": "LaserEncoder", "pooling": "max", "normalize": self.normalize}
        return settings if self.dim == self._full_dim else settings | {"dim": self.dim}

    def forward(self, tokens: Tokens) -> Tensor:
        mask = tokens.attention_mask
        embedded = self.embed_tokens(tokens.input_ids)  # (B, T, E)
        # Packed, so that the backward direction starts at a sentence's end and not at the padding. A sentence without
        # tokens is packed with one and pooled to 0.
        lengths = mask.sum(dim=1).clamp(min=1).cpu()
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=mask.size(1))
        vectors = max_pool(states.float(), mask)[:, : self.dim]
        return unit(vectors) if self.normalize else vectors


def _find_file(folder: Path, ending: str) -> Path:
    published = folder / f"laser2{ending}"
    if published.is_file():
        return published
    paths = sorted(folder.glob(f"*{ending}"))
    if len(paths) != 1:
        names = ", ".join(path.name for path in paths) or "none"
        raise FileNotFoundError(
            f"{folder}: expected laser2{ending} or a single *{ending}, found {names}; LASER2 is at {DOWNLOAD_URL}"
        )
    return paths[0]


def _read_dictionary(path: Path) -> dict[str, int]:
    """A fairseq dictionary: a piece and its count on each line, ids from 4."""
    lines = path.read_text(encoding="utf-8").split("\n")
    dictionary: dict[str, int] = {}
    for number, line in enumerate(filter(None, lines), start=1):
        piece, space, count = line.rpartition(" ")
        if not space or not count.isdigit():
            raise ValueError(f"{path}:{number}: expected a piece and its count, found {line!r}")
        dictionary[piece] = len(SPECIAL) + number - 1
    return dictionary
