"""Batches with their shapes, and the protocols of encoders and pair judges."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Tokens(NamedTuple):
    """B sentences, padded on the right to the longest, T tokens."""

    input_ids: Tensor  # (B, T) int64
    attention_mask: Tensor  # (B, T) int64, 1 on real tokens


class Pairs(NamedTuple):
    """Row, group and languages of B pairs."""

    row: Tensor  # (B,) int64, position of the pair in the data set
    group: Tensor  # (B,) int64, pairs of one group share a sentence and are no negatives of each other
    source_lang: Tensor  # (B,) int64, index into the data's list of languages
    target_lang: Tensor  # (B,) int64


class ParallelBatch(NamedTuple):
    """B translation pairs; row i of ``target`` translates row i of ``source``."""

    source: Tokens
    target: Tokens
    pairs: Pairs


class EmbeddedBatch(NamedTuple):
    """B translation pairs as vectors of a frozen encoder."""

    source: Tensor  # (B, D) float32
    target: Tensor  # (B, D) float32
    pairs: Pairs


class DistillationBatch(NamedTuple):
    """B pairs, of translations or of a clean and a noisy sentence, and the teacher's vectors of the source side."""

    source: Tokens  # in the teacher's language, clean
    target: Tokens
    teacher: Tensor  # (B, D of the teacher) float32, of the source sentences
    pairs: Pairs


class RankingBatch(NamedTuple):
    """B anchors, a paraphrase of each, and K hard negatives.

    Sentences are indices of texts in the data module, which holds their tokens.
    """

    anchor: Tensor  # (B,) int64
    positive: Tensor  # (B,) int64, paraphrase or translation of the anchor; the anchor itself where it has none
    negative: Tensor  # (K,) int64, hard negatives that the data name; K may be 0
    owner: Tensor  # (K,) int64, row of the anchor that the negative belongs to
    pairs: Pairs


class LabelledBatch(NamedTuple):
    """B pairs, each with its label; sentences are indices of texts in the data module, as in ``RankingBatch``."""

    source: Tensor  # (B,) int64
    target: Tensor  # (B,) int64
    label: Tensor  # (B,) int64, 1 for the same meaning, else 0
    pairs: Pairs


class RankingMasks(NamedTuple):
    """Negatives of this device's B pairs; N pairs and H hard negatives over all devices."""

    in_batch: Tensor  # (B, N) bool, pair k's sentences are negatives of pair i; False at the pair itself
    hard_of_anchor: Tensor  # (B, H) bool, hard negative j belongs to anchor i
    hard_of_positive: Tensor  # (B, H) bool, hard negative j belongs to the positive of anchor i
    hard_of_others: Tensor  # (B, H) bool, hard negative j belongs to another pair and may be a negative of pair i


class WordPair(NamedTuple):
    """A sentence and a candidate translation, as words."""

    source: tuple[str, ...]
    target: tuple[str, ...]


IGNORED = -100  # label of tokens without a known tag: special tokens, padding, pairs that are not tagged


@runtime_checkable
class SplitsText(Protocol):
    """An encoder whose tokens are pieces of text."""

    name: str

    def to_pieces(self, sentences: Sequence[str]) -> list[list[str]]:
        """The pieces of each sentence, whole, without special tokens."""


class PairTokens(NamedTuple):
    """N pairs of sentences as one row of tokens each, padded on the right to the longest, T tokens."""

    input_ids: Tensor  # (N, T) int64
    attention_mask: Tensor  # (N, T) int64, 1 on real tokens
    segments: Tensor  # (N, T) int64, 0 on the source and 1 on the target
    words: Tensor  # (N, T) int64, number of the token's word, those of the source first; -1 on special tokens


class PairFeatures(NamedTuple):
    """N pairs of sentences as one row of word features each, padded on the right to the longest, T words."""

    features: Tensor  # (N, T, F) float32
    attention_mask: Tensor  # (N, T) int64, 1 on real words
    segments: Tensor  # (N, T) int64, 1 on the target, else 0


