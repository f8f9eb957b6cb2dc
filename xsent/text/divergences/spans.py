"""Span deletion and word replacement: divergences of pairs with word links and no other annotation."""

from dataclasses import dataclass
from random import Random

from xsent.text.divergences.annotated_pair import SIDES, AnnotatedPair, opposite
from xsent.text.divergences.json_format import (
    ADDED,
    SPAN_DELETION,
    WORD_REPLACEMENT,
    Divergence,
    Reason,
    make_change,
    make_labels,
    make_record,
)
from xsent.text.divergences.phrases import SeedCorpus
from xsent.text.english.tokens import match_case


@dataclass(frozen=True)
class SpanDeletion:
    """Deletes consecutive words of a side; their counterparts on the other side are added meaning.

    A deletion removes a content word, and needs a counterpart that no remaining word is linked to.
    """

    longest: float  # most words of the span, as a share of the side; at least one word
    most_words: int | None  # of the source; longer pairs have none of this kind. None: any
    shortest_word: int  # letters of a content word, as in ``is_content_word``
    attempts: int  # draws of a span

    def make(self, pair: AnnotatedPair, rng: Random) -> Divergence | Reason:
        if min(len(pair.source), len(pair.target)) < 2:
            return Reason.TOO_SHORT
        if self.most_words is not None and len(pair.source) > self.most_words:
            return Reason.TOO_LONG
        for _ in range(self.attempts):
            side = rng.choice(SIDES)
            words, counterparts = pair.words(side), pair.words(opposite(side))
            length = rng.randint(1, max(1, int(self.longest * len(words))))
            start = rng.randint(0, len(words) - length)
            span = range(start, start + length)
            added = pair.aligned(side, span) - pair.aligned(side, set(range(len(words))) - set(span))
            has_content = any(is_content_word(words[position], self.shortest_word) for position in span)
            if has_content and any(any(map(str.isalnum, counterparts[position])) for position in added):
                remaining = (*words[:start], *words[start + length :])
                labels = make_labels(len(counterparts), added, ADDED)
                note = "- " + " ".join(words[start : start + length])
                return make_record(pair, SPAN_DELETION, side, remaining, opposite_labels=labels, note=note)
        return Reason.NO_SPAN


@dataclass(frozen=True)
class WordReplacement:
    """Replaces a content word with a link by a content word of another seed; frequent words are drawn more often."""

    most_words: int | None  # as in ``SpanDeletion``
    shortest_word: int  # letters of either word, as in ``is_content_word``
    attempts: int  # draws of a new word

    def make(self, pair: AnnotatedPair, rng: Random, seeds: SeedCorpus) -> Divergence | Reason:
        if self.most_words is not None and len(pair.source) > self.most_words:
            return Reason.TOO_LONG
        side = rng.choice(SIDES)
        words = pair.words(side)
        positions = [
            position
            for position, word in enumerate(words)
            if is_content_word(word, self.shortest_word) and pair.aligned(side, {position})
        ]
        if not positions:
            return Reason.NO_LINKED_WORD
        position = rng.choice(positions)
        old = words[position]
        known = {word.lower() for word in words}
        for _ in range(self.attempts):
            new = rng.choice(seeds.draw(rng).words(side))
            if is_content_word(new, self.shortest_word) and new.lower() not in known:
                # A capital in mid-sentence would reveal the word.
                new = match_case(new if old[:1].isupper() else new.lower(), old)
                replaced = (*words[:position], new, *words[position + 1 :])
                return make_change(pair, WORD_REPLACEMENT, side, replaced, [position], f"{old} > {new}")
        return Reason.NO_OTHER_WORD


def is_content_word(word: str, shortest: int) -> bool:
    """Whether a word has letters alone, and ``shortest`` of them; scripts without capitals have shorter words."""
    return word.isalpha() and (len(word) >= shortest or word.lower() == word.upper())
