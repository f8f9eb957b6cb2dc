"""Which of the words that may stand in a place fits best: the choice that lexical substitution leaves to a ranker."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from xsent.text.divergences.wordnet import part_of_speech


class Blank(NamedTuple):
    """A word of a sentence that is to give way, and what may take its place."""

    words: tuple[str, ...]  # the whole sentence, the word that gives way included
    position: int  # of that word, 0-based
    part_of_speech: str  # of that word, WordNet's letter
    candidates: Collection[str]  # lower-cased single words, never the word itself; may be empty


class Ranker(Protocol):
    """Anything that predicts words in places: a masked language model, or counts of a corpus."""

    skipped: int  # blanks so far with candidates for which it could predict nothing

    def choose(self, blanks: Sequence[Blank]) -> list[str | None]:
        """For each blank the candidate that comes first among the ranker's predictions; None if none is among them."""
        ...

    def digest(self) -> str:
        """Hex digest of everything that decides the choice."""
        ...


class FrequencyRanker:
    """Predicts the words of a corpus by how often they occur there as the same part of speech, whatever the sentence.

    Stands in where no masked language model is at hand; a word that the corpus does not have is never chosen.

    Args:
        tagged: words of the corpus, e.g. of the seeds, with their Penn tags.

    Source:
        ours: the paper ranks by BERT (``bert-base-cased``).
    """

    def __init__(self, tagged: Iterable[tuple[str, str]]) -> None:
        self.skipped = 0  # it predicts the same for every blank
        self._counts = Counter((word.lower(), part_of_speech(tag)) for word, tag in tagged)

    def choose(self, blanks: Sequence[Blank]) -> list[str | None]:
        """As ``Ranker.choose``; of candidates that occur equally often, the first in alphabetical order."""
        return [self._most_frequent(blank.candidates, blank.part_of_speech) for blank in blanks]

    def digest(self) -> str:
        """Hex digest of the counts."""
        return hashlib.sha256(repr(sorted(self._counts.items(), key=repr)).encode()).hexdigest()

    def _most_frequent(self, candidates: Collection[str], pos: str) -> str | None:
        known = [word for word in candidates if (word, pos) in self._counts]
        return min(known, key=lambda word: (-self._counts[word, pos], word), default=None)
