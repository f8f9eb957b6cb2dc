"""Vectors of the words of a sentence, and translation pairs aligned word by word with them."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tqdm import tqdm

from xsent.batch import WordPair
from xsent.models.encoder import Encoder, batches, longest_first
from xsent.models.sentence_encoder import SentenceEncoder
from xsent.models.static_encoder import UNKNOWN, StaticEncoder
from xsent.models.word_pieces import NO_WORD, rust_tokenizer, word_pieces

log = logging.getLogger(__name__)

# Pairs whose vectors are in memory at a time: enough to make batches of similar length of.
CHUNK = 1024


class PieceVectors(NamedTuple):
    """The P pieces of a sentence's words; a word that was cut off, or that no piece covers, has none."""

    vectors: NDArray[np.float32]  # (P, D)
    words: NDArray[np.int64]  # (P,) 0-based word of each piece, rising


class Link(Protocol):
    """Links words by the vectors of their pieces: ``xsent.text.alignment.linked_words`` with a matcher."""

    def __call__(
        self,
        source: NDArray[np.float32],
        target: NDArray[np.float32],
        source_words: NDArray[np.int64],
        target_words: NDArray[np.int64],
        /,
    ) -> tuple[tuple[int, int], ...]:
        """0-based links of source and target words, sorted."""
        ...


class EncoderAligner:
    """Word alignment by the vectors that an encoder has for the pieces of words.

    Args:
        encoder: a ``SentenceEncoder`` or a ``StaticEncoder``.
        layer: hidden state of the transformer that the vectors are taken from; 0 is its table of pieces. None takes
            ``depth``.
        depth: the same as a share of the transformer's layers, rounded; a static encoder has its table only.
        link: links the words of a pair.

    Attributes:
        unseen_words: of the last ``links``, how many words had no vector and so no link.

    Raises:
        ValueError: an encoder of another kind, or without such a layer.
    """

    def __init__(self, *, encoder: Encoder, layer: int | None, depth: float, link: Link) -> None:
        self.encoder = encoder
        self.layer = _layer(encoder, layer, depth)
        self.link = link
        self.unseen_words = 0

    def to(self, device: str | torch.device) -> Self:
        """Compute there from now on."""
        self.encoder.to(device)
        return self

    def links(self, pairs: Sequence[WordPair], *, progress: bool = False) -> list[tuple[tuple[int, int], ...]]:
        """0-based links of source and target words of each pair, sorted.

        Words that the encoder does not see (cut off after its ``max_length``, or without a piece) have no link; they
        are counted and said.
        """
        links = []
        words, seen = sum(len(side) for pair in pairs for side in pair), 0
        bar = tqdm(total=len(pairs), desc=f"aligning with {self.encoder.name}", disable=not progress, unit=" pairs")
        with bar:
            for start in range(0, len(pairs), CHUNK):
                chunk = pairs[start : start + CHUNK]
                # Both sides in one call: their sentences share batches of similar length.
                vectors = piece_vectors(self.encoder, [side for pair in chunk for side in pair], layer=self.layer)
                seen += sum(len(np.unique(sentence.words)) for sentence in vectors)
                for source, target in zip(vectors[::2], vectors[1::2], strict=True):
                    links.append(self.link(source.vectors, target.vectors, source.words, target.words))
                bar.update(len(chunk))
        self.unseen_words = words - seen
        if self.unseen_words:
            log.warning(
                "%s: %d of %d words have no vector (cut off, or unknown to the tokenizer): they get no link",
                self.encoder.name,
                self.unseen_words,
                words,
            )
        return links

    def digest(self) -> str:
        """Hex digest of everything that decides the links."""
        content = [self.encoder.digest(), self.layer, _described(self.link)]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def piece_vectors(encoder: Encoder, sentences: Sequence[Sequence[str]], *, layer: int) -> list[PieceVectors]:
    """Vectors of the pieces of all words of some sentences, batched by length.

    Args:
        encoder: a ``SentenceEncoder`` or a ``StaticEncoder``.
        sentences: as words; they are read with a space between them, after the encoder's prompt.
        layer: hidden state of the transformer, 0 its table of pieces; 0 for a static encoder.

    Raises:
        ValueError: an encoder of another kind.
    """
    if isinstance(encoder, StaticEncoder):
        return _rows_of_table(encoder, sentences)
    if isinstance(encoder, SentenceEncoder):
        return _hidden_states(encoder, sentences, layer)
    raise ValueError(f"{_kind(encoder)} has no vectors of words; choose a transformer or a static encoder")


