"""Statistics of all seeds: phrases indexed by their tag sequence, sentences, word counts."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xsent.text.divergences.annotated_pair import AnnotatedPair
from xsent.text.divergences.substitution import FrequencyRanker

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
                np.unique(_combine(prefixes[:-1], ids[length - 1 :]), return_inverse=True)[1]
                for prefixes, ids in ((words, word_ids), (tags, tag_ids))
            )
            starts = np.flatnonzero(remaining[: len(tags)] >= length)
            _, first = np.unique(_combine(tags[starts], words[starts]), return_index=True)
            yield starts[first]


def _rank(texts: Sequence[str]) -> NDArray[np.int64]:
    ranks = {text: rank for rank, text in enumerate(sorted(set(texts)))}
    return np.fromiter((ranks[text] for text in texts), dtype=np.int64, count=len(texts))


def _combine(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers in the lexicographic order of the pairs (first, second)."""
    return first * (int(second.max(initial=0)) + 1) + second


class SeedCorpus:
    """All seeds, independent of their order and keys; statistics are computed on first use.

    Args:
        pairs: with distinct keys.
        longest: maximum number of words of a phrase.
    """

    def __init__(self, pairs: Sequence[AnnotatedPair], *, longest: int) -> None:
        self._pairs = sorted(pairs, key=lambda pair: (pair.source, pair.target, pair.tags, pair.target_tags))
        self._longest = longest

    def draw(self, rng: Random) -> AnnotatedPair:
        return self._pairs[rng.randrange(len(self._pairs))]

    @cached_property
    def source_phrases(self) -> PhraseInventory:
        return PhraseInventory(((pair.source, pair.tags) for pair in self._pairs), longest=self._longest)

    @cached_property
    def target_phrases(self) -> PhraseInventory:
        """Phrases of the tagged target sides."""
        tagged = ((pair.target, pair.target_tags) for pair in self._pairs if pair.target_tags)
        return PhraseInventory(tagged, longest=self._longest)

    @cached_property
    def word_counts(self) -> FrequencyRanker:
        return FrequencyRanker(tagged for pair in self._pairs for tagged in zip(pair.source, pair.tags, strict=True))
