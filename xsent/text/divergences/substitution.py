"""Lexical substitution: a word gives way to a more general or a more particular one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random

from xsent.text.divergences.pairs import AnnotatedPair
from xsent.text.divergences.ranker import Blank, Ranker
from xsent.text.divergences.record import CHANGED, SOURCE, Divergence, Reason, divergence, labels
from xsent.text.divergences.wordnet import WordNet, part_of_speech
from xsent.text.words import sections


@dataclass(frozen=True)
class LexicalSubstitution:
    """Replaces verbs, adjectives and common nouns by the candidate that a ranker likes best in their place.

    Stop words neither give way nor come in.

    Args:
        max_substitutions: words of a sentence that are replaced, at most; 1 in the paper. None: as many as the
            attempts yield, as in the released code.
        attempts: words of a sentence that the ranker is asked about, at most.

    Raises:
        ValueError: ``max_substitutions`` is below 1.

    Source:
        Briakou & Carpuat 2020, section 2.1. Differs from the released code: attempts are spent only on words that have
        a candidate, and a stop word is none ("know > have").
    """

    max_substitutions: int | None
    attempts: int

    def __post_init__(self) -> None:
        if self.max_substitutions is not None and self.max_substitutions < 1:
            raise ValueError(f"substitution.max_substitutions={self.max_substitutions}: expected 1 or more, or null")

    def make(
        self, pairs: Sequence[AnnotatedPair], rngs: Sequence[Random], kind: str, wordnet: WordNet, ranker: Ranker
    ) -> list[Divergence | Reason]:
        """One substitution for each pair, or why there is none; the ranker is asked about all pairs at a time."""
        drafts = [self._draft(pair, rng, kind, wordnet) for pair, rng in zip(pairs, rngs, strict=True)]
        while open_drafts := [draft for draft in drafts if draft.waiting and not self._full(draft)]:
            blanks = [draft.next_blank() for draft in open_drafts]
            for draft, blank, word in zip(open_drafts, blanks, ranker.choose(blanks), strict=True):
                if word is not None:
                    draft.replace(blank.position, word)
        return [draft.finished(kind) for draft in drafts]

    def _full(self, draft: _Draft) -> bool:
        return self.max_substitutions is not None and len(draft.notes) >= self.max_substitutions

    def _draft(self, pair: AnnotatedPair, rng: Random, kind: str, wordnet: WordNet) -> _Draft:
        stop_words = _stop_words()
        eligible = {
            position: pos
            for position, (word, tag) in enumerate(zip(pair.source, pair.tags, strict=True))
            if (pos := part_of_speech(tag)) and word.lower() not in stop_words
        }
        if not eligible:
            return _Draft(pair, reason=Reason.NO_ELIGIBLE_WORD)
        candidates = {
            at: frozenset(wordnet.candidates(pair.source[at], pos, kind)) - stop_words for at, pos in eligible.items()
        }
        positions = [position for position, words in candidates.items() if words]
        if not positions:
            return _Draft(pair, reason=Reason.NOT_IN_WORDNET)
        rng.shuffle(positions)
        waiting = [(at, eligible[at], candidates[at]) for at in positions[: self.attempts]]
        return _Draft(pair, reason=Reason.NOT_PREDICTED, waiting=waiting)


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(word for words in sections("stopwords").values() for word in words)


@dataclass
class _Draft:
    """A sentence in the making."""

    pair: AnnotatedPair
    reason: Reason  # why there is no divergence as long as no word is replaced
    waiting: list[tuple[int, str, frozenset[str]]] = field(default_factory=list)
    notes: dict[int, str] = field(default_factory=dict)  # by position of a replaced word

    def __post_init__(self) -> None:
        self.words = list(self.pair.source)

    def next_blank(self) -> Blank:
        position, pos, candidates = self.waiting.pop(0)
        return Blank(tuple(self.words), position, pos, candidates)

    def replace(self, position: int, word: str) -> None:
        old = self.words[position]
        self.words[position] = _cased(word, old)
        self.notes[position] = f"{old} > {self.words[position]}"

    def finished(self, kind: str) -> Divergence | Reason:
        if not self.notes:
            return self.reason
        aligned = {target for position in self.notes for target in self.pair.targets_of(position)}
        return divergence(
            self.pair,
            kind,
            SOURCE,
            source=self.words,
            source_labels=labels(len(self.words), set(self.notes), CHANGED),
            target_labels=labels(len(self.pair.target), aligned, CHANGED),
            note=", ".join(self.notes[position] for position in sorted(self.notes)),
        )


def _cased(new: str, old: str) -> str:
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new.capitalize() if old[0].isupper() else new
