"""Pair judge without training: cosines of the sentence vectors, and of each word with the other side's words."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from xsent.batch import Embedder, Judgement, WordPair
from xsent.similarity import check_finite

CHUNK = 4096  # pairs to encode at a time

Vectors = NDArray[np.float32]


@dataclass(eq=False)
class CosineJudge:
    """Judges pairs by similarity; it is no model of divergence, but needs no training.

    The score of a pair is the cosine of its sentence vectors. The divergence of a word is 0.5 where its best cosine
    with a word of the other side is ``word_threshold``, and higher below. A word that the encoder does not know, or
    without a letter or digit, has divergence 0.
    """

    encoder: Embedder
    encoder_name: str
    threshold: float  # a pair is equivalent above this cosine
    word_threshold: float
    name: str = field(init=False)
    tags_words: bool = field(init=False, default=True)
    scores_are_logits: bool = field(init=False, default=False)
    languages: tuple[str, ...] = field(init=False, default=())
    truncated_pairs: int = field(init=False, default=0)  # long sentences are not counted

    def __post_init__(self) -> None:
        self.name = f"{self.encoder_name} (untrained: cosine similarity, not a divergence model)"

    def judge(self, pairs: Sequence[WordPair], *, progress: bool = False) -> list[Judgement]:
        """Score every pair and tag its words.

        Raises:
            FloatingPointError: a vector is not finite.
        """
        judgements: list[Judgement] = []
        starts = range(0, len(pairs), CHUNK)
        for start in tqdm(starts, desc=f"judging with {self.encoder_name}", disable=not progress, delay=2):
            judgements += self._judge(pairs[start : start + CHUNK])
        return judgements

    def _judge(self, pairs: Sequence[WordPair]) -> list[Judgement]:
        source, target = (self._encode([" ".join(pair[side]) for pair in pairs]) for side in (0, 1))
        scores = (source * target).sum(axis=1)  # (N,)
        distinct = dict.fromkeys(word for pair in pairs for side in pair for word in side)
        words = {word: row for row, word in enumerate(distinct)}
        vectors = self._encode(list(words))  # (V, D)
        can_differ = np.array([any(map(str.isalnum, word)) for word in words]) & vectors.any(axis=1)  # (V,)
        judgements = []
        for pair, score in zip(pairs, scores.tolist(), strict=True):
            rows = [[words[word] for word in side] for side in pair]
            cosines = vectors[rows[0]] @ vectors[rows[1]].T  # (source words, target words)
            tags = [self._divergence(cosines.max(axis=1 - side)) * can_differ[rows[side]] for side in (0, 1)]
            judgements.append(Judgement(score, *tags))
        return judgements

    def _divergence(self, best: Vectors) -> Vectors:
        return np.clip(np.float32(0.5) + (np.float32(self.word_threshold) - best) / 2, 0, 1)

    def _encode(self, texts: list[str]) -> Vectors:
        vectors = self.encoder.encode(texts, normalize=True)
        check_finite(vectors, self.encoder_name, texts=texts)
        array: Vectors = vectors.numpy()
        return array

    def digest(self) -> str:
        """Hex digest of the encoder and the threshold of words; the threshold of pairs changes no judgement."""
        content = f"{type(self).__name__} {self.encoder.digest()} {self.word_threshold}"
        return hashlib.sha256(content.encode()).hexdigest()
