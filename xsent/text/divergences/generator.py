"""Divergence generator: all requested kinds of divergences of many seeds."""

import logging
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, Self

from tqdm import tqdm

from xsent.config_checks import check_choice
from xsent.text.divergences.annotated_pair import AnnotatedPair, keep_last_links
from xsent.text.divergences.coarse import Insertion, Uneven
from xsent.text.divergences.deletion import SubtreeDeletion
from xsent.text.divergences.json_format import (
    DELETION,
    INSERTION,
    KINDS,
    LEXICAL,
    REPLACEMENT,
    SPAN_DELETION,
    UNEVEN,
    WORD_REPLACEMENT,
    Divergence,
    Reason,
    seed_record,
)
from xsent.text.divergences.phrases import SeedCorpus
from xsent.text.divergences.replacement import EITHER, PhraseReplacement
from xsent.text.divergences.spans import SpanDeletion, WordReplacement
from xsent.text.divergences.substitution import LexicalSubstitution, Ranker
from xsent.text.divergences.wordnet import WordNet

log = logging.getLogger(__name__)

ALL_LINKS, LAST_LINK = "all", "last"
_BATCH = 256  # seeds per call of a ranker: fills its batches, and the progress bar still moves


class SeedDivergences(NamedTuple):
    """The divergences of a seed."""

    pair: AnnotatedPair
    divergences: list[Divergence]  # the seed's record, then its divergences in the order of kinds
    failures: dict[str, Reason]  # by kind that was not possible


@dataclass(kw_only=True, eq=False)
class Diverger:
    """Makes divergent versions of clean pairs; reproducible for the same seed and pairs in any order.

    Every kind of every pair has its own random numbers, independent of the key of the pair. A divergence also depends
    on the phrases and sentences of all seeds and, without a ranker, on their word frequencies.

    Source:
        Briakou & Carpuat 2020 (arXiv:2010.03662), section 3.2; the coarse ones Appendix A.2.
    """

    seed: int  # of all draws
    kinds: Sequence[str]  # some of KINDS
    links: str  # ``all`` links of the aligner; ``last``: one for each source word, as in the released code
    deletion: SubtreeDeletion
    replacement: PhraseReplacement
    substitution: LexicalSubstitution
    wordnet: WordNet
    uneven: Uneven
    insertion: Insertion
    span_deletion: SpanDeletion
    word_replacement: WordReplacement
    _ranker: Ranker | None = field(default=None, init=False)
    _seeds: SeedCorpus | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if len(set(self.kinds)) < len(self.kinds) or not set(self.kinds) <= set(KINDS):
            raise ValueError(f"divergences.kinds={list(self.kinds)}: expected some of {', '.join(KINDS)}, none twice")
        check_choice("divergences.links", self.links, (ALL_LINKS, LAST_LINK))

    def with_ranker(self, ranker: Ranker) -> Self:
        """A copy that chooses substitutes by this ranker instead of their frequency in the seeds."""
        variant = copy(self)
        variant._ranker = ranker
        return variant

    def with_seeds(self, pairs: Sequence[AnnotatedPair]) -> Self:
        """A copy with the statistics of these seeds, for processing them in parts."""
        variant = copy(self)
        variant._seeds = SeedCorpus(pairs, longest=self.replacement.longest)
        return variant

    def digests(self) -> dict[str, str]:
        """Hex digests of WordNet and the ranker; empty without lexical substitutions."""
        if not set(self.kinds) & set(LEXICAL):
            return {}
        ranker = {"ranker": self._ranker.digest()} if self._ranker else {}
        return {"wordnet": self.wordnet.digest(), **ranker}

    def diverge(self, pairs: Sequence[AnnotatedPair], *, progress: bool = False) -> Iterator[SeedDivergences]:
        """Yield the divergences of each pair, in order.

        Args:
            pairs: valid (``check_pair``), with distinct keys.

        Raises:
            ValueError: a repeated key.
            FileNotFoundError: WordNet is needed and missing; raised by the call, not by the first iteration.
        """
        if len({pair.key for pair in pairs}) < len(pairs):
            raise ValueError("expected pairs with different keys, found one twice")
        if set(self.kinds) & set(LEXICAL):
            self.wordnet.load()
        untagged = sum(1 for pair in pairs if not pair.target_tags)
        if untagged and REPLACEMENT in self.kinds and self.replacement.side == EITHER:
            message = "%d of %d pairs have no target tags: phrases are replaced on their source side only"
            log.warning(message, untagged, len(pairs))
        return self._diverge(pairs, self._seeds or SeedCorpus(pairs, longest=self.replacement.longest), progress)

    def _diverge(self, pairs: Sequence[AnnotatedPair], seeds: SeedCorpus, progress: bool) -> Iterator[SeedDivergences]:
        bar = tqdm(total=len(pairs), desc="divergences", unit=" seeds", delay=2, leave=False, disable=not progress)
        with bar:
            for start in range(0, len(pairs), _BATCH):
                batch = pairs[start : start + _BATCH]
                linked = [keep_last_links(pair) for pair in batch] if self.links == LAST_LINK else batch
                columns = [self._make(kind, linked, seeds) for kind in self.kinds]
                for pair, *results in zip(batch, *columns, strict=True):
                    records = [result for result in results if isinstance(result, Divergence)]
                    outcomes = zip(self.kinds, results, strict=True)
                    failures = {kind: reason for kind, reason in outcomes if isinstance(reason, Reason)}
                    yield SeedDivergences(pair, [seed_record(pair), *records], failures)
                bar.update(len(batch))
        if self._ranker and self._ranker.skipped:
            log.info("%s words were not replaced: the ranker has no prediction for them", f"{self._ranker.skipped:,}")

    def _make(self, kind: str, pairs: Sequence[AnnotatedPair], seeds: SeedCorpus) -> list[Divergence | Reason]:
        # Seeded by words, not by key: a pair diverges in the same way wherever it stands in a bitext.
        rngs = [Random(f"{self.seed}\n{kind}\n{' '.join(pair.source)}\n{' '.join(pair.target)}") for pair in pairs]
        if kind in LEXICAL:
            return self.substitution.make(pairs, rngs, kind, self.wordnet, self._ranker or seeds.word_counts)
        makers: dict[str, Callable[[AnnotatedPair, Random], Divergence | Reason]] = {
            DELETION: self.deletion.make,
            REPLACEMENT: lambda pair, rng: self.replacement.make(pair, rng, seeds),
            UNEVEN: lambda pair, rng: self.uneven.make(pair, rng, seeds),
            INSERTION: lambda pair, rng: self.insertion.make(pair, rng, seeds),
            SPAN_DELETION: self.span_deletion.make,
            WORD_REPLACEMENT: lambda pair, rng: self.word_replacement.make(pair, rng, seeds),
        }
        return list(map(makers[kind], pairs, rngs))
