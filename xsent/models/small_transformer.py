"""A small transformer to be trained from the start, which begins where a static encoder ends and looks across pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, processors
from torch import nn
from transformers import BertConfig, BertModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from xsent.models.sentence_encoder import SentenceEncoder
from xsent.models.static_encoder import UNKNOWN, StaticEncoder
from xsent.models.unigram import UNKNOWN_PIECE

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
    """A BERT of a few layers over the pieces and piece vectors of a static encoder.

    It has the special tokens, segments and positions that pairs of sentences need. Its layers are drawn small, so that
    its first sentence vectors are close to the static encoder's, a mean of piece vectors; but for ``comparing``, with
    which the first layer begins as one that compares the two sides of a pair (``_compare_sides``).

    Args:
        name: for tables and messages.
        path: folder of the static encoder; None is the one that comes with this package.
        layers, heads, feed_forward: of the transformer; its width is the static encoder's.
        dropout: in training, everywhere that BERT has some.
        vector_std: standard deviation that the piece vectors are scaled to, against 0.02 of positions and segments.
        comparing: ``sharpness``, ``other_side``, ``subtracted`` and ``segment`` of ``_compare_sides``; None: the first
            layer is drawn as the others.
        max_length: tokens of a sentence, or of a pair, special ones included.
        pooling: of sentence vectors, as in ``SentenceEncoder``.
        seed: of all that is drawn.

    Raises:
        ValueError: the width is no multiple of ``heads``.
    """
    static = StaticEncoder.load(name=name, path=path)
    if static.dim % heads:
        raise ValueError(f"encoder.heads={heads}: expected a divisor of the {static.dim} numbers of a piece vector")
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
            _compare_sides(transformer, torch.Generator().manual_seed(seed), **comparing)
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
    """The small transformer that ``make small`` trained.

    Args:
        name: for tables and messages.
        path: its folder.
        pooling, projection, prompt, max_length, normalize: as in ``SentenceEncoder.load``.

    Raises:
        FileNotFoundError: nobody has trained it yet.
    """
    if not Path(path).is_dir():
        raise FileNotFoundError(
            f"encoder.path={path}: {name} does not come with the package; `make small BITEXT=<folder>` trains it there"
            " (docs/small.md), or name the folder where it is with encoder.path or XSENT_SMALL"
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


def _compare_sides(
    transformer: BertModel,
    generator: torch.Generator,
    *,
    sharpness: float,
    other_side: float,
    subtracted: float,
    segment: float,
) -> None:
    """Have the first layer attend to what is similar on the other side of a pair, and subtract it.

    Translations have similar piece vectors to begin with, so what is left of a token is what the other side does not
    say. Queries and keys are one projection, as such attention is found to be after training (Trockman and Kolter 2023,
    arXiv:2305.09828); one direction of the space tells the segments apart, and queries and keys have it with opposite
    signs. Of a single sentence, which has one segment, a token attends to itself.

    Ours: drawn as usual, a transformer that never saw pairs did not learn to compare them from ten thousand of them
    (docs/small.md).

    Args:
        transformer: changed in place.
        generator: of the projections.
        sharpness: of attention by similarity; squared length of a row of queries and keys.
        other_side: likewise, of the direction that tells segments apart.
        subtracted: share of what was attended to.
        segment: length of the segments' vectors, which are opposite.
    """
    size, heads = transformer.config.hidden_size, transformer.config.num_attention_heads
    width = size // heads
    aside = torch.randn(size, generator=generator)
    aside /= aside.norm()
    embeddings = transformer.embeddings
    words = embeddings.word_embeddings.weight
    words -= (words @ aside)[:, None] * aside  # no word looks like a segment
    embeddings.token_type_embeddings.weight.copy_(torch.stack([aside, -aside]) * segment)
    attention: Any = transformer.encoder.layer[0].attention
    of_values = torch.linalg.qr(torch.randn(size, size, generator=generator)).Q
    for head in range(heads):
        rows = slice(head * width, (head + 1) * width - 1)
        drawn = torch.randn(size, width - 1, generator=generator)
        drawn -= aside[:, None] * (aside @ drawn)
        similar = torch.linalg.qr(drawn).Q.T * math.sqrt(sharpness)  # (width - 1, D)
        attention.self.query.weight[rows] = similar
        attention.self.key.weight[rows] = similar
        attention.self.query.weight[rows.stop] = math.sqrt(other_side) * aside
        attention.self.key.weight[rows.stop] = -math.sqrt(other_side) * aside
    attention.self.value.weight.copy_(of_values)
    attention.output.dense.weight.copy_(-subtracted * of_values.T)


def _pair_tokenizer(static: StaticEncoder, max_length: int) -> PreTrainedTokenizerBase:
    """The static encoder's tokenizer, with the special tokens of BERT behind its pieces."""
    assert static.tokenizer is not None
    tokenizer = Tokenizer.from_str(static.tokenizer.to_str())
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{CLS} $A {SEP}",
        pair=f"{CLS} $A {SEP} $B:1 {SEP}:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (CLS, SEP)],
    )
    fast: Any = PreTrainedTokenizerFast
    made: PreTrainedTokenizerBase = fast(
        tokenizer_object=tokenizer,
        unk_token=UNKNOWN_PIECE,
        pad_token=PAD,
        cls_token=CLS,
        sep_token=SEP,
        mask_token=MASK,
        model_max_length=max_length,
    )
    return made
