"""The phrase inventory: all short sequences of words of a corpus by the sequence of their tags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Tagged = tuple[Sequence[str], Sequence[str]]  # the words of a sentence, and a tag for each


class Phrase(NamedTuple):
    """Words that stand in a row."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    starts_sentence: bool


class PhraseInventory:
    """Looks up the phrases that have some sequence of tags.

    Phrases that differ in capitals only are one, the first in the corpus. In memory are the words, and 8 bytes for
    each different phrase.

    Args:
        sentences: words and tags of each.
        longest: words of a phrase, at most; the shortest has 2.

    Raises:
        ValueError: ``longest`` is below 2.
    """

    def __init__(self, sentences: Iterable[Tagged], *, longest: int) -> None:
        if longest < 2:
            raise ValueError(f"the longest phrase: expected 2 words or more, found {longest}")
        kept = [(tuple(words), tuple(tags)) for words, tags in sentences]
        self.longest = longest
        self._words = list(chain.from_iterable(words for words, _ in kept))
        self._tags = list(chain.from_iterable(tags for _, tags in kept))
        ends = np.cumsum([len(words) for words, _ in kept], dtype=np.int64)
        self._starts = {0, *ends.tolist()}
        # How many words follow in the sentence, the word itself included: no phrase crosses its end.
        owner = np.repeat(ends, np.diff(ends, prepend=0)) if kept else ends
        left = owner - np.arange(len(self._words))
        self._tables = dict(zip(range(2, longest + 1), self._phrases(left), strict=True))

    def find(self, tags: Sequence[str]) -> range:
        """Numbers of the phrases with these tags, to be read with ``phrase``; none for lengths that are not kept."""
        table = self._tables.get(len(tags))
        if table is None or not len(table):
            return range(0)
        wanted = tuple(tags)
        # Phrases are in the order of their tags, so those with the same ones stand together.
        start, end = (self._search(table, wanted, after=after) for after in (False, True))
        return range(start, end)

    def phrase(self, length: int, number: int) -> Phrase:
        """A phrase by the number of its words and its own number."""
        start = int(self._tables[length][number])
        words, tags = (tuple(some[start : start + length]) for some in (self._words, self._tags))
        return Phrase(words, tags, start in self._starts)

    def _search(self, table: NDArray[np.int64], wanted: tuple[str, ...], *, after: bool) -> int:
        low, high = 0, len(table)
        while low < high:
            middle = (low + high) // 2
            start = int(table[middle])
            found = tuple(self._tags[start : start + len(wanted)])
            if found < wanted or (after and found == wanted):
                low = middle + 1
            else:
                high = middle
        return low

    def _phrases(self, left: NDArray[np.int64]) -> Iterable[NDArray[np.int64]]:
        """For each length from 2 on, where its different phrases start, ordered by tags, then by words."""
        words = word_ids = _numbers([word.lower() for word in self._words])
        tags = tag_ids = _numbers(self._tags)
        for length in range(2, self.longest + 1):
            # A sequence is numbered by the one without its last element and that element: order stays that of tuples.
            words, tags = (
                _numbers_of_pairs(shorter[: len(shorter) - 1], ids[length - 1 :])
                for shorter, ids in ((words, word_ids), (tags, tag_ids))
            )
            places = np.flatnonzero(left[: len(tags)] >= length)
            _, firsts = np.unique(_combined(tags[places], words[places]), return_index=True)
            yield places[firsts]


def _numbers(texts: Sequence[str]) -> NDArray[np.int64]:
    ranks = {text: rank for rank, text in enumerate(sorted(set(texts)))}
    return np.fromiter((ranks[text] for text in texts), dtype=np.int64, count=len(texts))


def _numbers_of_pairs(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rank of each (first, second) among all of them, in their order."""
    _, numbers = np.unique(_combined(first, second), return_inverse=True)
    return numbers.astype(np.int64)


def _combined(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    return first * (int(second.max(initial=0)) + 1) + second
