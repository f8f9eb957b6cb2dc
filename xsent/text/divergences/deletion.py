"""Subtree deletion: what one side says in a subtree of the parse, the other side leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from xsent.text.divergences.pairs import ROOT, AnnotatedPair
from xsent.text.divergences.record import ADDED, DELETION, SIDES, SOURCE, TARGET, Divergence, Reason, divergence, labels

_SHORTEST = 4  # words of a sentence; those of 3 or fewer are skipped


@dataclass(frozen=True)
class SubtreeDeletion:
    """Deletes a subtree of the source, or what is aligned to it in the target.

    Args:
        allow_half: a subtree may cover half of the sentence (released code); otherwise less than half (paper).
        attempts: draws of a subtree and a side.

    Source:
        Briakou & Carpuat 2020, section 2.1. Differs from the released code: every candidate can be drawn, not all but
        the first two; its place is that of the parse, not the first one with the same text; a deletion that changes
        nothing, or differs on one side only in words that no link ties to the other, is no divergence.
    """

    allow_half: bool
    attempts: int

    def make(self, pair: AnnotatedPair, rng: Random) -> Divergence | Reason:
        """One deletion, or why there is none."""
        if len(pair.source) < _SHORTEST:
            return Reason.TOO_SHORT
        spans = candidate_spans(pair.heads, allow_half=self.allow_half)
        if not spans:
            return Reason.NO_SUBTREE
        for _ in range(self.attempts):
            start, end = rng.choice(spans)
            made = _delete(pair, range(start, end), rng.choice(SIDES))
            if made is not None:
                return made
        return Reason.NOTHING_ALIGNED


def candidate_spans(heads: Sequence[int], *, allow_half: bool) -> list[tuple[int, int]]:
    """Start and end (exclusive) of the subtrees that may go, in the order of their top words.

    These are the ones of 2 words or more, without a gap, that cover less than half of the sentence.

    Args:
        heads: 0-based head of each word, -1 for the root.
        allow_half: exactly half is allowed too.
    """
    first, last = list(range(len(heads))), list(range(len(heads)))
    size = [0] * len(heads)
    for word in range(len(heads)):
        above = word
        while above != ROOT:
            first[above], last[above] = min(first[above], word), max(last[above], word)
            size[above] += 1
            above = heads[above]
    largest = len(heads) // 2 if allow_half else (len(heads) - 1) // 2
    found = zip(first, last, size, strict=True)
    return [(start, end + 1) for start, end, words in found if 2 <= words <= largest and end - start + 1 == words]


def _delete(pair: AnnotatedPair, span: range, side: str) -> Divergence | None:
    aligned = {target for source in span for target in pair.targets_of(source)}
    if not aligned:
        return None
    if side == SOURCE:
        note = "- " + " ".join(pair.source[span.start : span.stop])
        added = labels(len(pair.target), aligned, ADDED)
        rest = [word for position, word in enumerate(pair.source) if position not in span]
        return divergence(pair, DELETION, side, source=rest, target_labels=added, note=note)
    rest = [word for position, word in enumerate(pair.target) if position not in aligned]
    if not rest:
        return None
    note = "- " + " ".join(pair.target[position] for position in sorted(aligned))
    added = labels(len(pair.source), set(span), ADDED)
    return divergence(pair, DELETION, TARGET, target=rest, source_labels=added, note=note)
