"""Vocabulary transplant: a transformer keeps its body and gets the tokenizer of a multilingual static encoder."""

import copy
import logging
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from xsent.models.encoders.static import StaticEncoder
from xsent.models.encoders.static_embedding import StaticEmbeddingEncoder
from xsent.models.encoders.transformer import SentenceEncoder
from xsent.models.subwords import rust_tokenizer
from xsent.models.transplant.interpolation import new_embeddings
from xsent.models.transplant.pieces import match_pieces, scored_pieces, usage
from xsent.models.transplant.tokenizer import special_roles, transplanted_tokenizer

log = logging.getLogger(__name__)


class TransplantOptions(NamedTuple):
    """Settings of a transplant; ``conf/job/transplant.yaml`` explains each."""

    neighbours: int
    temperature: float
    norm: float | None
    min_count: int
    min_ratio: float
    anchor_count: int
    anchor_ratio: float


class TransplantReport(NamedTuple):
    """Counts of a transplant."""

    tokens: int  # of the new vocabulary, special ones included
    copied: int  # pieces
    interpolated: int  # pieces
    unmatched: int  # pieces
    anchors: int
    special: dict[str, int]  # special tokens and their ids in the source model

    def __str__(self) -> str:
        """One line for the log."""
        return (
            f"{self.tokens:,} tokens: {self.copied:,} copied, {self.interpolated:,} interpolated from"
            f" {self.anchors:,} anchors, {self.unmatched:,} unmatched, {len(self.special)} special"
            f" ({' '.join(self.special)})"
        )


def check_source(encoder: object, name: str) -> SentenceEncoder:
    """Return an encoder that can get another vocabulary.

    Raises:
        ValueError: it is no transformer, has no word embeddings or no Rust tokenizer, cannot be saved as a folder, or
            its tokenizer lacks a special token.
    """
    if not isinstance(encoder, SentenceEncoder):
        raise ValueError(f"--from {name}: expected an encoder of transformers, found {type(encoder).__name__}")
    try:
        table = encoder.transformer.get_input_embeddings()
    except NotImplementedError:
        table = None
    if not isinstance(table, nn.Embedding):
        kind = type(encoder.transformer).__name__
        raise ValueError(f"--from {name}: expected a model with word embeddings, found {kind} without a table of them")
    if not encoder.can_save:
        raise ValueError(f"--from {name}: its pooling or projection fits no folder of sentence-transformers")
    rust_tokenizer(encoder.tokenizer, f"--from {name}")
    special_roles(encoder.tokenizer, f"--from {name}")
    return encoder


def check_static(encoder: object, name: str) -> tuple[Tokenizer, Tensor]:
    """Tokenizer and vectors (V, D) of a static encoder.

    Raises:
        ValueError: it is not static, or has no unigram tokenizer.
    """
    if not isinstance(encoder, StaticEncoder | StaticEmbeddingEncoder) or encoder.tokenizer is None:
        raise ValueError(
            f"--tokenizer {name}: expected a trained static encoder, such as mini, found {type(encoder).__name__}"
        )
    try:
        size = len(scored_pieces(encoder.tokenizer))
    except ValueError as error:
        raise ValueError(f"--tokenizer {name}: {error}") from None
    return encoder.tokenizer, encoder.word_vectors.detach().float()[:size]


