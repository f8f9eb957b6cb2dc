"""Subtree deletion: one side loses what a subtree of the source parse says."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from xsent.text.divergences.annotated_pair import ROOT, SIDES, SOURCE, AnnotatedPair, opposite
from xsent.text.divergences.json_format import ADDED, DELETION, Divergence, Reason, make_labels, make_record

_MIN_WORDS = 4


@dataclass(frozen=True)
class SubtreeDeletion:
    """Deletes a subtree of the source, or its aligned words in the target.

    Source:
        Briakou & Carpuat 2020, section 3.2. Differs from the released code: every candidate can be drawn, not all but
        the first two; its position is that of the parse, not the first one with the same text; a deletion needs
        aligned words and must leave some.
    """

    allow_half: bool  # a subtree may cover half of the sentence (released code), not only less than half (paper)
    attempts: int  # draws of a subtree and a side

    def make(self, pair: AnnotatedPair, rng: Random) -> Divergence | Reason:
        if len(pair.source) < _MIN_WORDS:
            return Reason.TOO_SHORT
        spans = candidate_spans(pair.heads, allow_half=self.allow_half)
        if not spans:
            return Reason.NO_SUBTREE
        for _ in range(self.attempts):
            span, side = set(range(*rng.choice(spans))), rng.choice(SIDES)
            aligned = pair.aligned(SOURCE, span)
            deleted, added = (span, aligned) if side == SOURCE else (aligned, span)
            words = [word for position, word in enumerate(pair.words(side)) if position not in deleted]
            if aligned and words:
                note = "- " + " ".join(pair.words(side)[position] for position in sorted(deleted))
                labels = make_labels(len(pair.words(opposite(side))), added, ADDED)
                return make_record(pair, DELETION, side, words, opposite_labels=labels, note=note)
        return Reason.NOTHING_ALIGNED


def candidate_spans(heads: Sequence[int], *, allow_half: bool) -> list[tuple[int, int]]:
    """Start and end (exclusive) of the deletable subtrees, in the order of their top words.

    A deletable subtree has at least 2 words, no gap, and less than half of the sentence (or half, if allowed).
    """
    first, last = list(range(len(heads))), list(range(len(heads)))
    size = [0] * len(heads)
    for word in range(len(heads)):
        ancestor = word
        while ancestor != ROOT:
            first[ancestor], last[ancestor] = min(first[ancestor], word), max(last[ancestor], word)
            size[ancestor] += 1
            ancestor = heads[ancestor]
    largest = len(heads) // 2 if allow_half else (len(heads) - 1) // 2
    subtrees = zip(first, last, size, strict=True)
    return [(start, end + 1) for start, end, words in subtrees if 2 <= words <= largest and end - start + 1 == words]
