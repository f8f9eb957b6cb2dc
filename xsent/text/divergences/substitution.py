"""Lexical substitution: replace a word by a more general or more specific one from WordNet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from xsent.text.config_checks import check_integer
from xsent.text.divergences.annotated_pair import SOURCE, AnnotatedPair
from xsent.text.divergences.json_format import Divergence, Reason, make_change
from xsent.text.divergences.ranker import Blank, Ranker
from xsent.text.divergences.wordnet import WordNet, part_of_speech
from xsent.text.english.tokens import match_case
from xsent.text.word_lists import load_word_sets


@dataclass(frozen=True)
class LexicalSubstitution:
    """Replaces verbs, adjectives and common nouns by the candidate that a ranker prefers.

    Stop words are neither replaced nor inserted.

    Source:
        Briakou & Carpuat 2020, section 2.1. Differs from the released code: only words with candidates count as
        attempts, and no candidate is a stop word ("know > have").
    """

    max_substitutions: int | None  # of words per sentence; 1 in the paper, None (no limit) in the released code
    attempts: int  # maximum number of words per sentence for which the ranker is called

    def __post_init__(self) -> None:
        if self.max_substitutions is not None:
            check_integer("substitution.max_substitutions", self.max_substitutions, minimum=1)

    def make(
        self, pairs: Sequence[AnnotatedPair], rngs: Sequence[Random], kind: str, wordnet: WordNet, ranker: Ranker
    ) -> list[Divergence | Reason]:
        """The divergence of each pair, or why there is none; the ranker gets one word of every pair per call."""
        drafts = [self._draft(pair, rng, kind, wordnet) for pair, rng in zip(pairs, rngs, strict=True)]
        longest = float("inf") if self.max_substitutions is None else self.max_substitutions
        while unfinished := [draft for draft in drafts if draft.queue and len(draft.notes) < longest]:
            blanks = [draft.next_blank() for draft in unfinished]
            for draft, blank, word in zip(unfinished, blanks, ranker.choose(blanks), strict=True):
                if word is not None:
                    draft.replace(blank.position, word)
        return [draft.finish(kind) for draft in drafts]

    def _draft(self, pair: AnnotatedPair, rng: Random, kind: str, wordnet: WordNet) -> _Draft:
        stop_words: frozenset[str] = frozenset().union(*load_word_sets("stopwords").values())
        eligible = [
            (position, pos, frozenset(wordnet.candidates(word, pos, kind)) - stop_words)
            for position, (word, tag) in enumerate(zip(pair.source, pair.tags, strict=True))
            if (pos := part_of_speech(tag)) and word.lower() not in stop_words
        ]
        if not eligible:
            return _Draft(pair, reason=Reason.NO_ELIGIBLE_WORD)
        replaceable = [blank for blank in eligible if blank[2]]
        if not replaceable:
            return _Draft(pair, reason=Reason.NOT_IN_WORDNET)
        rng.shuffle(replaceable)
        return _Draft(pair, reason=Reason.NOT_PREDICTED, queue=replaceable[: self.attempts])


@dataclass
class _Draft:
    """An unfinished substitution."""

    pair: AnnotatedPair
    reason: Reason  # why there is no divergence until a word is replaced
    queue: list[tuple[int, str, frozenset[str]]] = field(default_factory=list)  # position, part of speech, candidates
    notes: dict[int, str] = field(default_factory=dict)  # by position of a replaced word

    def __post_init__(self) -> None:
        self.words = list(self.pair.source)

    def next_blank(self) -> Blank:
        return Blank(tuple(self.words), *self.queue.pop(0))

    def replace(self, position: int, word: str) -> None:
        old = self.words[position]
        self.words[position] = match_case(word, old, upper=True)
        self.notes[position] = f"{old} > {self.words[position]}"

    def finish(self, kind: str) -> Divergence | Reason:
        if not self.notes:
            return self.reason
        note = ", ".join(self.notes[position] for position in sorted(self.notes))
        return make_change(self.pair, kind, SOURCE, self.words, self.notes, note)
