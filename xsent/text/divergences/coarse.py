"""Coarse divergences for comparison: one side replaced by, or extended with, another sentence."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from xsent.text.divergences.annotated_pair import SIDES, SOURCE, TARGET, AnnotatedPair, opposite
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
from xsent.text.divergences.phrases import SeedCorpus


@dataclass(frozen=True)
class Uneven:
    """Replaces one side by that of another pair.

    Source:
        Briakou & Carpuat 2020, Appendix A.2, after Pham et al. 2018. Differs from the released code: a fair coin, not
        the number of the pair, chooses the side, so that a divergence does not depend on the order of pairs.
    """

    shortest: float  # minimum length of the shorter side, as a share of the longer one
    attempts: int  # draws of another pair
    label_both: bool  # words of the unchanged side, which lost their counterparts, are labelled too; released: false

    def make(self, pair: AnnotatedPair, rng: Random, seeds: SeedCorpus) -> Divergence | Reason:
        side = rng.choice(SIDES)
        unchanged = pair.words(opposite(side))
        for words in _draw_sentences(pair, side, seeds, rng, self.attempts):
            if min(len(words), len(unchanged)) >= self.shortest * max(len(words), len(unchanged)):
                labels = (CHANGED,) * len(words)
                lost = (CHANGED,) * len(unchanged) if self.label_both else ()
                note = f"> {' '.join(words)}"
                return make_record(pair, UNEVEN, side, words, labels=labels, opposite_labels=lost, note=note)
        return Reason.NO_OTHER_SENTENCE


@dataclass(frozen=True)
class Insertion:
    """Adds a sentence of another pair before or after the shorter side (the source if both are equally long).

    Source:
        Briakou & Carpuat 2020, Appendix A.2, after Pham et al. 2018. Differs from the released code: a fair coin, not
        the number of the pair, chooses between before and after.
    """

    longest: float  # maximum length of the extended side, as a multiple of the other side
    attempts: int  # draws of another pair

    def make(self, pair: AnnotatedPair, rng: Random, seeds: SeedCorpus) -> Divergence | Reason:
        side = SOURCE if len(pair.source) <= len(pair.target) else TARGET
        words = pair.words(side)
        before = rng.choice((True, False))
        for added in _draw_sentences(pair, side, seeds, rng, self.attempts):
            if len(words) + len(added) <= self.longest * len(pair.words(opposite(side))):
                labelled = [(word, ADDED) for word in added], [(word, UNCHANGED) for word in words]
                first, second = labelled if before else reversed(labelled)
                extended, labels = zip(*first, *second, strict=True)
                return make_record(pair, INSERTION, side, extended, labels=labels, note=f"+ {' '.join(added)}")
        return Reason.NO_OTHER_SENTENCE


def _draw_sentences(
    pair: AnnotatedPair, side: str, seeds: SeedCorpus, rng: Random, attempts: int
) -> Iterator[tuple[str, ...]]:
    """One side of each drawn pair, except of this pair or an equal sentence."""
    for _ in range(attempts):
        drawn = seeds.draw(rng)
        if drawn.key != pair.key and drawn.words(side) != pair.words(side):
            yield drawn.words(side)
