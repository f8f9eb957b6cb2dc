"""Small BERT to train from scratch, initialised from the piece vectors of a static encoder."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, processors
from torch import nn
from transformers import BertConfig, BertModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from xsent.models.encoders.static import UNKNOWN, StaticEncoder
from xsent.models.encoders.transformer import SentenceEncoder
from xsent.models.unigram_tokenizer import UNKNOWN_PIECE

PAD, CLS, SEP, MASK = SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")


def small_transformer(
    *,
    name: str,
    path: str | None,
    layers: int,
    heads: int,
    feed_forward: int,
    dropout: float,
    vector_std: float,
    comparing: Mapping[str, float] | None,
    max_length: int,
    pooling: str,
    seed: int,
) -> SentenceEncoder:
    """Build a BERT of a few layers over the pieces and piece vectors of a static encoder.

    It has the special tokens, segments and positions that pairs of sentences need. Its layers start small, so its first
    sentence embeddings are close to the static encoder's, except with ``comparing``.

    Args:
        path: folder of the static encoder; None: the encoder bundled with this package.
        layers, heads, feed_forward, dropout: of the transformer; its width is the static encoder's.
        vector_std: standard deviation that the piece vectors are scaled to; that of positions and segments is 0.02.
        comparing: options of ``_initialise_comparison``: the first layer starts by comparing the two sides of a pair.
            None: it is drawn like the others.
        max_length: tokens of a sentence or a pair, special ones included.
        pooling: as in ``SentenceEncoder``.
    """
    static = StaticEncoder.load(name=name, path=path)
    if static.dim % heads:
        raise ValueError(f"encoder.heads={heads}: expected a divisor of {static.dim}, the size of a piece vector")
    tokenizer = _pair_tokenizer(static, max_length)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=static.dim,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=feed_forward,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        max_position_embeddings=max_length,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        transformer = BertModel(config)
    table = transformer.embeddings.word_embeddings.weight
    vectors = static.vectors.detach()
    with torch.no_grad():
        table[: len(vectors)] = vectors * (vector_std / vectors.std())
        table[UNKNOWN].zero_()
        if comparing is not None:
            _initialise_comparison(transformer, torch.Generator().manual_seed(seed), **comparing)
    return SentenceEncoder(
        name=name,
        transformer=transformer,
        tokenizer=tokenizer,
        pooling=(pooling,),
        projection=nn.Sequential(),
        prompt="",
        max_length=max_length,
        normalize=True,
    ).eval()


def trained_small(
    *,
    name: str,
    path: str,
    pooling: str | None,
    projection: int | None,
    prompt: str | None,
    max_length: int | None,
    normalize: bool | None,
) -> SentenceEncoder:
    """Load the small transformer that ``make small`` trained; options as in ``SentenceEncoder.load``.

    Raises:
        FileNotFoundError: it has not been trained.
    """
    if not Path(path).is_dir():
        raise FileNotFoundError(
            f"encoder.path={path}: {name} is not bundled with the package; `make small BITEXT=<folder>` trains it there"
            " (docs/small.md), or give its folder with encoder.path or XSENT_SMALL"
        )
    return SentenceEncoder.load(
        name=name,
        path=path,
        revision=None,
        pooling=pooling,
        projection=projection,
        prompt=prompt,
        max_length=max_length,
        normalize=normalize,
        trust_remote_code=False,
    )


def _initialise_comparison(
    transformer: BertModel,
    generator: torch.Generator,
    *,
    sharpness: float,
    other_side: float,
    subtracted: float,
    segment: float,
) -> None:
    """Let the first layer attend to similar tokens on the other side of a pair and subtract them.

    Translations have similar piece vectors, so the rest of a token is what the other side does not say. Queries and
    keys share one projection, as observed after training (Trockman and Kolter 2023, arXiv:2305.09828). One direction
    separates the segments; queries and keys have it with opposite signs. In a single sentence, which has one segment, a
    token attends to itself.

    Ours: with BERT's initialisation, a transformer that never saw pairs did not learn to compare them from ten thousand
    pairs (docs/small.md).

    Args:
        sharpness: of attention by similarity: squared length of a row of queries and keys.
        other_side: likewise, for the direction that separates the segments.
        subtracted: share of the attended vector.
        segment: length of the two segment vectors, which are opposite.
    """
    size, heads = transformer.config.hidden_size, transformer.config.num_attention_heads
    width = size // heads
    segment_axis = torch.randn(size, generator=generator)
    segment_axis /= segment_axis.norm()
    embeddings = transformer.embeddings
    words = embeddings.word_embeddings.weight
    words -= (words @ segment_axis)[:, None] * segment_axis  # word vectors must not resemble a segment
    embeddings.token_type_embeddings.weight.copy_(torch.stack([segment_axis, -segment_axis]) * segment)
    attention: Any = transformer.encoder.layer[0].attention
    value = torch.linalg.qr(torch.randn(size, size, generator=generator)).Q
    for head in range(heads):
        rows = slice(head * width, (head + 1) * width - 1)
        random = torch.randn(size, width - 1, generator=generator)
        random -= segment_axis[:, None] * (segment_axis @ random)
        similarity = torch.linalg.qr(random).Q.T * math.sqrt(sharpness)  # (width - 1, D)
        attention.self.query.weight[rows] = similarity
        attention.self.key.weight[rows] = similarity
        attention.self.query.weight[rows.stop] = math.sqrt(other_side) * segment_axis
        attention.self.key.weight[rows.stop] = -math.sqrt(other_side) * segment_axis
    attention.self.value.weight.copy_(value)
    attention.output.dense.weight.copy_(-subtracted * value.T)


def _pair_tokenizer(static: StaticEncoder, max_length: int) -> PreTrainedTokenizerBase:
    """The static encoder's tokenizer, with BERT's special tokens after its pieces."""
    assert static.tokenizer is not None
    tokenizer = Tokenizer.from_str(static.tokenizer.to_str())
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{CLS} $A {SEP}",
        pair=f"{CLS} $A {SEP} $B:1 {SEP}:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (CLS, SEP)],
    )
    special = {"unk_token": UNKNOWN_PIECE, "pad_token": PAD, "cls_token": CLS, "sep_token": SEP, "mask_token": MASK}
    fast: Any = PreTrainedTokenizerFast
    wrapped: PreTrainedTokenizerBase = fast(tokenizer_object=tokenizer, model_max_length=max_length, **special)
    return wrapped
