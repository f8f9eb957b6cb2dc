"""Coarse divergences, to compare with: one side gives way to another sentence, or gets one added."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from xsent.text.divergences.corpus import SeedCorpus
from xsent.text.divergences.pairs import AnnotatedPair
from xsent.text.divergences.record import (
    ADDED,
    CHANGED,
    INSERTION,
    SIDES,
    SOURCE,
    TARGET,
    UNCHANGED,
    UNEVEN,
    Divergence,
    Reason,
    divergence,
)


@dataclass(frozen=True)
class Uneven:
    """Replaces a whole side by that of another pair.

    Args:
        shortest: words of the shorter side for each word of the longer one, at least.
        attempts: draws of another pair.

    Source:
        Briakou & Carpuat 2020, appendix A.2, after Pham et al. 2018. Differs from the released code: a fair coin, not
        the number of the pair, chooses the side, so that a divergence does not depend on the order of pairs.
    """

    shortest: float
    attempts: int

    def make(self, pair: AnnotatedPair, rng: Random, seeds: SeedCorpus) -> Divergence | Reason:
        """The pair with one side of another, or why there is none."""
        side = rng.choice(SIDES)
        kept = pair.target if side == SOURCE else pair.source
        for _ in range(self.attempts):
            other = _other_sentence(pair, side, seeds, rng)
            if other is None or min(len(other), len(kept)) < self.shortest * max(len(other), len(kept)):
                continue
            changed = (CHANGED,) * len(other)
            note = f"> {' '.join(other)}"
            if side == SOURCE:
                return divergence(pair, UNEVEN, side, source=other, source_labels=changed, note=note)
            return divergence(pair, UNEVEN, side, target=other, target_labels=changed, note=note)
        return Reason.NO_OTHER_SENTENCE


@dataclass(frozen=True)
class Insertion:
    """Adds a sentence of another pair to the side that is not longer, before or after its own words.

    Args:
        longest: words of the longer side for each word of the other one, at most.
        attempts: draws of another pair.

    Source:
        Briakou & Carpuat 2020, appendix A.2, after Pham et al. 2018. Differs from the released code: a fair coin, not
        the number of the pair, chooses between before and after.
    """

    longest: float
    attempts: int

    def make(self, pair: AnnotatedPair, rng: Random, seeds: SeedCorpus) -> Divergence | Reason:
        """The pair with more on one side, or why there is none."""
        side = SOURCE if len(pair.source) <= len(pair.target) else TARGET
        own, opposite = (pair.source, pair.target) if side == SOURCE else (pair.target, pair.source)
        before = rng.choice((True, False))
        for _ in range(self.attempts):
            other = _other_sentence(pair, side, seeds, rng)
            if other is None or len(own) + len(other) > self.longest * len(opposite):
                continue
            words = other + own if before else own + other
            same, added = (UNCHANGED,) * len(own), (ADDED,) * len(other)
            marks = added + same if before else same + added
            note = f"+ {' '.join(other)}"
            if side == SOURCE:
                return divergence(pair, INSERTION, side, source=words, source_labels=marks, note=note)
            return divergence(pair, INSERTION, side, target=words, target_labels=marks, note=note)
        return Reason.NO_OTHER_SENTENCE


def _other_sentence(pair: AnnotatedPair, side: str, seeds: SeedCorpus, rng: Random) -> tuple[str, ...] | None:
    """One side of a drawn pair; None if this pair was drawn, or one that says the same."""
    other = seeds.draw(rng)
    words, own = (other.source, pair.source) if side == SOURCE else (other.target, pair.target)
    return None if other.key == pair.key or words == own else words
