"""What generators take from other pairs than the one they change: phrases, sentences, counts of words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from random import Random

from xsent.text.divergences.pairs import AnnotatedPair
from xsent.text.divergences.phrases import PhraseInventory
from xsent.text.divergences.ranker import FrequencyRanker


class SeedCorpus:
    """All seeds, whose order and keys do not matter; what is not asked for is not built.

    Args:
        pairs: with different keys.
        longest: words of a phrase of the inventories, at most.
    """

    def __init__(self, pairs: Sequence[AnnotatedPair], *, longest: int) -> None:
        self._pairs = sorted(pairs, key=lambda pair: (pair.source, pair.target, pair.tags, pair.target_tags))
        self._longest = longest

    def draw(self, rng: Random) -> AnnotatedPair:
        """Any of the pairs."""
        return self._pairs[rng.randrange(len(self._pairs))]

    @cached_property
    def source_phrases(self) -> PhraseInventory:
        """Phrases of the source sides."""
        return PhraseInventory(((pair.source, pair.tags) for pair in self._pairs), longest=self._longest)

    @cached_property
    def target_phrases(self) -> PhraseInventory:
        """Phrases of the target sides that are tagged."""
        tagged = ((pair.target, pair.target_tags) for pair in self._pairs if pair.target_tags)
        return PhraseInventory(tagged, longest=self._longest)

    @cached_property
    def word_counts(self) -> FrequencyRanker:
        """The source words by how often they occur as each part of speech."""
        return FrequencyRanker(tagged for pair in self._pairs for tagged in zip(pair.source, pair.tags, strict=True))
