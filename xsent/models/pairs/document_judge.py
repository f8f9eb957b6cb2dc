"""Document judge: which words of two whole documents have no counterpart in the other, without training."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from tqdm import tqdm

from xsent.batch import Embedder, Judgement, WordPair
from xsent.models.alignment.document_aligner import DocumentAligner, Numbers
from xsent.similarity import check_finite


@dataclass(eq=False)
class DocumentJudge:
    """Judges pairs of documents by a word alignment over the whole documents.

    The divergence of a word grows with the probability that it has no counterpart, and is 0.5 where this is
    ``word_threshold``. It is 0 without a letter or digit, or if the encoder does not know the word. The score is the
    mean probability of a counterpart of all other words.
    """

    encoder: Embedder  # of single words
    encoder_name: str
    aligner: DocumentAligner
    threshold: float  # a pair of documents with a higher score is equivalent
    word_threshold: float  # between 0 and 1
    name: str = field(init=False)
    tags_words: bool = field(init=False, default=True)
    scores_are_logits: bool = field(init=False, default=False)
    languages: tuple[str, ...] = field(init=False, default=())  # not trained
    truncated_pairs: int = field(init=False, default=0)  # a document that is too long is an error

    def __post_init__(self) -> None:
        if not 0 < self.word_threshold < 1:
            raise ValueError(f"word_threshold={self.word_threshold}: expected a probability between 0 and 1")
        self.name = f"{self.encoder_name} (word alignment of whole documents, untrained)"

    def judge(self, pairs: Sequence[WordPair], *, progress: bool = False) -> list[Judgement]:
        """Align the documents of every pair.

        Raises:
            FloatingPointError: a vector is not finite.
            ValueError: a document has too many words; names its number among the pairs.
        """
        bar = tqdm(pairs, desc=f"aligning with {self.encoder_name}", unit=" documents", disable=not progress, delay=2)
        return [self._judge(number, pair) for number, pair in enumerate(bar, start=1)]

    def _judge(self, number: int, pair: WordPair) -> Judgement:
        words = list(dict.fromkeys(word for side in pair for word in side))
        vectors = self.encoder.encode(words, normalize=True)
        check_finite(vectors, self.encoder_name, texts=words)
        row_of = {word: row for row, word in enumerate(words)}
        source, target = (vectors.numpy()[[row_of[word] for word in side]] for side in pair)
        try:
            sides = self.aligner.align(source, target)
        except ValueError as error:
            raise ValueError(f"pair {number}: {error}") from error
        can_differ = [
            np.array([any(map(str.isalnum, word)) for word in side]) & rows.any(axis=1)
            for side, rows in zip(pair, (source, target), strict=True)
        ]
        unmatched = np.concatenate([side.unmatched[mask] for side, mask in zip(sides, can_differ, strict=True)])
        score = 1 - float(unmatched.mean()) if len(unmatched) else 1.0
        return Judgement(
            score, *(self._divergence(side.unmatched) * mask for side, mask in zip(sides, can_differ, strict=True))
        )

    def _divergence(self, unmatched: Numbers) -> Numbers:
        """Move ``word_threshold`` to 0.5; 0 and 1 stay."""
        return np.interp(unmatched, [0, self.word_threshold, 1], [0, 0.5, 1]).astype(np.float32)

    def digest(self) -> str:
        """Hex digest of the encoder, the aligner's settings and ``word_threshold``, on which judgements depend."""
        content = f"{type(self).__name__} {self.encoder.digest()} {self.aligner} {self.word_threshold}"
        return hashlib.sha256(content.encode()).hexdigest()
