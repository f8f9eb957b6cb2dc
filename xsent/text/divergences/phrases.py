"""Phrase inventory: all short word sequences of a corpus, indexed by their tag sequence."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TaggedSentence = tuple[Sequence[str], Sequence[str]]  # words and a tag for each


class Phrase(NamedTuple):
    """Consecutive words of a sentence."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    starts_sentence: bool


class PhraseInventory:
    """Looks up phrases by tag sequence.

    Of phrases that differ only in case, the first in the corpus is listed. Memory: the words, and 8 bytes for each
    distinct phrase.

    Args:
        sentences: words and tags of each.
        longest: maximum number of words of a phrase; the minimum is 2.
    """

    def __init__(self, sentences: Iterable[TaggedSentence], *, longest: int) -> None:
        if longest < 2:
            raise ValueError(f"the longest phrase: expected 2 words or more, found {longest}")
        corpus = [(tuple(words), tuple(tags)) for words, tags in sentences]
        self.longest = longest
        self._words = list(chain.from_iterable(words for words, _ in corpus))
        self._tags = list(chain.from_iterable(tags for _, tags in corpus))
        lengths = np.array([len(words) for words, _ in corpus], dtype=np.int64)
        ends = np.cumsum(lengths)
        self._sentence_starts = {0, *ends.tolist()}
        # (number of words,) words from here to the end of the sentence, which no phrase crosses
        remaining = np.repeat(ends, lengths) - np.arange(len(self._words))
        self._tables = dict(zip(range(2, longest + 1), self._build_tables(remaining), strict=True))

    def find(self, tags: Sequence[str]) -> range:
        """Numbers of the phrases with these tags, for ``phrase``; empty for lengths outside 2 to ``longest``."""
        table = self._tables.get(len(tags))
        if table is None:
            return range(0)

        def tags_at(start: int) -> tuple[str, ...]:
            return tuple(self._tags[start : start + len(tags)])

        # A table is sorted by tags.
        first = bisect_left(table, tuple(tags), key=tags_at)
        return range(first, bisect_right(table, tuple(tags), lo=first, key=tags_at))

    def phrase(self, length: int, number: int) -> Phrase:
        """A phrase by its number of words and its own number."""
        start = int(self._tables[length][number])
        words, tags = (tuple(column[start : start + length]) for column in (self._words, self._tags))
        return Phrase(words, tags, start in self._sentence_starts)

    def _build_tables(self, remaining: NDArray[np.int64]) -> Iterable[NDArray[np.int64]]:
        """Start positions of the distinct phrases of each length, sorted by tags, then words."""
        words = word_ids = _rank([word.lower() for word in self._words])
        tags = tag_ids = _rank(self._tags)
        for length in range(2, self.longest + 1):
            # The rank of a sequence follows from the ranks of its prefix and its last element.
            words, tags = (
                _rank_pairs(prefixes[: len(prefixes) - 1], ids[length - 1 :])
                for prefixes, ids in ((words, word_ids), (tags, tag_ids))
            )
            starts = np.flatnonzero(remaining[: len(tags)] >= length)
            _, first = np.unique(_combine(tags[starts], words[starts]), return_index=True)
            yield starts[first]


def _rank(texts: Sequence[str]) -> NDArray[np.int64]:
    ranks = {text: rank for rank, text in enumerate(sorted(set(texts)))}
    return np.fromiter((ranks[text] for text in texts), dtype=np.int64, count=len(texts))


def _rank_pairs(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rank of each pair (first, second) in their lexicographic order."""
    _, ranks = np.unique(_combine(first, second), return_inverse=True)
    return ranks.astype(np.int64)


def _combine(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    return first * (int(second.max(initial=0)) + 1) + second