class DivergenceBatch(NamedTuple):
    """N pairs; for ranked items the second half holds, row by row, more divergent versions of the first half."""

    tokens: PairTokens | PairFeatures
    divergent: Tensor  # (N,) int64, 0 for a pair that counts as equivalent
    token_labels: Tensor  # (N, T) int64, 1 where a token diverges, else 0, or ``IGNORED``
    pairs: Pairs  # of the items: (N,) or (N / 2,)


class Judgement(NamedTuple):
    """Score and word tags of a pair, by a model that reads both sentences together."""

    score: float  # above the threshold: equivalent in meaning; below or equal: divergent
    source: NDArray[np.float32] | None  # (words,) probability that a word diverges; None: words are not tagged
    target: NDArray[np.float32] | None  # likewise; 0 for truncated words


class Parts(NamedTuple):
    """Meaning and language part of B sentence embeddings."""

    meaning: Tensor  # (B, D), the papers' "semantic" embedding
    language: Tensor  # (B, D)


class Tokenizer(Protocol):
    """Turns text into token ids."""

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        """Token ids of each sentence, special tokens and truncation included; may be empty."""

    def collate(self, token_ids: Sequence[Sequence[int]]) -> Tokens:
        """Pad a batch of token ids."""

    def tokenizer_digest(self) -> str:
        """Hex digest of all that determines the ids: vocabulary, prompt, length."""


class PairJudge(Protocol):
    """Judges sentence pairs: a run of ``recipe=divergence``, or the similarity of an encoder's vectors."""

    name: str
    tags_words: bool
    scores_are_logits: bool  # whether the sigmoid of a score is a probability
    truncated_pairs: int  # number of pairs that the last ``judge`` truncated
    languages: tuple[str, ...]  # ISO 639-3, of the pairs that it was trained on; empty: not trained, or not known

    @property
    def threshold(self) -> float:
        """Pairs with a higher score are equivalent; of a run chosen on its synthetic dev pairs, 0 in the paper."""

    def judge(self, pairs: Sequence[WordPair], *, progress: bool = False) -> list[Judgement]:
        """One judgement per pair, in order."""

    def digest(self) -> str:
        """Hex digest of all that determines the judgements: weights, tokenizer, length."""


Precision = Literal["float32", "float16", "bfloat16", "int8", "binary"]


@runtime_checkable
class MarksLanguages(Protocol):
    """An encoder whose embeddings depend on the language of a text, not on the text alone."""

    def set_languages(self, languages: Mapping[str, Collection[str]]) -> None:
        """Languages (ISO 639-3) of the texts that are encoded next."""

    def unmarked(self) -> Any:
        """The encoder without marks."""

    def mark(self, embeddings: Tensor, sentences: Sequence[str]) -> Tensor:
        """Embeddings (N, D) of the encoder without marks to embeddings with them."""


class Embedder(Protocol):
    """Turns sentences into vectors: an encoder, or a run with heads."""

    @property
    def spaces(self) -> tuple[str, ...]:
        """Names of the embedding spaces; the first is that of ``encode``."""

    def encode(
        self,
        sentences: str | Iterable[str],
        *,
        batch_size: int | None = None,
        device: str | torch.device | None = None,
        space: str | None = None,
        normalize: bool = False,
        show_progress: bool = False,
        precision: Precision = "float32",
        out: str | Path | None = None,
    ) -> Tensor:
        """Vectors (D,) of one text or (N, D) of several, on the CPU; arguments as of ``SentenceEmbedder.encode``."""

    def similarity(
        self, a: str | Iterable[str] | Tensor | NDArray[Any], b: str | Iterable[str] | Tensor | NDArray[Any]
    ) -> Tensor:
        """Cosines (M, N) of texts or vectors."""

    def truncate_dim(self, dim: int) -> None:
        """Truncate the vectors to their first numbers, in place."""

    def digest(self) -> str:
        """Hex digest of all that determines the vectors: weights, tokenizer, pooling, prompt, length."""
