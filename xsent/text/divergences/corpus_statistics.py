"""Statistics of all seeds that generators draw from: phrases, sentences, word counts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from random import Random

from xsent.text.divergences.annotated_pair import AnnotatedPair
from xsent.text.divergences.phrases import PhraseInventory
from xsent.text.divergences.ranker import FrequencyRanker


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
