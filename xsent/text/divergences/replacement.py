"""Phrase replacement: some words of one side give way to others with the same tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from xsent.text.divergences.corpus import SeedCorpus
from xsent.text.divergences.pairs import AnnotatedPair
from xsent.text.divergences.phrases import Phrase, PhraseInventory
from xsent.text.divergences.record import (
    CHANGED,
    REPLACEMENT,
    SIDES,
    SOURCE,
    Divergence,
    Reason,
    divergence,
    labels,
)
from xsent.text.tokens import cased_like

EITHER = "either"
FITTED, AS_FOUND = "fitted", "as_found"
_NAMES = ("NNP", "PROPN")  # tags, or how they begin, of words that keep their capital


@dataclass(frozen=True)
class PhraseReplacement:
    """Replaces a phrase by one with the same tags from the seeds.

    Args:
        side: ``either``: a fair coin chooses the side (paper), the source where the target is not tagged; ``source``
            (released code).
        longest: words of a phrase, at most; the shortest has 2, and none has more than half of the sentence.
        casing: ``fitted``: the new phrase has a capital where a sentence begins, and loses the one it had from there;
            ``as_found``: its words as they stood.
        attempts: draws of a phrase.

    Raises:
        ValueError: an unknown side or casing.

    Source:
        Briakou & Carpuat 2020, section 2.1, after Pham et al. 2018. Differs from the released code: a phrase that was
        replaced stays in the inventory, so that no divergence depends on those made before.
    """

    side: str
    longest: int
    casing: str
    attempts: int

    def __post_init__(self) -> None:
        for name, found, expected in (
            ("side", self.side, (EITHER, SOURCE)),
            ("casing", self.casing, (FITTED, AS_FOUND)),
        ):
            if found not in expected:
                raise ValueError(f"replacement.{name}={found!r}: expected {' or '.join(expected)}")

    def make(self, pair: AnnotatedPair, rng: Random, seeds: SeedCorpus) -> Divergence | Reason:
        """One replacement, or why there is none."""
        side = rng.choice(SIDES) if self.side == EITHER and pair.target_tags else SOURCE
        words, tags = (pair.source, pair.tags) if side == SOURCE else (pair.target, pair.target_tags)
        inventory = seeds.source_phrases if side == SOURCE else seeds.target_phrases
        # Longer phrases are not in the inventory: drawing them would only use up attempts.
        longest = min(len(words) // 2, inventory.longest)
        if longest < 2:
            return Reason.TOO_SHORT
        for _ in range(self.attempts):
            length = rng.randint(2, longest)
            start = rng.randint(0, len(words) - length)
            place = _Place(words[start : start + length], tags[start : start + length], start)
            other = _other_phrase(inventory, place, rng)
            if other is not None:
                new = _fitted(other, place) if self.casing == FITTED else other.words
                return _replace(pair, side, place, new)
        return Reason.NO_PHRASE


class _Place(NamedTuple):
    words: tuple[str, ...]
    tags: tuple[str, ...]
    start: int


def _other_phrase(inventory: PhraseInventory, place: _Place, rng: Random) -> Phrase | None:
    """Any phrase with the tags of the place and other words, capitals aside."""
    found = inventory.find(place.tags)
    if not found:
        return None
    number = rng.choice(found)
    phrase = inventory.phrase(len(place.words), number)
    if _lower(phrase.words) != _lower(place.words):
        return phrase
    if len(found) == 1:
        return None
    # The phrase itself was drawn: any of the others, all of which differ from it.
    number = found.start + (number - found.start + rng.randrange(1, len(found))) % len(found)
    return inventory.phrase(len(place.words), number)


def _fitted(phrase: Phrase, place: _Place) -> tuple[str, ...]:
    first, *rest = phrase.words
    keeps_capital = phrase.tags[0].startswith(_NAMES) or first == "I" or first[1:].isupper()
    if phrase.starts_sentence and not keeps_capital:
        first = first.lower()
    if place.start == 0:
        first = cased_like(first, place.words[0])
    return (first, *rest)


def _replace(pair: AnnotatedPair, side: str, place: _Place, new: Sequence[str]) -> Divergence:
    span = range(place.start, place.start + len(place.words))
    old = pair.source if side == SOURCE else pair.target
    changed = (*old[: span.start], *new, *old[span.stop :])
    note = f"{' '.join(place.words)} > {' '.join(new)}"
    if side == SOURCE:
        aligned = {target for source in span for target in pair.targets_of(source)}
        marks = labels(len(pair.source), set(span), CHANGED), labels(len(pair.target), aligned, CHANGED)
        return divergence(
            pair, REPLACEMENT, side, source=changed, source_labels=marks[0], target_labels=marks[1], note=note
        )
    aligned = {source for target in span for source in pair.sources_of(target)}
    marks = labels(len(pair.source), aligned, CHANGED), labels(len(pair.target), set(span), CHANGED)
    return divergence(
        pair, REPLACEMENT, side, target=changed, source_labels=marks[0], target_labels=marks[1], note=note
    )


def _lower(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words)
