"""LASER2 without fairseq: SentencePiece, a bidirectional LSTM, the maximum over the tokens.

Artetxe and Schwenk 2019 (arXiv:1812.10464); LASER2 of Heffernan et al. 2022 (arXiv:2205.12654).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from xsent.batch import Tokens
from xsent.models.encoder import Encoder
from xsent.models.laser_text import laser_normalized
from xsent.models.pooling import max_pool
from xsent.similarity import unit

# The first four ids of every fairseq dictionary.
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
PADDING, END, UNKNOWN = 1, 2, 3
HOME = "https://dl.fbaipublicfiles.com/nllb/laser/"


class LaserEncoder(Encoder):
    """The encoder half of LASER2.

    Args:
        name: for tables and messages.
        params: sizes, as the published file has them: ``num_embeddings``, ``embed_dim``, ``hidden_size``,
            ``num_layers``, ``bidirectional``.
        dictionary: id of every piece.
        pieces: SentencePiece model, serialised.
        max_length: tokens, the end included, after which a sentence is cut; None never cuts.
        normalize: whether vectors get length one; LASER's own have not.
    """

    padding_id = PADDING
    cpu_tokens = 8192  # a step of the LSTM multiplies one token of every sentence: many sentences at once

    def __init__(
        self,
        *,
        name: str,
        params: Mapping[str, Any],
        dictionary: Mapping[str, int],
        pieces: bytes,
        max_length: int | None,
        normalize: bool,
    ) -> None:
        super().__init__()
        self.name = name
        self.dictionary = {**dictionary, **{piece: id_ for id_, piece in enumerate(SPECIAL)}}
        self.max_length = max_length
        self.normalize = normalize
        self._pieces = pieces
        self._splitter = sentencepiece.SentencePieceProcessor(model_proto=pieces)
        self.embed_tokens = nn.Embedding(params["num_embeddings"], params["embed_dim"], padding_idx=PADDING)
        self.lstm = nn.LSTM(
            params["embed_dim"],
            params["hidden_size"],
            num_layers=params["num_layers"],
            bidirectional=params["bidirectional"],
            batch_first=True,
        )
        self.dim = params["hidden_size"] * (2 if params["bidirectional"] else 1)

    @classmethod
    def load(cls, *, name: str, path: str | None, max_length: int | None, normalize: bool) -> LaserEncoder:
        """Read the published files.

        Args:
            name: for tables and messages.
            path: folder with ``laser2.pt``, ``laser2.spm`` and, for weights that bring no dictionary,
                ``laser2.cvocab``; another single ``.pt`` and ``.spm`` will do.
            max_length, normalize: as in the class.

        Raises:
            FileNotFoundError: a file is missing; says where it can be had.
            ValueError: the weights are not those of a LASER2 encoder.
        """
        if path is None:
            raise FileNotFoundError(
                f"encoder {name} is not on the hub: fetch laser2.pt, laser2.spm and laser2.cvocab from {HOME}"
                " into a folder and give it with encoder.path=/a/local/folder"
            )
        folder = Path(path).expanduser()
        weights_file = _the_file(folder, ".pt")
        # Plain tensors and dictionaries: nothing of the file is executed.
        stored = torch.load(weights_file, map_location="cpu", weights_only=True)
        if not {"params", "model"} <= stored.keys():
            raise ValueError(f"{weights_file}: expected params and model of a LASER2 encoder, found {sorted(stored)}")
        dictionary = stored.get("dictionary") or _read_dictionary(_the_file(folder, ".cvocab"))
        encoder = cls(
            name=name,
            params=stored["params"],
            dictionary=dictionary,
            pieces=_the_file(folder, ".spm").read_bytes(),
            max_length=max_length,
            normalize=normalize,
        )
        try:
            encoder.load_state_dict(stored["model"])
        except RuntimeError as error:
            raise ValueError(f"{weights_file}: not a LASER2 encoder: {error}") from error
        return encoder.eval()

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        texts = [laser_normalized(sentence) for sentence in sentences]
        return [self._with_end(pieces) for pieces in self._splitter.encode(texts, out_type=str)]

    def _with_end(self, pieces: Sequence[str]) -> list[int]:
        # The end of a sentence alone says nothing: such a sentence has no vector.
        if not pieces:
            return []
        room = None if self.max_length is None else self.max_length - 1
        return [*(self.dictionary.get(piece, UNKNOWN) for piece in pieces[:room]), END]

    def tokenizer_digest(self) -> str:
        content = hashlib.sha256(self._pieces)
        content.update(json.dumps([self.dictionary, self.max_length], sort_keys=True).encode())
        return content.hexdigest()

    def settings(self) -> dict[str, object]:
        return {"class": "LaserEncoder", "pooling": "max", "normalize": self.normalize}

    def forward(self, tokens: Tokens) -> Tensor:
        mask = tokens.attention_mask
        embedded = self.embed_tokens(tokens.input_ids)  # (B, T, E)
        # Packed: the backward direction starts at a sentence's end, not at the padding. A sentence
        # without tokens is packed with one and pooled to 0.
        lengths = mask.sum(dim=1).clamp(min=1).cpu()
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=mask.size(1))
        vectors = max_pool(states.float(), mask)
        return unit(vectors) if self.normalize else vectors


def _the_file(folder: Path, ending: str) -> Path:
    published = folder / f"laser2{ending}"
    if published.is_file():
        return published
    found = sorted(folder.glob(f"*{ending}"))
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise FileNotFoundError(
            f"{folder}: expected laser2{ending} or a single *{ending}, found {names}; LASER2 is at {HOME}"
        )
    return found[0]


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