@torch.no_grad()
def transplant(
    source: SentenceEncoder,
    tokenizer: Tokenizer,
    static: Tensor,
    *,
    texts: Iterable[str] | None,
    options: TransplantOptions,
) -> tuple[SentenceEncoder, TransplantReport]:
    """Replace the vocabulary of an encoder; its other weights, pooling and normalisation stay.

    Args:
        source: as of ``check_source``; stays as it is.
        tokenizer: unigram tokenizer of a static encoder (``check_static``).
        static: (V, D) vectors of its pieces, in which translations are near each other.
        texts: sentences in the language of ``source``. A piece is copied if it is a word of the source's vocabulary
            that these texts use more than the tokenizer's training text does. None: all words of the vocabulary.

    Raises:
        ValueError: no piece is a word of the source, or none is used enough to be an anchor.
    """
    pieces = [piece for piece, _ in scored_pieces(tokenizer)]
    special_ids = [index for index in source.tokenizer.all_special_ids if index is not None]
    matches = match_pieces(pieces, rust_tokenizer(source.tokenizer, source.name), special_ids)
    if not (matches >= 0).any():
        raise ValueError(f"{source.name}: none of the {len(pieces):,} pieces is a word of its vocabulary")
    copied, anchors = _used(matches >= 0, tokenizer, texts, options)
    if not anchors.any():
        raise ValueError(
            f"{source.name}: {copied.sum():,} of its words are used in the text, none often enough to be an anchor:"
            f" expected more text, or lower anchor_count={options.anchor_count}, anchor_ratio={options.anchor_ratio:g}"
        )
    table = source.word_vectors.detach().float().cpu()
    result = new_embeddings(
        static.cpu(),
        table,
        torch.from_numpy(np.where(copied, matches, -1)),
        torch.from_numpy(anchors) & static.cpu().any(dim=1),
        neighbours=options.neighbours,
        temperature=options.temperature,
        norm=options.norm,
    )
    created = transplanted_tokenizer(tokenizer, source.tokenizer, name=source.name, max_length=source.max_length)
    embeddings = torch.empty(len(pieces) + len(created.special) - 1, table.size(1))
    embeddings[created.pieces] = result.embeddings
    for token, row in created.special.items():
        embeddings[created.tokenizer.convert_tokens_to_ids(token)] = table[row]
    encoder = _with_vocabulary(source, created.tokenizer, embeddings)
    unknown = created.pieces.index(created.tokenizer.unk_token_id)
    is_piece = torch.arange(len(pieces)) != unknown
    return encoder, TransplantReport(
        tokens=len(embeddings),
        copied=int((result.copied & is_piece).sum()),
        interpolated=int((~result.copied & ~result.unmatched & is_piece).sum()),
        unmatched=int((result.unmatched & is_piece).sum()),
        anchors=int(anchors.sum()),
        special=created.special,
    )


def _used(
    words: NDArray[np.bool_], tokenizer: Tokenizer, texts: Iterable[str] | None, options: TransplantOptions
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which words are copied, and which of these are anchors."""
    if texts is None:
        return words, words
    counts, ratios = usage(tokenizer, texts)
    copied = words & (counts >= options.min_count) & (ratios >= options.min_ratio)
    return copied, copied & (counts >= options.anchor_count) & (ratios >= options.anchor_ratio)


def _with_vocabulary(source: SentenceEncoder, tokenizer: Any, embeddings: Tensor) -> SentenceEncoder:
    transformer: Any = copy.deepcopy(source.transformer)
    transformer = transformer.cpu().float()
    table = nn.Embedding(embeddings.size(0), embeddings.size(1), padding_idx=tokenizer.pad_token_id, _weight=embeddings)
    transformer.set_input_embeddings(table)
    config = transformer.config
    config.vocab_size = len(embeddings)
    for role in ("pad", "bos", "eos", "sep", "cls"):
        if getattr(config, f"{role}_token_id", None) is not None:
            setattr(config, f"{role}_token_id", getattr(tokenizer, f"{role}_token_id"))
    encoder = SentenceEncoder(
        name=source.name,
        transformer=transformer,
        tokenizer=tokenizer,
        pooling=source.pooling,
        projection=copy.deepcopy(source.projection).cpu(),
        prompt=source.prompt,
        max_length=source.max_length,
        normalize=source.normalize,
    )
    encoder.token_projection = copy.deepcopy(source.token_projection)
    encoder.dim = source.dim
    return encoder.eval()
