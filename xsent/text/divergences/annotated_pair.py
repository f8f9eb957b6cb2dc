"""Annotated sentence pairs: words, tags, parse and word links of a translation pair."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

ROOT = -1  # head of the root
SOURCE, TARGET = "source", "target"
SIDES = (SOURCE, TARGET)


def opposite(side: str) -> str:
    return TARGET if side == SOURCE else SOURCE


@dataclass(frozen=True)
class AnnotatedPair:
    """A translation pair with one list of words per side, shared by tags, parse, links and labels."""

    key: str  # unique, e.g. the sentence id
    source: tuple[str, ...]
    target: tuple[str, ...]
    tags: tuple[str, ...]  # Penn tag of each source word; empty, as the heads, of a pair without annotation
    heads: tuple[int, ...]  # 0-based head of each source word; -1: the root
    links: tuple[tuple[int, int], ...]  # 0-based source-target, many-to-many, in the aligner's order
    origin: str  # e.g. the name of the corpus
    target_tags: tuple[str, ...] = ()  # any tag set; empty if the target is not tagged

    def words(self, side: str) -> tuple[str, ...]:
        return self.source if side == SOURCE else self.target

    def aligned(self, side: str, positions: Collection[int]) -> set[int]:
        """Positions on the opposite side that are linked to any of these."""
        links = self.links if side == SOURCE else [(target, source) for source, target in self.links]
        return {end for start, end in links if start in positions}


def keep_last_links(pair: AnnotatedPair) -> AnnotatedPair:
    """Keep one link for each source word, the last one, as the released code does."""
    return replace(pair, links=tuple(dict(pair.links).items()))


def check_pair(pair: AnnotatedPair, location: str) -> None:
    """Check that words, tags, parse and links of a pair fit together.

    Raises:
        ValueError: a side without words, an empty word or one with white space, a wrong number of tags or heads, a
            head or link out of range, no root or several, a cycle; names ``location``.
    """
    for side in SIDES:
        if not pair.words(side):
            raise ValueError(f"{location}: expected words on the {side} side, found none")
        for number, word in enumerate(pair.words(side), start=1):
            if word.split() != [word]:
                raise ValueError(
                    f"{location}: expected a word without white space, found {word!r}, {side} word {number}"
                )
    columns: list[tuple[str, Sequence[object], str]] = [("tags", pair.target_tags, TARGET)] if pair.target_tags else []
    if pair.tags or pair.heads:
        columns += [("tags", pair.tags, SOURCE), ("heads", pair.heads, SOURCE)]
    for name, values, side in columns:
        expected = len(pair.words(side))
        if len(values) != expected:
            raise ValueError(f"{location}: expected {expected} {name}, one for each {side} word, found {len(values)}")
    if pair.heads:
        _check_tree(location, pair.heads)
    for source, target in pair.links:
        if not (0 <= source < len(pair.source) and 0 <= target < len(pair.target)):
            last = f"{len(pair.source) - 1}-{len(pair.target) - 1}"
            raise ValueError(f"{location}: expected links from 0-0 to {last}, found {source}-{target}")


def _check_tree(location: str, heads: Sequence[int]) -> None:
    roots = [word + 1 for word, head in enumerate(heads) if head == ROOT]
    if len(roots) != 1:
        raise ValueError(f"{location}: expected one root, found {len(roots)}" + (f", words {roots}" if roots else ""))
    for word, head in enumerate(heads):
        if not ROOT <= head < len(heads):
            raise ValueError(f"{location}: expected heads from 1 to {len(heads)}, found {head + 1} at word {word + 1}")
    for word in range(len(heads)):
        ancestor, steps = word, 0
        while ancestor != ROOT:
            ancestor, steps = heads[ancestor], steps + 1
            if steps > len(heads):
                raise ValueError(f"{location}: expected a tree, found a cycle above word {word + 1}")
