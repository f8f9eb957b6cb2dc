"""A transformer that reads both sentences of a pair at once: how equivalent they are, and which words diverge."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm import tqdm

from xsent.batch import Judgement, PairTokens, WordPair
from xsent.models.encoder import CHUNK, batches, longest_first, tensor_bytes, weights_in_bfloat16
from xsent.models.pooled_encoder import POOLER
from xsent.models.pooling import POOLING
from xsent.models.sentence_encoder import SentenceEncoder, longest_input

log = logging.getLogger(__name__)

SEGMENT_IDS = ("pair", "zeros")
WAYS = ("cls", "mean")  # to pool the tokens of a pair
TAGS = 2  # EQ and DIV


class PairIds(NamedTuple):
    """A pair as the transformer takes it, T tokens."""

    ids: NDArray[np.int32]  # (T,)
    segments: NDArray[np.int8]  # (T,) 0 on the source, 1 on the target
    words: NDArray[np.int32]  # (T,) number of the word, those of the source first; -1 on special tokens
    was_cut: bool


class PairScores(NamedTuple):
    """What the two heads say of N pairs of T tokens."""

    scores: Tensor  # (N,) float32, the logit F of *equivalent*
    token_logits: Tensor  # (N, T, 2) float32, of EQ and DIV; zeros on padding


class PairEncoder(nn.Module):
    """Cross-encoder over [CLS] source [SEP] target [SEP] with a head for the pair and one for each token.

    The pair's vector is tanh(W h + b) of what is pooled, followed by dropout and one linear unit; tokens get dropout
    and a linear map to two tags. Where the encoder keeps its checkpoint's own pooler (``encoder.pooling=pooler``),
    that is W and b; otherwise they are new.

    Args:
        base: the encoder whose transformer and tokenizer are taken; any of transformers with a fast tokenizer.
        pooling: ``cls``, the first token (the paper), or ``mean`` of all.
        max_length: tokens of a pair, special ones included; both sides are cut fairly after that.
        segment_ids: ``pair``: 0 and 1; ``zeros``: none. Transformers that know no segments get none.
        dropout: before either head.
        tags_words: whether the head for tokens is trained.
        seed: of the new weights.

    Attributes:
        threshold: of the scores; ``calibrate`` sets it, and it is part of the weights.
        cut_pairs: how many of the last ``judge`` were too long.

    Raises:
        ValueError: an option that the encoder does not fit.

    Source:
        Briakou and Carpuat 2020 (arXiv:2010.03662), sections 3.1 and 3.2.
    """

    calibrated: Tensor

    def __init__(
        self,
        *,
        base: SentenceEncoder,
        pooling: str,
        max_length: int,
        segment_ids: str,
        dropout: float,
        tags_words: bool,
        seed: int,
    ) -> None:
        super().__init__()
        _check(base, pooling, max_length, segment_ids)
        transformer = base.transformer
        has_pooler = getattr(transformer, "pooler", None) is not None
        self.base = base
        self.name = base.name
        self.pooling = pooling
        self.max_length = max_length
        self.segment_ids = segment_ids
        self.tags_words = tags_words
        self.cut_pairs = 0
        size = int(transformer.config.hidden_size)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.pooler = nn.Identity() if has_pooler else nn.Sequential(_linear(size, size), nn.Tanh())
            self.pair_head = _linear(size, 1)
            self.token_head = _linear(size, TAGS)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("calibrated", torch.zeros(()))
        self._knows_segments = int(getattr(transformer.config, "type_vocab_size", 0) or 0) > 1
        self._backend: Any = base.tokenizer.backend_tokenizer
        self.to(base.device)

    # ---- words to ids

    def tokenize(self, pairs: Sequence[WordPair]) -> list[PairIds]:
        """Each pair as ids; a word that the tokenizer knows no piece of has none."""
        self._backend.no_truncation()  # a side may be longer than a sentence: what is cut depends on the other
        try:
            sides = [
                self._backend.encode_batch(
                    [list(pair[side]) for pair in pairs], is_pretokenized=True, add_special_tokens=False
                )
                for side in (0, 1)
            ]
        finally:
            self._backend.enable_truncation(self.base.max_length)
        return [
            self._join(source, target, len(pair.source)) for source, target, pair in zip(*sides, pairs, strict=True)
        ]

    def _join(self, source: Any, target: Any, source_words: int) -> PairIds:
        special = self._backend.num_special_tokens_to_add(is_pair=True)
        lengths = len(source.ids), len(target.ids)
        kept = fair_lengths(*lengths, self.max_length - special)
        source.truncate(kept[0])
        target.truncate(kept[1])
        joined = self._backend.post_process(source, target, add_special_tokens=True)
        second = np.array([side == 1 for side in joined.sequence_ids])
        words = np.array([-1 if word is None else word for word in joined.word_ids], dtype=np.int32)
        words[second & (words >= 0)] += source_words
        return PairIds(
            np.array(joined.ids, dtype=np.int32), np.array(joined.type_ids, dtype=np.int8), words, kept != lengths
        )

    def collate(self, pairs: Sequence[PairIds]) -> PairTokens:
        """Pad a batch on the right to the longest."""
        shape = len(pairs), max(len(pair.ids) for pair in pairs)
        ids = torch.full(shape, self.base.padding_id)
        mask, segments, words = (torch.full(shape, value) for value in (0, 0, -1))
        for row, pair in enumerate(pairs):
            length = len(pair.ids)
            ids[row, :length] = torch.from_numpy(pair.ids.astype(np.int64))
            segments[row, :length] = torch.from_numpy(pair.segments.astype(np.int64))
            words[row, :length] = torch.from_numpy(pair.words.astype(np.int64))
            mask[row, :length] = 1
        return PairTokens(ids, mask, segments, words)

    # ---- ids to scores

    def forward(self, tokens: PairTokens) -> PairScores:
        """Scores of a batch; pairs of similar length share a run, so that little of it is padding."""
        lengths = tokens.attention_mask.sum(dim=1)  # (N,)
        order = torch.from_numpy(longest_first(lengths.cpu().numpy())).to(lengths.device)
        counts = lengths[order].cpu().numpy()
        scores, logits = [], []
        longest = tokens.input_ids.size(1)
        for run in batches(counts, self.base.usual_tokens):
            rows, length = order[run], int(counts[run.start])
            one = self._run(
                PairTokens(*(part[rows, :length] for part in tokens)), padded=bool(counts[run][-1] < length)
            )
            scores.append(one.scores)
            logits.append(nn.functional.pad(one.token_logits, (0, 0, 0, longest - length)))
        back = torch.argsort(order)
        return PairScores(torch.cat(scores)[back], torch.cat(logits)[back])

    def _run(self, tokens: PairTokens, *, padded: bool) -> PairScores:
        inputs = {"input_ids": tokens.input_ids}
        if self._knows_segments:
            inputs["token_type_ids"] = tokens.segments if self.segment_ids == "pair" else tokens.segments * 0
        with self.base.fastest_attention():
            output = self.base.transformer(attention_mask=tokens.attention_mask if padded else None, **inputs)
        hidden = output.last_hidden_state  # (N, T, D)
        if isinstance(self.pooler, nn.Identity):
            pooled = output.pooler_output
        else:
            pooled = self.pooler(POOLING[self.pooling](hidden, tokens.attention_mask).to(hidden.dtype))  # (N, D)
        scores = self.pair_head(self.dropout(pooled)).squeeze(1)
        return PairScores(scores.float(), self.token_head(self.dropout(hidden)).float())

    # ---- judgements

    @property
    def threshold(self) -> float:
        """A pair is equivalent when its score is above this."""
        return float(self.calibrated)

    def calibrate(self, threshold: float) -> None:
        """From now on this is the threshold."""
        self.calibrated.fill_(threshold)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.pair_head.weight.device

    def judge(self, pairs: Sequence[WordPair], *, progress: bool = False, bfloat16: bool = False) -> list[Judgement]:
        """Score every pair, and tag its words.

        Args:
            pairs: N pairs of words.
            progress: show a progress bar.
            bfloat16: compute with a copy of the weights in bfloat16.

        Returns:
            N judgements. A word has the highest probability of its tokens, and 0 where it has none: it was cut off, or
            the tokenizer has no piece for it.

        Raises:
            FloatingPointError: a score is not finite.
        """
        ids = [one for start in range(0, len(pairs), CHUNK) for one in self.tokenize(pairs[start : start + CHUNK])]
        self.cut_pairs = sum(one.was_cut for one in ids)
        lengths = np.array([len(one.ids) for one in ids], dtype=np.int64)
        order = longest_first(lengths)
        found: list[Judgement | None] = [None] * len(pairs)
        bar = tqdm(total=len(pairs), desc=f"judging with {self.name}", disable=not progress, unit=" pairs", delay=2)
        was_training = self.training
        self.eval()
        with bar, torch.inference_mode(), weights_in_bfloat16(self, wanted=bfloat16):
            for run in batches(lengths[order], self.base.usual_tokens):
                rows = order[run]
                tokens = self.collate([ids[row] for row in rows])
                scored = self._run(
                    PairTokens(*(part.to(self.device) for part in tokens)),
                    padded=bool(lengths[rows[-1]] < lengths[rows[0]]),
                )
                if not torch.isfinite(scored.scores).all():
                    raise FloatingPointError(f"{self.name}: a score is not finite, among pairs {rows[:8].tolist()} ...")
                divergent = scored.token_logits.softmax(dim=-1)[..., 1].cpu().numpy()  # (N, T)
                for row, score, tags in zip(rows.tolist(), scored.scores.tolist(), divergent, strict=True):
                    found[row] = self._judgement(pairs[row], ids[row], score, tags)
                bar.update(len(rows))
        self.train(was_training)
        return [one for one in found if one is not None]

    def _judgement(self, pair: WordPair, ids: PairIds, score: float, tags: NDArray[np.float32]) -> Judgement:
        if not self.tags_words:
            return Judgement(score, None, None)
        of_words = np.zeros(len(pair.source) + len(pair.target), dtype=np.float32)
        real = ids.words >= 0
        np.maximum.at(of_words, ids.words[real], tags[: len(ids.words)][real])
        return Judgement(score, of_words[: len(pair.source)], of_words[len(pair.source) :])

    # ---- what it is

    def settings(self) -> dict[str, object]:
        """What decides the scores beside weights and tokenizer."""
        return {
            "class": "PairEncoder",
            "transformer": type(self.base.transformer).__name__,
            "pooling": POOLER if isinstance(self.pooler, nn.Identity) else self.pooling,
            "max_length": self.max_length,
            "segment_ids": self.segment_ids,
            "tags_words": self.tags_words,
        }

    def digest(self) -> str:
        """Hex digest of weights, tokenizer and settings."""
        content = hashlib.sha256(self.base.tokenizer_digest().encode())
        content.update(json.dumps(self.settings(), sort_keys=True).encode())
        for part in tensor_bytes(self.state_dict()):
            content.update(part)
        return content.hexdigest()


def fair_lengths(source: int, target: int, room: int) -> tuple[int, int]:
    """How many tokens of each side are kept: the longer one is cut first, until both are equally long.

    Args:
        source, target: tokens of the sides.
        room: for both.
    """
    if source + target <= room:
        return source, target
    half = room // 2
    if min(source, target) <= half:
        shorter = min(source, target)
        return (source, room - source) if source == shorter else (room - target, target)
    return room - half, half


def _check(base: SentenceEncoder, pooling: str, max_length: int, segment_ids: str) -> None:
    if not isinstance(base, SentenceEncoder):
        raise ValueError(
            f"encoder {getattr(base, 'name', base)}: reading two sentences at once needs a transformer, such as"
            " encoder=mbert, encoder=xlmr or encoder=small"
        )
    if getattr(base.tokenizer, "backend_tokenizer", None) is None:
        raise ValueError(f"encoder {base.name}: tagging words needs a tokenizer of the Rust kind")
    for option, value, known in [("pooling", pooling, WAYS), ("segment_ids", segment_ids, SEGMENT_IDS)]:
        if value not in known:
            raise ValueError(f"recipe.{option}={value}: expected one of {', '.join(known)}")
    if getattr(base.transformer, "pooler", None) is not None and pooling != "cls":
        raise ValueError(f"recipe.pooling={pooling}: encoder.pooling=pooler is a layer on top of [CLS]; give cls")
    if _splits_words_without_spaces(base.tokenizer.backend_tokenizer):
        raise ValueError(
            f"encoder {base.name}: pairs are given word by word, and its tokenizer knows a word only behind a space"
            " (add_prefix_space=false)"
        )
    most = longest_input(base.transformer, base.tokenizer)
    if not 8 <= max_length <= most:
        raise ValueError(f"recipe.max_length={max_length}: {base.name} takes 8 to {most} tokens")


def _splits_words_without_spaces(backend: Any) -> bool:
    settings = json.loads(backend.to_str())["pre_tokenizer"] or {}
    steps = settings.get("pretokenizers", [settings])
    return any(step.get("type") == "ByteLevel" and not step.get("add_prefix_space") for step in steps)


def _linear(inputs: int, outputs: int) -> nn.Linear:
    """As BERT draws a new layer."""
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    return layer
