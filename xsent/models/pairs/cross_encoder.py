"""Cross-encoder for sentence pairs: a score of equivalence, and tags of divergent words."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from xsent.batch import PairTokens, WordPair
from xsent.models.batching import batch_slices, longest_first
from xsent.models.encoders.pooled import POOLER
from xsent.models.encoders.transformer import SentenceEncoder, max_input_length
from xsent.models.pairs.trainable_judge import TAGS, PairScores, TrainableJudge
from xsent.models.pooling import POOLING

SEGMENT_IDS = ("pair", "zeros")
POOLINGS = ("cls", "mean")


class PairIds(NamedTuple):
    """The ids of a pair, T tokens."""

    ids: NDArray[np.int32]  # (T,)
    segments: NDArray[np.int8]  # (T,) 0 on the source, 1 on the target
    words: NDArray[np.int32]  # (T,) index of the word, source words first; -1 on special tokens
    truncated: bool


@dataclass(kw_only=True, eq=False, repr=False)
class PairEncoder(TrainableJudge):
    """Cross-encoder over [CLS] source [SEP] target [SEP] with a head for the pair and one for each token.

    The pair's vector is tanh(W h + b) of the pooled tokens, followed by dropout and one linear unit; tokens get dropout
    and a linear map to two tags. If the encoder has its checkpoint's own pooler (``encoder.pooling=pooler``), it
    provides W and b; otherwise they are new.

    Source:
        Briakou and Carpuat 2020 (arXiv:2010.03662), sections 3.1 and 3.4.
    """

    base: SentenceEncoder  # provides transformer and tokenizer, which must be a fast one
    pooling: str  # `cls`, the first token (the paper), or `mean` of all
    max_length: int  # tokens of a pair, special ones included; the longer side is truncated first
    segment_ids: str  # `pair`: 0 and 1; `zeros`: all 0. Transformers without segments get none
    dropout: float  # before either head
    tags_words: bool  # whether the head for tokens is trained
    seed: int  # of the new weights

    def __post_init__(self) -> None:
        _check_options(self.base, self.pooling, self.max_length, self.segment_ids)
        super().__post_init__()
        transformer = self.base.transformer
        has_pooler = getattr(transformer, "pooler", None) is not None
        size = int(transformer.config.hidden_size)
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            self.pooler = nn.Identity() if has_pooler else nn.Sequential(_bert_linear(size, size), nn.Tanh())
            self.pair_head = _bert_linear(size, 1)
            self.token_head = _bert_linear(size, TAGS)
        self.drop = nn.Dropout(self.dropout)
        self._has_segments = int(getattr(transformer.config, "type_vocab_size", 0) or 0) > 1
        self._backend: Any = self.base.tokenizer.backend_tokenizer
        self.to(self.base.device)

    def tokenize(self, pairs: Sequence[WordPair]) -> list[PairIds]:
        """Tokenize pairs of words; a word unknown to the tokenizer has no id."""
        # Not truncated here, because the limit of a side depends on the other side.
        self._backend.no_truncation()
        try:
            encode = partial(self._backend.encode_batch, is_pretokenized=True, add_special_tokens=False)
            sides = [encode([list(pair[side]) for pair in pairs]) for side in (0, 1)]
        finally:
            self._backend.enable_truncation(self.base.max_length)
        rows = zip(*sides, pairs, strict=True)
        return [self._join(source, target, len(pair.source)) for source, target, pair in rows]

    def _join(self, source: Any, target: Any, source_words: int) -> PairIds:
        special = self._backend.num_special_tokens_to_add(is_pair=True)
        lengths = len(source.ids), len(target.ids)
        limits = fair_lengths(*lengths, self.max_length - special)
        source.truncate(limits[0])
        target.truncate(limits[1])
        joined = self._backend.post_process(source, target, add_special_tokens=True)
        on_target = np.array([side == 1 for side in joined.sequence_ids])
        words = np.array([-1 if word is None else word for word in joined.word_ids], dtype=np.int32)
        words[on_target & (words >= 0)] += source_words
        ids, segments = np.array(joined.ids, dtype=np.int32), np.array(joined.type_ids, dtype=np.int8)
        return PairIds(ids, segments, words, limits != lengths)

    def collate(self, pairs: Sequence[PairIds]) -> PairTokens:
        """Pad a batch on the right to the longest pair."""
        columns = [(*pair[:3], np.ones_like(pair.ids)) for pair in pairs]
        ids, segments, words, mask = (
            pad_sequence([torch.from_numpy(row).long() for row in column], batch_first=True, padding_value=padding)
            for column, padding in zip(zip(*columns, strict=True), (self.base.padding_id, 0, -1, 0), strict=True)
        )
        return PairTokens(ids, mask, segments, words)

    def forward(self, tokens: PairTokens) -> PairScores:
        """Score a batch, in chunks of pairs of similar length to save padding."""
        lengths = tokens.attention_mask.sum(dim=1)  # (N,)
        order = torch.from_numpy(longest_first(lengths.cpu().numpy())).to(lengths.device)
        counts = lengths[order].cpu().numpy()
        scores, logits = [], []
        longest = tokens.input_ids.size(1)
        for chunk in batch_slices(counts, self.base.token_budget):
            rows, length = order[chunk], int(counts[chunk.start])
            padded = bool(counts[chunk][-1] < length)
            part = self._score(PairTokens(*(field[rows, :length] for field in tokens)), padded=padded)
            scores.append(part.scores)
            logits.append(nn.functional.pad(part.token_logits, (0, 0, 0, longest - length)))
        inverse = torch.argsort(order)
        return PairScores(torch.cat(scores)[inverse], torch.cat(logits)[inverse])

    def _score(self, tokens: PairTokens, *, padded: bool) -> PairScores:
        inputs = {"input_ids": tokens.input_ids}
        if self._has_segments:
            inputs["token_type_ids"] = tokens.segments if self.segment_ids == "pair" else tokens.segments * 0
        with self.base.fastest_attention():
            output = self.base.transformer(attention_mask=tokens.attention_mask if padded else None, **inputs)
        token_embeddings = output.last_hidden_state  # (N, T, D)
        if isinstance(self.pooler, nn.Identity):
            pooled = output.pooler_output
        else:
            pooled = POOLING[self.pooling](token_embeddings, tokens.attention_mask)  # (N, D)
            pooled = self.pooler(pooled.to(token_embeddings.dtype))
        scores = self.pair_head(self.drop(pooled)).squeeze(1)
        return PairScores(scores.float(), self.token_head(self.drop(token_embeddings)).float())

    @property
    def device(self) -> torch.device:
        return self.pair_head.weight.device

    @property
    def token_budget(self) -> int:
        return self.base.token_budget

    def unused_weights(self) -> set[nn.Parameter]:
        return set() if self.tags_words else set(self.token_head.parameters())

    def settings(self) -> dict[str, object]:
        """What determines the scores besides weights and tokenizer."""
        return {
            "class": "PairEncoder",
            "tokenizer": self.base.tokenizer_digest(),
            "transformer": type(self.base.transformer).__name__,
            "pooling": POOLER if isinstance(self.pooler, nn.Identity) else self.pooling,
            "max_length": self.max_length,
            "segment_ids": self.segment_ids,
            "tags_words": self.tags_words,
        }


def fair_lengths(source: int, target: int, limit: int) -> tuple[int, int]:
    """Lengths of both sides, together at most ``limit``, after truncating the longer one first."""
    if source + target <= limit:
        return source, target
    half = limit // 2
    if min(source, target) <= half:
        return (source, limit - source) if source <= target else (limit - target, target)
    return limit - half, half


def _check_options(base: SentenceEncoder, pooling: str, max_length: int, segment_ids: str) -> None:
    if not isinstance(base, SentenceEncoder):
        raise ValueError(
            f"encoder {getattr(base, 'name', base)}: a cross-encoder needs a transformer, such as encoder=mbert or"
            " encoder=xlmr; recipe/divergence/judge=alignment needs none"
        )
    if base.is_truncated:
        raise ValueError(f"encoder.dim={base.dim}: a cross-encoder reads tokens, not the vectors that it truncates")
    if getattr(base.tokenizer, "backend_tokenizer", None) is None:
        raise ValueError(f"encoder {base.name}: tagging words needs a Rust (fast) tokenizer")
    for option, value, choices in [("pooling", pooling, POOLINGS), ("segment_ids", segment_ids, SEGMENT_IDS)]:
        if value not in choices:
            raise ValueError(f"recipe.judge.{option}={value}: expected one of {', '.join(choices)}")
    if getattr(base.transformer, "pooler", None) is not None and pooling != "cls":
        raise ValueError(f"recipe.judge.pooling={pooling}: expected cls, because encoder.pooling=pooler pools [CLS]")
    if _needs_leading_space(base.tokenizer.backend_tokenizer):
        raise ValueError(
            f"encoder {base.name}: pairs are tokenized word by word, and its tokenizer recognises a word only after a"
            " space (add_prefix_space=false)"
        )
    limit = max_input_length(base.transformer, base.tokenizer)
    if not 8 <= max_length <= limit:
        raise ValueError(f"recipe.judge.max_length={max_length}: expected 8 to {limit} tokens for {base.name}")


def _needs_leading_space(backend: Any) -> bool:
    settings = json.loads(backend.to_str())["pre_tokenizer"] or {}
    steps = settings.get("pretokenizers", [settings])
    return any(step.get("type") == "ByteLevel" and not step.get("add_prefix_space") for step in steps)


def _bert_linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer with BERT's initialisation."""
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    return layer
