"""Seed pairs: a sentence with its parse, its translation, and which word translates which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

ROOT = -1  # head of the root


@dataclass(frozen=True)
class AnnotatedPair:
    """A translation pair as one list of words a side, which is tagged, parsed, aligned and labelled alike."""

    key: str  # tells pairs apart, e.g. the id of the sentence
    source: tuple[str, ...]
    target: tuple[str, ...]
    tags: tuple[str, ...]  # Penn tag of each source word
    heads: tuple[int, ...]  # 0-based head of each source word; -1: the root
    links: tuple[tuple[int, int], ...]  # 0-based source-target, many-to-many, in the aligner's order
    origin: str  # where the pair is from, e.g. the name of a corpus
    target_tags: tuple[str, ...] = ()  # of whatever tag set; empty: the target is not tagged

    def targets_of(self, index: int) -> tuple[int, ...]:
        """All target words aligned to a source word, in order."""
        return self._targets.get(index, ())

    def sources_of(self, index: int) -> tuple[int, ...]:
        """All source words aligned to a target word, in order."""
        return self._sources.get(index, ())

    @cached_property
    def _targets(self) -> dict[int, tuple[int, ...]]:
        return _multimap(self.links)

    @cached_property
    def _sources(self) -> dict[int, tuple[int, ...]]:
        return _multimap([(target, source) for source, target in self.links])


def with_last_links(pair: AnnotatedPair) -> AnnotatedPair:
    """The pair with one link for each source word, the last one: what the released code makes of an alignment."""
    return replace(pair, links=tuple(dict(pair.links).items()))


def check_pair(pair: AnnotatedPair, where: str) -> None:
    """Raise unless words, tags, parse and links of a pair fit together.

    Raises:
        ValueError: naming ``where``, what was expected and what was found: a side without words, an empty word or one
            with white space, tags or heads of another number than words, a head or a link out of range, no root or
            several, a cycle.
    """
    for side, words in (("source", pair.source), ("target", pair.target)):
        if not words:
            raise ValueError(f"{where}: expected words on the {side} side, found none")
        for number, word in enumerate(words, start=1):
            if word.split() != [word]:
                raise ValueError(f"{where}: expected a word without white space, found {word!r}, {side} word {number}")
    _check_number(where, "tags", pair.tags, "source", pair.source)
    _check_number(where, "heads", pair.heads, "source", pair.source)
    if pair.target_tags:
        _check_number(where, "tags", pair.target_tags, "target", pair.target)
    _check_tree(where, pair.heads)
    for source, target in pair.links:
        if not (0 <= source < len(pair.source) and 0 <= target < len(pair.target)):
            expected = f"0-0 to {len(pair.source) - 1}-{len(pair.target) - 1}"
            raise ValueError(f"{where}: expected links from {expected}, found {source}-{target}")


def _check_number(where: str, what: str, values: Sequence[object], side: str, words: Sequence[str]) -> None:
    if len(values) != len(words):
        raise ValueError(f"{where}: expected {len(words)} {what}, one for each {side} word, found {len(values)}")


def _check_tree(where: str, heads: Sequence[int]) -> None:
    roots = [word + 1 for word, head in enumerate(heads) if head == ROOT]
    if len(roots) != 1:
        raise ValueError(f"{where}: expected one root, found {len(roots)}" + (f", words {roots}" if roots else ""))
    for word, head in enumerate(heads):
        if not ROOT <= head < len(heads):
            raise ValueError(f"{where}: expected heads from 1 to {len(heads)}, found {head + 1} at word {word + 1}")
    for word in range(len(heads)):
        above, steps = word, 0
        while above != ROOT:
            above, steps = heads[above], steps + 1
            if steps > len(heads):
                raise ValueError(f"{where}: expected a tree, found a cycle above word {word + 1}")


def _multimap(links: Sequence[tuple[int, int]]) -> dict[int, tuple[int, ...]]:
    found: dict[int, set[int]] = {}
    for one, other in links:
        found.setdefault(one, set()).add(other)
    return {one: tuple(sorted(others)) for one, others in found.items()}
