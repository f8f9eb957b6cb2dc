"""Coarse divergences for comparison: one side replaced by, or extended with, another sentence."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from xsent.text.divergences.annotated_pair import SIDES, SOURCE, TARGET, AnnotatedPair, opposite
from xsent.text.divergences.corpus_statistics import SeedCorpus
from xsent.text.divergences.json_format import (
    ADDED,
    CHANGED,
    INSERTION,
    UNCHANGED,
    UNEVEN,
    Divergence,
    Reason,
    make_record,
)


@dataclass(frozen=True)
class Uneven:
    """Replaces one side by that of another pair.

    Source:
        Briakou & Carpuat 2020, appendix A.2, after Pham et al. 2018. Differs from the released code: a fair coin, not
        the number of the pair, chooses the side, so that a divergence does not depend on the order of pairs.
    """

    shortest: float  # minimum length of the shorter side, as a share of the longer one
    attempts: int  # draws of another pair

    def make(self, pair: AnnotatedPair, rng: Random, seeds: SeedCorpus) -> Divergence | Reason:
        side = rng.choice(SIDES)
        unchanged = pair.words(opposite(side))
        for _ in range(self.attempts):
            words = _draw_sentence(pair, side, seeds, rng)
            if words is None:
                continue
            if min(len(words), len(unchanged)) >= self.shortest * max(len(words), len(unchanged)):
                labels = (CHANGED,) * len(words)
                return make_record(pair, UNEVEN, side, words, labels=labels, note=f"> {' '.join(words)}")
        return Reason.NO_OTHER_SENTENCE


@dataclass(frozen=True)
class Insertion:
    """Adds a sentence of another pair before or after the shorter side (the source if both are equally long).

    Source:
        Briakou & Carpuat 2020, appendix A.2, after Pham et al. 2018. Differs from the released code: a fair coin, not
        the number of the pair, chooses between before and after.
    """

    longest: float  # maximum length of the extended side, as a multiple of the other side
    attempts: int  # draws of another pair

    def make(self, pair: AnnotatedPair, rng: Random, seeds: SeedCorpus) -> Divergence | Reason:
        side = SOURCE if len(pair.source) <= len(pair.target) else TARGET
        words = pair.words(side)
        before = rng.choice((True, False))
        for _ in range(self.attempts):
            added = _draw_sentence(pair, side, seeds, rng)
            if added is None or len(words) + len(added) > self.longest * len(pair.words(opposite(side))):
                continue
            parts = [(added, ADDED), (words, UNCHANGED)]
            first, second = parts if before else reversed(parts)
            labels = (first[1],) * len(first[0]) + (second[1],) * len(second[0])
            note = f"+ {' '.join(added)}"
            return make_record(pair, INSERTION, side, first[0] + second[0], labels=labels, note=note)
        return Reason.NO_OTHER_SENTENCE


def _draw_sentence(pair: AnnotatedPair, side: str, seeds: SeedCorpus, rng: Random) -> tuple[str, ...] | None:
    """One side of a drawn pair; None for this pair or an equal sentence."""
    drawn = seeds.draw(rng)
    words = drawn.words(side)
    return None if drawn.key == pair.key or words == pair.words(side) else words
