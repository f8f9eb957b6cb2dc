"""Cross-encoder for sentence pairs: a score of equivalence, and tags of divergent words."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm

from xsent.batch import Judgement, PairTokens, WordPair
from xsent.models.batching import batch_slices, hash_tensors, longest_first, run_batches
from xsent.models.encoders.base import CHUNK, DeclaredModule, bfloat16_weights
from xsent.models.encoders.pooled import POOLER
from xsent.models.encoders.transformer import SentenceEncoder, max_input_length
from xsent.models.pooling import POOLING
from xsent.similarity import ADVICE

SEGMENT_IDS = ("pair", "zeros")
POOLINGS = ("cls", "mean")
TAGS = 2  # EQ and DIV


class PairIds(NamedTuple):
    """The ids of a pair, T tokens."""

    ids: NDArray[np.int32]  # (T,)
    segments: NDArray[np.int8]  # (T,) 0 on the source, 1 on the target
    words: NDArray[np.int32]  # (T,) index of the word, source words first; -1 on special tokens
    truncated: bool


class PairScores(NamedTuple):
    """Outputs of the two heads for N pairs of T tokens."""

    scores: Tensor  # (N,) float32, the logit F of *equivalent*
    token_logits: Tensor  # (N, T, 2) float32, of EQ and DIV; zeros on padding


@dataclass(kw_only=True, eq=False, repr=False)
class PairEncoder(DeclaredModule):
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
    scores_are_logits: bool = field(init=False, default=True)
    truncated_pairs: int = field(init=False, default=0)  # pairs of the last `judge` that were too long
    calibrated: Tensor = field(init=False)

    def __post_init__(self) -> None:
        _check_options(self.base, self.pooling, self.max_length, self.segment_ids)
        self.name = self.base.name
        transformer = self.base.transformer
        has_pooler = getattr(transformer, "pooler", None) is not None
        size = int(transformer.config.hidden_size)
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            self.pooler = nn.Identity() if has_pooler else nn.Sequential(_bert_linear(size, size), nn.Tanh())
            self.pair_head = _bert_linear(size, 1)
            self.token_head = _bert_linear(size, TAGS)
        self.drop = nn.Dropout(self.dropout)
        self.register_buffer("calibrated", torch.zeros(()))
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
    def threshold(self) -> float:
        """A pair is equivalent if its score is above this."""
        return float(self.calibrated)

    def set_threshold(self, threshold: float) -> None:
        self.calibrated.fill_(threshold)

    @property
    def device(self) -> torch.device:
        return self.pair_head.weight.device

    def judge(self, pairs: Sequence[WordPair], *, progress: bool = False, bfloat16: bool = False) -> list[Judgement]:
        """Score every pair and tag its words.

        Args:
            pairs: N pairs of words.
            bfloat16: compute with a copy of the weights in bfloat16.

        Returns:
            N judgements. A word has the highest probability of its tokens; 0 if it has none (truncated, or unknown to
            the tokenizer).

        Raises:
            FloatingPointError: a score is not finite.
        """
        ids = [row for start in range(0, len(pairs), CHUNK) for row in self.tokenize(pairs[start : start + CHUNK])]
        self.truncated_pairs = sum(pair.truncated for pair in ids)
        lengths = np.array([len(pair.ids) for pair in ids], dtype=np.int64)
        order = longest_first(lengths)
        judgements: dict[int, Judgement] = {}
        bar = tqdm(total=len(pairs), desc=f"judging with {self.name}", disable=not progress, unit=" pairs", delay=2)
        was_training = self.training
        self.eval()
        with bar, torch.inference_mode(), bfloat16_weights(self, enabled=bfloat16):

            def judge(chunk: slice) -> None:
                rows = order[chunk]
                tokens = PairTokens(*(field.to(self.device) for field in self.collate([ids[row] for row in rows])))
                outputs = self._score(tokens, padded=bool(lengths[rows[-1]] < lengths[rows[0]]))
                if not torch.isfinite(outputs.scores).all():
                    row = min(rows[~outputs.scores.isfinite().numpy(force=True)].tolist())
                    raise FloatingPointError(f"{self.name}: the score of pair {row}, from 0, is not finite; {ADVICE}")
                divergent = outputs.token_logits.softmax(dim=-1)[..., 1].cpu().numpy()  # (N, T)
                for row, score, tags in zip(rows.tolist(), outputs.scores.tolist(), divergent, strict=True):
                    judgements[row] = self._judgement(pairs[row], ids[row], score, tags)
                bar.update(len(rows))

            run_batches(judge, lengths[order], self.base.token_budget, name=self.name, rows=order)
        self.train(was_training)
        return [judgements[row] for row in range(len(pairs))]

    def _judgement(self, pair: WordPair, ids: PairIds, score: float, tags: NDArray[np.float32]) -> Judgement:
        if not self.tags_words:
            return Judgement(score, None, None)
        probabilities = np.zeros(len(pair.source) + len(pair.target), dtype=np.float32)
        is_word = ids.words >= 0
        np.maximum.at(probabilities, ids.words[is_word], tags[: len(ids.words)][is_word])
        return Judgement(score, probabilities[: len(pair.source)], probabilities[len(pair.source) :])

    def settings(self) -> dict[str, object]:
        """What determines the scores besides weights and tokenizer."""
        return {
            "class": "PairEncoder",
            "transformer": type(self.base.transformer).__name__,
            "pooling": POOLER if isinstance(self.pooler, nn.Identity) else self.pooling,
            "max_length": self.max_length,
            "segment_ids": self.segment_ids,
            "tags_words": self.tags_words,
        }

    def digest(self) -> str:
        content = hashlib.sha256(self.base.tokenizer_digest().encode())
        content.update(json.dumps(self.settings(), sort_keys=True).encode())
        hash_tensors(content, self.state_dict())
        return content.hexdigest()


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
            f"encoder {getattr(base, 'name', base)}: a cross-encoder needs a transformer, such as encoder=mbert,"
            " encoder=xlmr or encoder=small"
        )
    if getattr(base.tokenizer, "backend_tokenizer", None) is None:
        raise ValueError(f"encoder {base.name}: tagging words needs a Rust (fast) tokenizer")
    for option, value, choices in [("pooling", pooling, POOLINGS), ("segment_ids", segment_ids, SEGMENT_IDS)]:
        if value not in choices:
            raise ValueError(f"recipe.{option}={value}: expected one of {', '.join(choices)}")
    if getattr(base.transformer, "pooler", None) is not None and pooling != "cls":
        raise ValueError(f"recipe.pooling={pooling}: expected cls, because encoder.pooling=pooler pools [CLS]")
    if _needs_leading_space(base.tokenizer.backend_tokenizer):
        raise ValueError(
            f"encoder {base.name}: pairs are tokenized word by word, and its tokenizer recognises a word only after a"
            " space (add_prefix_space=false)"
        )
    limit = max_input_length(base.transformer, base.tokenizer)
    if not 8 <= max_length <= limit:
        raise ValueError(f"recipe.max_length={max_length}: expected 8 to {limit} tokens for {base.name}")


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
