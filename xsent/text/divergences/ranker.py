"""Which of the words that may stand in a place fits best: the choice that lexical substitution leaves to a ranker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol


class Blank(NamedTuple):
    """A word of a sentence that is to give way, and what may take its place."""

    words: tuple[str, ...]  # the whole sentence, the word that gives way included
    position: int  # of that word, 0-based
    candidates: Collection[str]  # lower-cased single words, never the word itself; may be empty


class Ranker(Protocol):
    """Anything that predicts words in places: a masked language model, or counts of a corpus."""

    def choose(self, blanks: Sequence[Blank]) -> list[str | None]:
        """For each blank the candidate that comes first among the ranker's predictions; None if none is among them."""
        ...


class FrequencyRanker:
    """Predicts the words of a corpus by how often they occur there, whatever the sentence.

    Stands in where no masked language model is at hand; a word that the corpus does not have is never chosen.

    Args:
        sentences: the corpus, each as words, e.g. the seeds' own, or as text with spaces between words.

    Source:
        ours: the paper ranks by BERT (``bert-base-cased``).
    """

    def __init__(self, sentences: Iterable[Sequence[str] | str]) -> None:
        split = (sentence.split() if isinstance(sentence, str) else sentence for sentence in sentences)
        self._counts = Counter(word.lower() for words in split for word in words)

    def choose(self, blanks: Sequence[Blank]) -> list[str | None]:
        """As ``Ranker.choose``; of candidates that occur equally often, the first in alphabetical order."""
        return [self._most_frequent(blank.candidates) for blank in blanks]

    def _most_frequent(self, candidates: Collection[str]) -> str | None:
        known = [word for word in candidates if word in self._counts]
        return min(known, key=lambda word: (-self._counts[word], word), default=None)
