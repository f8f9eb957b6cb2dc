"""Distil an encoder into static vectors: its vectors of single pieces, reduced by PCA and weighted by frequency (SIF).

The recipe is that of model2vec (Tulkens and van Dongen 2024, https://github.com/MinishLab/model2vec): a forward pass
for each piece of the vocabulary, principal components, smooth inverse frequencies (Arora et al. 2017).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, takewhile
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from xsent.models.encoders.pooled import PooledEncoder
from xsent.models.encoders.static import StaticEncoder, unknown_id
from xsent.models.encoders.static_embedding import StaticEmbeddingEncoder
from xsent.models.encoders.transformer import SentenceEncoder
from xsent.similarity import encoder_name

RESERVED = re.compile(r"\[unused\d+\]")  # entries of BERT's vocabulary that no text has
PROBE = "a"  # a text, to learn which ids surround those of a text
LINES = 4096  # tokenized at a time


class Pieces(NamedTuple):
    """The pieces of a tokenizer that get a vector, N of V."""

    tokenizer: Tokenizer  # neither pads nor truncates
    ids: list[int]  # of the N pieces: no special, unknown or reserved ones; frequent pieces come first in most


def tokenizer_of(embedder: object) -> Tokenizer:
    """A copy of an encoder's tokenizer, without padding and truncation.

    Raises:
        ValueError: the encoder has no fixed vocabulary of pieces, or the tokenizer does not do all its text rules.
    """
    tokenizer: Tokenizer | None = None
    if isinstance(embedder, StaticEncoder | StaticEmbeddingEncoder):
        tokenizer = embedder.tokenizer
    elif isinstance(embedder, SentenceEncoder) and embedder.preprocessing == "none":
        tokenizer = getattr(embedder.tokenizer, "backend_tokenizer", None)
    if tokenizer is None:
        raise ValueError(
            f"{encoder_name(embedder)}: expected a transformer with a Rust (fast) tokenizer, found"
            f" {type(embedder).__name__}, which has no vocabulary of pieces to distil; give one with --tokenizer,"
            " such as --tokenizer mini"
        )
    return without_limits(Tokenizer.from_str(tokenizer.to_str()))


def without_limits(tokenizer: Tokenizer) -> Tokenizer:
    """The same tokenizer, which from now on neither pads nor truncates."""
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def select_pieces(tokenizer: Tokenizer) -> Pieces:
    """The pieces of text: all but special tokens, the unknown piece and entries that are reserved.

    Raises:
        ValueError: the ids are not 0 to V - 1.
    """
    vocabulary = tokenizer.get_vocab()
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise ValueError(f"tokenizer: expected ids from 0 to {len(vocabulary) - 1}, found gaps between them")
    special = {id_ for id_, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    unused = special | {id_ for piece, id_ in vocabulary.items() if RESERVED.fullmatch(piece)}
    unknown = unknown_id(tokenizer)
    return Pieces(tokenizer, [id_ for id_ in range(len(vocabulary)) if id_ not in unused and id_ != unknown])


def piece_texts(pieces: Pieces) -> list[str]:
    """The text of each piece without marks of words; empty for a mark alone."""
    tokenizer = pieces.tokenizer
    decode = tokenizer.id_to_token if tokenizer.decoder is None else lambda id_: tokenizer.decode([id_])
    texts = [str(decode(id_)) for id_ in pieces.ids]
    return [text.removeprefix("##").replace("▁", " ").strip() for text in texts]


@torch.inference_mode()
def embed_pieces(encoder: SentenceEncoder, ids: Sequence[int]) -> Tensor:
    """Vectors of sentences of one piece each, by id, so that pieces inside of words have one: (N, D) on the CPU.

    Each piece stands where a text does, between prompt and special tokens. The vectors are not normalised: their
    lengths hold information that the weighted mean of a sentence uses.
    """
    empty, probe = encoder.empty_ids, encoder.prompted_ids([PROBE])[0]
    before = _common_start(empty, probe)
    after = _common_start(empty[len(before) :][::-1], probe[len(before) :][::-1])[::-1]
    width = len(before) + 1 + len(after)
    parts = []
    with encoder.eval_mode(), unnormalized(encoder):
        size = max(1, encoder.token_budget // width)
        for start in range(0, len(ids), size):
            batch = torch.tensor([[*before, id_, *after] for id_ in ids[start : start + size]], device=encoder.device)
            lengths = torch.full((len(batch),), width, device=encoder.device)
            parts.append(encoder.embed_ids(batch.flatten(), lengths).float().cpu())
    return torch.cat(parts)


def _common_start(first: Sequence[int], second: Sequence[int]) -> list[int]:
    return [id_ for id_, _ in takewhile(lambda ids: ids[0] == ids[1], zip(first, second, strict=False))]


@contextmanager
def unnormalized(embedder: object) -> Iterator[None]:
    """Vectors of their own length in a ``with`` block, of an encoder that normalises them at the end."""
    normalizes = isinstance(embedder, PooledEncoder) and embedder.normalize
    if not normalizes:
        yield
        return
    assert isinstance(embedder, PooledEncoder)
    embedder.normalize = False
    try:
        yield
    finally:
        embedder.normalize = True


class Reduced(NamedTuple):
    """Centred vectors on fewer axes."""

    vectors: Tensor  # (N, dim) float64, of mean 0
    variance: float  # share of the variance that is kept


def principal_components(vectors: Tensor, dim: int) -> Reduced:
    """Centre vectors (N, D) and project them on their first ``dim`` principal components, by decreasing variance.

    The largest number of each direction is positive, so that the result does not depend on the solver. With ``dim`` D
    the vectors keep their axes: a rotation would change no cosine, and a student that goes on to learn the vectors of
    its teacher starts in their space.

    Raises:
        ValueError: ``dim`` exceeds D, or there are too few vectors.
    """
    if dim > vectors.size(1):
        raise ValueError(f"dim={dim}: expected at most the encoder's {vectors.size(1)}")
    if len(vectors) <= dim:
        raise ValueError(f"dim={dim}: expected fewer than the {len(vectors)} pieces with a vector")
    centred = vectors.double() - vectors.double().mean(dim=0)
    if dim == vectors.size(1):
        return Reduced(centred, 1.0)
    variances, directions = torch.linalg.eigh(centred.T @ centred)  # in increasing order
    directions = directions.flip(1)[:, :dim]  # (D, dim)
    largest = directions.gather(0, directions.abs().argmax(dim=0, keepdim=True))  # (1, dim)
    kept, total = variances.flip(0)[:dim].sum().item(), variances.sum().item()
    return Reduced(centred @ (directions * largest.sign()), kept / total if total else 1.0)


def zipf_frequencies(count: int) -> Tensor:
    """Relative frequencies (N,) of pieces of ranks 1 to N by Zipf's law: proportional to 1 / rank."""
    inverse = torch.arange(1, count + 1, dtype=torch.float64).reciprocal()
    return inverse / inverse.sum()


def count_frequencies(pieces: Pieces, texts: Iterable[str]) -> Tensor:
    """Relative frequencies (N,) of the pieces in texts.

    Raises:
        ValueError: the texts have none of the pieces.
    """
    counts = np.zeros(pieces.tokenizer.get_vocab_size(), dtype=np.int64)
    remaining = iter(texts)
    while chunk := list(islice(remaining, LINES)):
        for encoding in pieces.tokenizer.encode_batch_fast(chunk, add_special_tokens=False):
            np.add.at(counts, encoding.ids, 1)
    of_pieces = torch.from_numpy(counts[pieces.ids]).double()
    if not of_pieces.any():
        raise ValueError("expected text with pieces of the tokenizer, found none")
    return of_pieces / of_pieces.sum()


def sif_weights(frequencies: Tensor, coefficient: float) -> Tensor:
    """Smooth inverse frequency a / (a + p) of each relative frequency p: (N,); a is the coefficient.

    Source:
        Arora, Liang and Ma 2017 (ICLR, "A Simple but Tough-to-Beat Baseline for Sentence Embeddings"). Differs from the
        paper: the first principal component of the sentences is not removed, as in model2vec; the pieces are centred.
    """
    return coefficient / (coefficient + frequencies)
