"""Divergences of many seeds, of all kinds that are wanted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from random import Random
from typing import NamedTuple, Self

from tqdm import tqdm

from xsent.text.divergences.coarse import Insertion, Uneven
from xsent.text.divergences.corpus import SeedCorpus
from xsent.text.divergences.deletion import SubtreeDeletion
from xsent.text.divergences.pairs import AnnotatedPair, with_last_links
from xsent.text.divergences.ranker import Ranker
from xsent.text.divergences.record import (
    DELETION,
    INSERTION,
    KINDS,
    LEXICAL,
    REPLACEMENT,
    UNEVEN,
    Divergence,
    Reason,
    seed_record,
)
from xsent.text.divergences.replacement import EITHER, PhraseReplacement
from xsent.text.divergences.substitution import LexicalSubstitution
from xsent.text.divergences.wordnet import WordNet

log = logging.getLogger(__name__)

ALL_LINKS, LAST_LINK = "all", "last"
# Seeds that a ranker is asked about at a time: enough to fill its batches, few enough to see the bar move.
_AT_A_TIME = 256


class Made(NamedTuple):
    """What came of a seed."""

    pair: AnnotatedPair
    divergences: list[Divergence]  # the seed's own record, then those that could be made, in the order of kinds
    failures: dict[str, Reason]  # by kind of those that could not


class Diverger:
    """Makes divergent versions of clean pairs; the same seed and pairs give the same ones, in any order.

    Every kind of every pair has its own random numbers, whatever the key of the pair. Beside them a divergence depends
    on the words of all seeds: their phrases, their sentences and, without another ranker, their frequencies.

    Args:
        seed: of all draws.
        kinds: some of ``KINDS``.
        links: ``all`` that the aligner gives; ``last``: one for each source word, as in the released code.
        deletion: makes ``subtree_deletion``.
        replacement: makes ``phrase_replacement``.
        substitution: makes ``generalization`` and ``particularization``.
        wordnet: their candidates.
        uneven: makes ``uneven``.
        insertion: makes ``insert``.

    Raises:
        ValueError: an unknown kind, or one twice; unknown links.

    Source:
        Briakou & Carpuat 2020 (arXiv:2010.03662), section 2.1 and appendix A.2.
    """

    def __init__(
        self,
        *,
        seed: int,
        kinds: Sequence[str],
        links: str,
        deletion: SubtreeDeletion,
        replacement: PhraseReplacement,
        substitution: LexicalSubstitution,
        wordnet: WordNet,
        uneven: Uneven,
        insertion: Insertion,
    ) -> None:
        if len(set(kinds)) < len(kinds) or not set(kinds) <= set(KINDS):
            raise ValueError(f"divergences.kinds={list(kinds)}: expected some of {', '.join(KINDS)}, none twice")
        if links not in (ALL_LINKS, LAST_LINK):
            raise ValueError(f"divergences.links={links!r}: expected {ALL_LINKS} or {LAST_LINK}")
        self.kinds = tuple(kinds)
        self._seed = seed
        self._links = links
        self._deletion = deletion
        self._replacement = replacement
        self._substitution = substitution
        self._wordnet = wordnet
        self._uneven = uneven
        self._insertion = insertion
        self._ranker: Ranker | None = None
        self._seeds: SeedCorpus | None = None

    def with_ranker(self, ranker: Ranker) -> Self:
        """The same with another choice among WordNet's words than their frequency in the seeds."""
        other = copy(self)
        other._ranker = ranker
        return other

    def digests(self) -> dict[str, str]:
        """Hex digests of what decides lexical substitutions beside the seeds, by name; none where none are made."""
        if not set(self.kinds) & set(LEXICAL):
            return {}
        ranker = {"ranker": self._ranker.digest()} if self._ranker else {}
        return {"wordnet": self._wordnet.digest(), **ranker}

    def with_seeds(self, pairs: Sequence[AnnotatedPair]) -> Self:
        """The same with the words of these seeds, whichever of them are made divergent: for parts of a whole."""
        other = copy(self)
        other._seeds = SeedCorpus(pairs, longest=self._replacement.longest)
        return other

    def diverge(self, pairs: Sequence[AnnotatedPair], *, progress: bool = False) -> Iterator[Made]:
        """Divergent versions of each pair, in their order; a few hundred are made at a time.

        Args:
            pairs: with different keys; valid (``check_pair``).
            progress: show a bar.

        Raises:
            ValueError: a key occurs twice.
            FileNotFoundError: WordNet is needed and missing; at once, not with the first pair.
        """
        if len({pair.key for pair in pairs}) < len(pairs):
            raise ValueError("expected pairs with different keys, found one twice")
        if set(self.kinds) & set(LEXICAL):
            self._wordnet.load()
        self._warn_of_missing_tags(pairs)
        maker = self if self._seeds else self.with_seeds(pairs)
        return maker._made(pairs, progress)

    def _made(self, pairs: Sequence[AnnotatedPair], progress: bool) -> Iterator[Made]:
        bar = tqdm(total=len(pairs), desc="divergences", unit=" seeds", delay=2, leave=False, disable=not progress)
        with bar:
            for start in range(0, len(pairs), _AT_A_TIME):
                some = pairs[start : start + _AT_A_TIME]
                linked = [with_last_links(pair) for pair in some] if self._links == LAST_LINK else some
                by_kind = {kind: self._of_kind(kind, linked) for kind in self.kinds}
                for number, pair in enumerate(some):
                    results = {kind: column[number] for kind, column in by_kind.items()}
                    made = [one for one in results.values() if isinstance(one, Divergence)]
                    failures = {kind: one for kind, one in results.items() if isinstance(one, Reason)}
                    yield Made(pair, [seed_record(pair), *made], failures)
                bar.update(len(some))
        if self._ranker and self._ranker.skipped:
            log.info("%s words were not replaced, as the ranker predicts nothing for them", f"{self._ranker.skipped:,}")

    def _of_kind(self, kind: str, pairs: Sequence[AnnotatedPair]) -> list[Divergence | Reason]:
        seeds = self._seeds
        assert seeds is not None
        # By its words, not its key: a line of a bitext diverges alike wherever it stands.
        rngs = [Random(f"{self._seed}\n{kind}\n{' '.join(pair.source)}\n{' '.join(pair.target)}") for pair in pairs]
        if kind in LEXICAL:
            ranker = self._ranker or seeds.word_counts
            return self._substitution.make(pairs, rngs, kind, self._wordnet, ranker)
        makers: dict[str, Callable[[AnnotatedPair, Random], Divergence | Reason]] = {
            DELETION: self._deletion.make,
            REPLACEMENT: lambda pair, rng: self._replacement.make(pair, rng, seeds),
            UNEVEN: lambda pair, rng: self._uneven.make(pair, rng, seeds),
            INSERTION: lambda pair, rng: self._insertion.make(pair, rng, seeds),
        }
        return [makers[kind](pair, rng) for pair, rng in zip(pairs, rngs, strict=True)]

    def _warn_of_missing_tags(self, pairs: Sequence[AnnotatedPair]) -> None:
        if REPLACEMENT not in self.kinds or self._replacement.side != EITHER:
            return
        untagged = sum(1 for pair in pairs if not pair.target_tags)
        if untagged:
            log.warning(
                "%d of %d pairs have no tags of their target words: their phrases are replaced on the source side only",
                untagged,
                len(pairs),
            )
