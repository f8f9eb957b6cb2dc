"""Lexical substitution: replace a word by a more general or more specific one from WordNet; rankers choose it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, Protocol

from xsent.config_checks import check_integer
from xsent.text.divergences.annotated_pair import SOURCE, AnnotatedPair
from xsent.text.divergences.json_format import Divergence, Reason, make_change
from xsent.text.divergences.wordnet import WordNet, part_of_speech
from xsent.text.english.tokens import match_case
from xsent.text.word_lists import load_word_sets


class Blank(NamedTuple):
    """A position of a sentence and the candidates for it."""

    words: tuple[str, ...]  # the whole sentence with the word to be replaced
    position: int  # of that word, 0-based
    part_of_speech: str  # of that word, WordNet's letter
    candidates: Collection[str]  # lower-case single words without that word; may be empty


class Ranker(Protocol):
    """Predicts words at positions: a masked language model, or corpus counts."""

    skipped: int  # number of blanks so far without any prediction

    def choose(self, blanks: Sequence[Blank]) -> list[str | None]:
        """The candidate with the best prediction for each blank; None if none is predicted."""
        ...

    def digest(self) -> str:
        """Hex digest of everything that decides the choice."""
        ...


class FrequencyRanker:
    """Chooses the word that is most frequent in a corpus as the same part of speech, regardless of the sentence.

    Needs no masked language model, but words with their Penn tags, e.g. of the seeds; other words are never chosen.

    Source:
        ours: the paper ranks by BERT (``bert-base-cased``).
    """

    def __init__(self, tagged: Iterable[tuple[str, str]]) -> None:
        self.skipped = 0
        self._counts = Counter((word.lower(), part_of_speech(tag)) for word, tag in tagged)

    def choose(self, blanks: Sequence[Blank]) -> list[str | None]:
        """As ``Ranker.choose``; ties go to the first in alphabetical order."""
        choices = []
        for _, _, pos, candidates in blanks:
            listed = [word for word in candidates if (word, pos) in self._counts]
            choices.append(min(listed, key=lambda word: (-self._counts[word, pos], word), default=None))
        return choices

    def digest(self) -> str:
        return hashlib.sha256(repr(sorted(self._counts.items(), key=repr)).encode()).hexdigest()


@dataclass(frozen=True)
class LexicalSubstitution:
    """Replaces verbs, adjectives and common nouns by the candidate that a ranker prefers.

    Stop words are neither replaced nor inserted.

    Source:
        Briakou & Carpuat 2020, section 3.2. Differs from the released code: only words with candidates count as
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
