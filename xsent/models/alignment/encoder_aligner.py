"""Word alignment of translation pairs by an encoder's word vectors."""

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from xsent.batch import WordPair
from xsent.models.batching import batch_slices, longest_first
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.static import StaticEncoder
from xsent.models.encoders.transformer import SentenceEncoder
from xsent.models.subwords import NO_WORD, encode_words, rust_tokenizer

log = logging.getLogger(__name__)

CHUNK = 1024  # pairs whose vectors are in memory together: enough for batches of similar length


class PieceVectors(NamedTuple):
    """The P pieces of a sentence's words; truncated and unknown words have none."""

    vectors: NDArray[np.float32]  # (P, D)
    words: NDArray[np.int64]  # (P,) 0-based word of each piece, ascending


# (vectors of the source, of the target, words of the source's vectors, of the target's) -> sorted 0-based links, such
# as `xsent.text.annotation.word_alignment.link_words` with a matcher.
LinkWords = Callable[
    [NDArray[np.float32], NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]], tuple[tuple[int, int], ...]
]


class EncoderAligner:
    """Word alignment by the vectors that a ``SentenceEncoder`` or a ``StaticEncoder`` has for the pieces of words.

    Args:
        layer: hidden state of the transformer to use; 0 is its embedding table. None: by ``depth``.
        depth: the layer as a share of the transformer's layers, rounded; a static encoder has its table only.

    Attributes:
        unseen_words: words of the last ``align`` without a vector, and so without a link.
    """

    def __init__(self, *, encoder: Encoder, layer: int | None, depth: float, link: LinkWords) -> None:
        if not isinstance(encoder, Encoder):
            raise ValueError("word alignment: a run with heads has no word vectors; choose a transformer or mini")
        self.encoder = encoder
        self.layer = choose_layer(encoder, layer, depth)
        self.link = link
        self.unseen_words = 0

    def to(self, device: str | torch.device) -> Self:
        self.encoder.to(device)
        return self

    def align(self, pairs: Sequence[WordPair], *, progress: bool = False) -> list[tuple[tuple[int, int], ...]]:
        """Return sorted 0-based links of source and target words for each pair.

        Words without a vector (truncated, or unknown to the tokenizer) have no link; a warning gives their number.
        """
        links = []
        words, seen = sum(len(side) for pair in pairs for side in pair), 0
        bar = tqdm(total=len(pairs), desc=f"aligning with {self.encoder.name}", disable=not progress, unit=" pairs")
        with bar:
            for start in range(0, len(pairs), CHUNK):
                chunk = pairs[start : start + CHUNK]
                # Both sides in one call, so that they share batches of similar length.
                vectors = piece_vectors(self.encoder, [side for pair in chunk for side in pair], layer=self.layer)
                seen += sum(len(np.unique(sentence.words)) for sentence in vectors)
                for source, target in zip(vectors[::2], vectors[1::2], strict=True):
                    links.append(self.link(source.vectors, target.vectors, source.words, target.words))
                bar.update(len(chunk))
        self.unseen_words = words - seen
        if self.unseen_words:
            message = "%s: %d of %d words have no vector (truncated, or unknown to the tokenizer) and get no link"
            log.warning(message, self.encoder.name, self.unseen_words, words)
        return links

    def digest(self) -> str:
        """Hex digest of everything that determines the links."""
        content = [self.encoder.digest(), self.layer, _describe(self.link)]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def piece_vectors(encoder: Encoder, sentences: Sequence[Sequence[str]], *, layer: int) -> list[PieceVectors]:
    """Return vectors of the pieces of all words, computed in batches of similar length.

    Args:
        encoder: a ``SentenceEncoder``, or a ``StaticEncoder`` with ``layer`` 0.
        sentences: as words, which are joined by spaces after the encoder's prompt.
        layer: hidden state of the transformer, 0 its embedding table.
    """
    if isinstance(encoder, StaticEncoder):
        return _table_rows(encoder, sentences)
    if isinstance(encoder, SentenceEncoder):
        return _hidden_states(encoder, sentences, layer)
    raise ValueError(f"{_describe_encoder(encoder)} has no word vectors; choose a transformer or a static encoder")


def _table_rows(encoder: StaticEncoder, sentences: Sequence[Sequence[str]]) -> list[PieceVectors]:
    if encoder.tokenizer is None:
        raise ValueError(f"{_describe_encoder(encoder)} has no tokenizer yet: train it first, or choose encoder=mini")
    table = encoder.vectors.detach().float().cpu().numpy()
    result = []
    for ids, words in encode_words(encoder.tokenizer, sentences, special=False):
        # This tokenizer does not truncate. Unknown pieces are dropped, as in `tokenize`.
        seen = ((words != NO_WORD) & (ids != encoder.unknown))[: encoder.max_length].nonzero()[0]
        result.append(PieceVectors(table[ids[seen]], words[seen]))
    return result


def _hidden_states(encoder: SentenceEncoder, sentences: Sequence[Sequence[str]], layer: int) -> list[PieceVectors]:
    tokenizer = rust_tokenizer(encoder.tokenizer, encoder.name)
    pieces = encode_words(tokenizer, [encoder.preprocess(words) for words in sentences], prompt=encoder.prompt)
    lengths = np.array([len(sentence.ids) for sentence in pieces], dtype=np.int64)
    empty = np.zeros((0, encoder.transformer.config.hidden_size), dtype=np.float32)
    result = [PieceVectors(empty, np.zeros(0, dtype=np.int64))] * len(pieces)
    order = longest_first(lengths)
    with torch.inference_mode(), encoder.eval_mode():
        for rows in batch_slices(lengths[order], encoder.token_budget):
            batch = order[rows].tolist()
            ids, mask = encoder.collate([pieces[row].ids for row in batch])
            with encoder.fastest_attention():
                output = encoder.transformer(
                    input_ids=ids.to(encoder.device), attention_mask=mask.to(encoder.device), output_hidden_states=True
                )
            vectors = output.hidden_states[layer].float().cpu().numpy()  # (B, T, D)
            for row, sentence_vectors in zip(batch, vectors, strict=True):
                seen = (pieces[row].words != NO_WORD).nonzero()[0]
                result[row] = PieceVectors(sentence_vectors[seen], pieces[row].words[seen])
    return result


def choose_layer(encoder: Encoder, layer: int | None, depth: float) -> int:
    """The hidden state that has the word vectors: ``layer``, or that at a share of the transformer's layers.

    Raises:
        ValueError: the encoder has no word vectors, or no such layer.
    """
    piece_vectors(encoder, [], layer=0)  # raises for an encoder without word vectors
    if not 0 <= depth <= 1:
        raise ValueError(f"aligner.depth={depth}: expected a share of the layers, from 0 to 1")
    layers = encoder.transformer.config.num_hidden_layers if isinstance(encoder, SentenceEncoder) else 0
    chosen = round(depth * layers) if layer is None else layer
    if not 0 <= chosen <= layers:
        raise ValueError(f"aligner.layer={chosen}: {_describe_encoder(encoder)} has hidden states 0 to {layers}")
    return chosen


def _describe_encoder(encoder: Encoder) -> str:
    return f"encoder {encoder.name} ({type(encoder).__name__})"


def _describe(function: object) -> object:
    """Name and options of a function, including those of functions among its options."""
    if not isinstance(function, partial):
        return getattr(function, "__qualname__", function)
    return [_describe(function.func), {key: _describe(value) for key, value in sorted(function.keywords.items())}]
