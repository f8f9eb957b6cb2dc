"""Rankers of substitutes: choose the candidate that fits a position of a sentence best."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from xsent.text.divergences.wordnet import part_of_speech


class Blank(NamedTuple):
    """A position of a sentence and the candidates for it."""

    words: tuple[str, ...]  # the whole sentence with the word to be replaced
    position: int  # of that word, 0-based
    part_of_speech: str  # of that word, WordNet's letter
    candidates: Collection[str]  # lower-case single words without that word; may be empty


class Ranker(Protocol):
    """Predicts words at positions: a masked language model, or corpus counts."""

    skipped: int  # number of blanks so far without any prediction

    def choose(self, blanks: Sequence[Blank]) -> list[str | None]:
        """The candidate with the best prediction for each blank; None if none is predicted."""
        ...

    def digest(self) -> str:
        """Hex digest of everything that decides the choice."""
        ...


class FrequencyRanker:
    """Chooses the word that is most frequent in a corpus as the same part of speech, regardless of the sentence.

    Needs no masked language model, but words with their Penn tags, e.g. of the seeds; other words are never chosen.

    Source:
        ours: the paper ranks by BERT (``bert-base-cased``).
    """

    def __init__(self, tagged: Iterable[tuple[str, str]]) -> None:
        self.skipped = 0
        self._counts = Counter((word.lower(), part_of_speech(tag)) for word, tag in tagged)

    def choose(self, blanks: Sequence[Blank]) -> list[str | None]:
        """As ``Ranker.choose``; ties go to the first in alphabetical order."""
        return [self._most_frequent(blank.candidates, blank.part_of_speech) for blank in blanks]

    def digest(self) -> str:
        return hashlib.sha256(repr(sorted(self._counts.items(), key=repr)).encode()).hexdigest()

    def _most_frequent(self, candidates: Collection[str], pos: str) -> str | None:
        listed = [word for word in candidates if (word, pos) in self._counts]
        return min(listed, key=lambda word: (-self._counts[word, pos], word), default=None)
