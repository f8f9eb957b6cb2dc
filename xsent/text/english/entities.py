"""Rule-based named entity recognition for English: capitals, word lists, head words, titles and context."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from xsent.text.english.names import (
    ADJECTIVES,
    INITIAL_HEADS,
    add_article,
    bundled,
    bundled_kinds,
    can_name_person,
    given_names,
    heads,
    is_title,
    kinds,
)
from xsent.text.english.tokens import Token, replace_span, starts_sentence, tokenize
from xsent.text.word_lists import load_word_sets

MIN_LINES = 2  # occurrences that a name needs if only its context tells the kind
_WORDS = load_word_sets("entities")
# A place at the start of a longer name: "the 2008 Singapore Grand Prix", "the Atlanta Thrashers".
_LEADING_KINDS = ("country", "city", "state")
# Kinds whose names may also replace a name of a less certain kind.
_MERGED_KINDS = {"person": ("woman", "man"), "place": ("city",)}


class Entity(NamedTuple):
    """A name in a sentence, as character offsets."""

    start: int
    end: int
    kind: str  # of ``names.bundled()``, or "person" and "place"
    is_sure: bool  # the name itself tells the kind, not only its context


class Names:
    """Names by kind: the bundled ones and those learned from a corpus (``NameCollector.names``)."""

    def __init__(self, learned: Mapping[str, Sequence[str]]) -> None:
        names = {kind: {*bundled().get(kind, ()), *learned.get(kind, ())} for kind in bundled().keys() | learned.keys()}
        for kind, parts in _MERGED_KINDS.items():
            names[kind] = names.get(kind, set()).union(*(names[part] for part in parts))
        self._names = {kind: sorted(entries) for kind, entries in names.items()}
        self._kinds = kinds(learned) | bundled_kinds()

    def find(self, sentence: str) -> list[Entity]:
        """Names of known kind, in order, without overlap."""
        return list(_recognize(sentence, self._kinds))

    def draw(self, sentence: str, entity: Entity, n: int, rng: random.Random) -> list[str]:
        """Up to ``n`` names of the same kind; none is in the sentence or a shorter or longer form of the name."""
        words = set(sentence[entity.start : entity.end].split())
        pool = self._names.get(entity.kind, [])
        # A few spare ones, as some are unsuitable; never all, as a large corpus has many names.
        sample = rng.sample(pool, min(len(pool), 2 * n + 10))
        new = [(name, set(name.split())) for name in sample if name not in sentence]
        # "New York" and "New York City" are forms of one name.
        return [name for name, parts in new if not (words <= parts or parts <= words)][:n]

    def replace(self, sentence: str, n: int, rng: random.Random) -> Iterator[str]:
        """The sentence with one name replaced, up to ``n`` times for each name."""
        for entity in self.find(sentence):
            for name in self.draw(sentence, entity, n, rng):
                yield replace_span(sentence, entity.start, entity.end, name)


class NameCollector:
    """Collects the names of a corpus; the order of its sentences does not matter."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}

    def add(self, sentence: str) -> None:
        for entity in _recognize(sentence, bundled_kinds()):
            name = sentence[entity.start : entity.end]
            if add_article(name, entity.kind) not in bundled_kinds():
                self._count(name, entity.kind, MIN_LINES if entity.is_sure else 1)
            if entity.kind in ("woman", "man", "person") and name.split()[-1] not in bundled_kinds():
                self._count(name.split()[-1], "surname", MIN_LINES)

    def _count(self, name: str, kind: str, lines: int) -> None:
        self._counts.setdefault(name, Counter())[kind] += lines

    def names(self) -> dict[str, list[str]]:
        """Names by kind; a name of several kinds has the most frequent one."""
        names: dict[str, list[str]] = {}
        for name, counts in sorted(self._counts.items()):
            kind, lines = max(sorted(counts.items()), key=lambda item: item[1])
            if lines >= MIN_LINES:
                names.setdefault(kind, []).append(name)
        return names


@dataclass(frozen=True)
class _Run:
    """Words ``[first, last)`` of a sentence, which are one name or several."""

    sentence: str
    words: Sequence[Token]
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first

    @property
    def start(self) -> int:
        return self.words[self.first].start

    @property
    def name(self) -> str:
        return _strip_genitive(self.sentence[self.start : self.words[self.last - 1].end])

    @property
    def parts(self) -> list[str]:
        return [_strip_genitive(word.text) for word in self.words[self.first : self.last]]

    @property
    def before(self) -> str:
        return self.words[self.first - 1].text if self.first else ""

    @property
    def has_article(self) -> bool:
        return self.before in ("the", "The")

    @property
    def has_title(self) -> bool:
        # "Dr" or "Dr."
        distance = 2 if self.before == "." and self.first > 1 else 1
        return self.first > 0 and is_title(self.words[self.first - distance].text)

    def after(self, offset: int = 0) -> str:
        index = self.last + offset
        return self.words[index].text if index < len(self.words) else ""

    def starting_at(self, first: int) -> _Run:
        return replace(self, first=first)

    def match(self, kind: str, *, is_sure: bool = True, words: int | None = None) -> Entity:
        """The run, or its first ``words``, as an entity."""
        run = self if words is None else replace(self, last=self.first + words)
        return Entity(run.start, run.start + len(run.name), kind, is_sure)