def _rows_of_table(encoder: StaticEncoder, sentences: Sequence[Sequence[str]]) -> list[PieceVectors]:
    tokenizer = _tokenizer_of_table(encoder)
    table = encoder.vectors.detach().float().cpu().numpy()
    result = []
    for ids, words in word_pieces(tokenizer, sentences, special=False):
        # The tokenizer itself cuts nothing. What no piece covers says nothing, as in `tokenize`.
        seen = ((words != NO_WORD) & (ids != UNKNOWN))[: encoder.max_length].nonzero()[0]
        result.append(PieceVectors(table[ids[seen]], words[seen]))
    return result


def _tokenizer_of_table(encoder: StaticEncoder) -> Tokenizer:
    if encoder.tokenizer is None:
        raise ValueError(f"{_kind(encoder)} has no tokenizer yet: train it first, or choose encoder=mini")
    return encoder.tokenizer


def _hidden_states(encoder: SentenceEncoder, sentences: Sequence[Sequence[str]], layer: int) -> list[PieceVectors]:
    tokenizer = rust_tokenizer(encoder.tokenizer, encoder.name)
    pieces = word_pieces(tokenizer, [encoder.preprocessed(words) for words in sentences], prompt=encoder.prompt)
    lengths = np.array([len(sentence.ids) for sentence in pieces], dtype=np.int64)
    nothing = np.zeros((0, encoder.transformer.config.hidden_size), dtype=np.float32)
    result = [PieceVectors(nothing, np.zeros(0, dtype=np.int64))] * len(pieces)
    order = longest_first(lengths)
    with torch.inference_mode(), encoder.evaluating():
        for rows in batches(lengths[order], encoder.usual_tokens):
            batch = order[rows].tolist()
            ids, mask = encoder.collate([pieces[row].ids for row in batch])
            with encoder.fastest_attention():
                output = encoder.transformer(
                    input_ids=ids.to(encoder.device),
                    attention_mask=mask.to(encoder.device),
                    output_hidden_states=True,
                )
            vectors = output.hidden_states[layer].float().cpu().numpy()  # (B, T, D)
            for row, of_sentence in zip(batch, vectors, strict=True):
                seen = (pieces[row].words != NO_WORD).nonzero()[0]
                result[row] = PieceVectors(of_sentence[seen], pieces[row].words[seen])
    return result


def _layer(encoder: Encoder, layer: int | None, depth: float) -> int:
    """The hidden state to take, checked before any work."""
    if not isinstance(encoder, SentenceEncoder | StaticEncoder):
        raise ValueError(f"{_kind(encoder)} has no vectors of words; choose a transformer or a static encoder")
    if isinstance(encoder, StaticEncoder):
        _tokenizer_of_table(encoder)
    if not 0 <= depth <= 1:
        raise ValueError(f"aligner.depth={depth}: expected a share of the layers, from 0 to 1")
    layers = encoder.transformer.config.num_hidden_layers if isinstance(encoder, SentenceEncoder) else 0
    chosen = round(depth * layers) if layer is None else layer
    if not 0 <= chosen <= layers:
        raise ValueError(f"aligner.layer={chosen}: {_kind(encoder)} has hidden states 0 to {layers}")
    return chosen


def _kind(encoder: Encoder) -> str:
    return f"encoder {encoder.name} ({type(encoder).__name__})"


def _described(link: object) -> object:
    """Name and options of a function, those of functions among its options included."""
    if not isinstance(link, partial):
        return getattr(link, "__qualname__", link)
    return [_described(link.func), {key: _described(value) for key, value in sorted(link.keywords.items())}]