def _runs(sentence: str) -> Iterator[_Run]:
    """Runs of capitalised words, joined by "of" and the like; a genitive ends a run."""
    words = tokenize(sentence)
    first = 0
    while first < len(words):
        last = first + 1
        while words[first].text[0].isupper() and last < len(words):
            previous = words[last - 1]
            if sentence[previous.end : words[last].start] != " " or previous.text.endswith(("'s", "’s")):
                break
            if words[last].text[0].isupper():
                last += 1
            elif words[last].text in _WORDS["connectors"] and _is_capitalized(words, last + 1):
                last += 2
            else:
                break
        if words[first].text[0].isupper():
            yield _Run(sentence, words, first, last)
        first = last


def _is_capitalized(words: Sequence[Token], index: int) -> bool:
    return index < len(words) and words[index].text[0].isupper()


def _strip_genitive(text: str) -> str:
    return re.sub(r"['’]s?$", "", text)


def _recognize(sentence: str, kind_of: Mapping[str, str]) -> Iterator[Entity]:
    for run in _runs(sentence):
        # The first word of a sentence counts only if it is a known name.
        first = run.first
        if starts_sentence(sentence, run.start) and not _begins_with_name(run, kind_of):
            first += 1
        while first < run.last and (run.words[first].text in _WORDS["connectors"] or run.words[first].text == "The"):
            first += 1
        if first == run.last:
            continue
        run = run.starting_at(first)
        entity = None if is_title(run.parts[0]) else _match_name(run, kind_of)
        if entity := entity or _match_leading_place(run, kind_of):
            yield entity
        else:
            yield from _match_titled_person(run, kind_of)


def _begins_with_name(run: _Run, kind_of: Mapping[str, str]) -> bool:
    first = run.parts[0]
    if run.name in kind_of and run.name not in _WORDS["ambiguous"] | _WORDS["also common words"]:
        return True
    if first in given_names() and len(run) > 1:
        return True
    return is_title(first) or kind_of.get(first) in ADJECTIVES or first in INITIAL_HEADS


def _match_name(run: _Run, kind_of: Mapping[str, str]) -> Entity | None:
    name = run.name
    has_hint = run.before.lower() in _WORDS["before ambiguous"] or run.after().isdigit()
    if name in _WORDS["ambiguous"] and not has_hint:
        return None
    if run.has_article and kind_of.get(name) in ADJECTIVES:
        return run.match(kind_of[name])
    if kind := kind_of.get(f"the {name}" if run.has_article else name):
        return run.match(kind)
    if run.has_article and name in kind_of:
        return None  # "the Paris that ..."
    if len(run) > 1 and (head := _head(run)):
        return run.match(f"the {head}" if run.has_article else head)
    if not run.has_article and (person := _match_person(run)):
        return person
    return _match_by_context(run)


def _head(run: _Run) -> str | None:
    """Kind by the head: the word before "of", else the first or last word."""
    parts = run.parts
    if "of" in parts:
        return heads().get(parts[parts.index("of") - 1])
    return heads().get(parts[0] if parts[0] in INITIAL_HEADS else parts[-1])


def _match_person(run: _Run) -> Entity | None:
    """A full name with a known given name, or any name after a title."""
    parts = run.name.split()
    if len(parts) > 3 or not all(map(can_name_person, parts)):
        return None
    if len(parts) > 1 and parts[0] in given_names():
        return run.match(given_names()[parts[0]])
    if run.has_title and parts[0] not in bundled_kinds():
        return run.match("surname" if len(parts) == 1 else "person")
    return None


def _match_by_context(run: _Run) -> Entity | None:
    """A person beside a reporting verb or before ", who"; a place after "in" and the like."""
    parts = run.name.split()
    if len(parts) > 2 or not all(map(can_name_person, parts)):
        return None
    if parts[0] in bundled_kinds() or parts[0] in _WORDS["pronouns"]:
        return None
    is_described = run.after() == "," and run.after(1) == "who"
    if is_described or {run.before, run.after()} & _WORDS["reporting verbs"]:
        return run.match("surname" if len(parts) == 1 else "person", is_sure=len(parts) == 2)
    if run.before.lower() in _WORDS["before places"] and len(parts) == 1:
        return run.match("place", is_sure=False)
    return None


def _match_leading_place(run: _Run, kind_of: Mapping[str, str]) -> Entity | None:
    for count in range(len(run) - 1, 0, -1):
        name = " ".join(word.text for word in run.words[run.first : run.first + count])
        following = run.words[run.first + count].text
        is_clear = name not in _WORDS["ambiguous"] and following not in _WORDS["connectors"]
        if kind_of.get(name) in _LEADING_KINDS and is_clear:
            return run.match(kind_of[name], words=count)
    return None


def _match_titled_person(run: _Run, kind_of: Mapping[str, str]) -> Iterator[Entity]:
    """Nationality, titles and a person: "German Chancellor Angela Merkel"."""
    first = run.first
    while first < run.last:
        rest = run.starting_at(first)
        if kind_of.get(rest.parts[0]) in ADJECTIVES and len(run) > 1:
            yield rest.match(kind_of[rest.parts[0]], words=1)
        elif not is_title(rest.parts[0]):
            break
        first += 1
    if run.first < first < run.last and (person := _match_person(run.starting_at(first))):
        yield person
