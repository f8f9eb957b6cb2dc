"""Named entities without a model: what has a capital, told apart by lists, heads, titles and neighbours."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from xsent.text.names import (
    ADJECTIVES,
    FIRST_HEADS,
    bundled,
    bundled_kinds,
    given_names,
    heads,
    is_title,
    kinds,
    may_be_of_person,
    written,
)
from xsent.text.tokens import Token, starts_sentence, tokens

MIN_LINES = 2  # a name that only its neighbours tell is taken into the list when they agree at least so often
_CONNECTORS = {"of", "de", "la", "del", "da", "di", "du", "van", "von", "der", "al", "bin", "ibn"}
# Names that are common words or of several kinds: left alone where their place does not tell which.
_DOUBTFUL = {"May", "March", "Nice", "Tours", "Buffalo", "Phoenix", "Georgia", "Mercury", "Jordan", "Chad", "Florence"}
# Names that begin a sentence as often in another sense.
_COMMON = {
    "Mark",
    "Grace",
    "Bill",
    "Frank",
    "Angel",
    "Ray",
    "Max",
    "Major",
    "Christian",
    "Rose",
    "Kim",
    "Apple",
    "Polish",
}
_PRONOUNS = {"I", "He", "Him", "His", "She", "Her", "It", "Its", "We", "Us", "Our", "You", "Your", "They", "My", "Me"}
_BEFORE_DOUBTFUL = {"in", "since", "until", "last", "next", "from", "of", "on", "near"}
_SAYING = {
    "said", "says", "told", "added", "explained", "stated", "argued", "wrote", "commented", "noted", "implied",
    "continued", "suggested", "claimed", "believes", "denied", "warned", "insisted", "admitted",
}  # fmt: skip
_IN = {"in", "near", "outside", "throughout", "visiting", "visit"}
# A place that a longer name begins with: "the 2008 Singapore Grand Prix", "the Atlanta Thrashers".
_LEADING = ("country", "city", "state")
# Names of these kinds may also stand for one whose kind is less certain.
_ALSO = {"person": ("woman", "man"), "place": ("city",)}


class Entity(NamedTuple):
    """A name in a sentence."""

    start: int
    end: int
    kind: str  # of ``names.bundled()``, or "person" and "place"


class Found(NamedTuple):
    """An entity and how it was told."""

    entity: Entity
    is_sure: bool  # from the name itself, not from its neighbours alone


class Names:
    """Names by kind: the bundled ones, and those that a corpus adds.

    Args:
        learned: names by kind, as ``NameCollector`` finds them.
    """

    def __init__(self, learned: Mapping[str, Sequence[str]]) -> None:
        every = {kind: {*bundled().get(kind, ()), *learned.get(kind, ())} for kind in bundled().keys() | learned.keys()}
        for kind, more in _ALSO.items():
            every[kind] = {*every.get(kind, ()), *(name for other in more for name in every[other])}
        self._names = {kind: sorted(names) for kind, names in every.items()}
        self._kinds = kinds(learned) | bundled_kinds()

    def find(self, sentence: str) -> list[Entity]:
        """Names of which the kind is known, in their order, without overlap."""
        return [found.entity for found in _recognised(sentence, self._kinds)]

    def draw(self, sentence: str, entity: Entity, n: int, rng: random.Random) -> list[str]:
        """Up to ``n`` names that may stand for this one: of its kind, none in the sentence or a form of it."""
        own = set(sentence[entity.start : entity.end].split())
        pool = self._names.get(entity.kind, [])
        # More than are needed, for the few that will not do; not all, for a large corpus has many names.
        drawn = rng.sample(pool, min(len(pool), 2 * n + 10))
        return [name for name in drawn if name not in sentence and not _is_form(own, set(name.split()))][:n]


def _is_form(one: set[str], other: set[str]) -> bool:
    """Whether one name is the other with words left out: "New York" and "New York City"."""
    return one <= other or other <= one


class NameCollector:
    """Gathers the names of a corpus, a sentence at a time; their order does not matter."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}

    def add(self, sentence: str) -> None:
        """Take in the names of a sentence."""
        for entity, is_sure in _recognised(sentence, bundled_kinds()):
            name = sentence[entity.start : entity.end]
            if written(name, entity.kind) not in bundled_kinds():
                self._count(name, entity.kind, MIN_LINES if is_sure else 1)
            if entity.kind in ("woman", "man", "person") and name.split()[-1] not in bundled_kinds():
                self._count(name.split()[-1], "surname", MIN_LINES)

    def _count(self, name: str, kind: str, lines: int) -> None:
        self._counts.setdefault(name, Counter())[kind] += lines

    def names(self) -> dict[str, list[str]]:
        """Names by kind; one that was found in several kinds is of the one found most."""
        found: dict[str, list[str]] = {}
        for name, counts in sorted(self._counts.items()):
            kind, lines = max(sorted(counts.items()), key=lambda item: item[1])
            if lines >= MIN_LINES:
                found.setdefault(kind, []).append(name)
        return found


# ---- runs of words with a capital


@dataclass(frozen=True)
class _Run:
    """Words ``[first, last)`` of a sentence that may be one name or several."""

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
        return _bare(self.sentence[self.start : self.words[self.last - 1].end])

    @property
    def parts(self) -> list[str]:
        return [_bare(word.text) for word in self.words[self.first : self.last]]

    @property
    def before(self) -> str:
        return self.words[self.first - 1].text if self.first else ""

    @property
    def has_article(self) -> bool:
        return self.before in ("the", "The")

    @property
    def has_title(self) -> bool:
        # "Dr" or "Dr."
        further = 2 if self.before == "." and self.first > 1 else 1
        return self.first > 0 and is_title(self.words[self.first - further].text)

    def after(self, further: int = 0) -> str:
        at = self.last + further
        return self.words[at].text if at < len(self.words) else ""

    def since(self, first: int) -> _Run:
        return replace(self, first=first)

    def found(self, kind: str, *, is_sure: bool = True, words: int | None = None) -> Found:
        """The run, or its first ``words``, as an entity."""
        run = self if words is None else replace(self, last=self.first + words)
        return Found(Entity(run.start, run.start + len(run.name), kind), is_sure)


def _runs(sentence: str) -> Iterator[_Run]:
    """Runs of words with a capital, with "of" and the like between them; a genitive ends one."""
    words = tokens(sentence)
    at = 0
    while at < len(words):
        last = at + 1
        while words[at].text[0].isupper() and last < len(words):
            if sentence[words[last - 1].end : words[last].start] != " " or _is_genitive(words[last - 1].text):
                break
            if words[last].text[0].isupper():
                last += 1
            elif words[last].text in _CONNECTORS and last + 1 < len(words) and words[last + 1].text[0].isupper():
                last += 2
            else:
                break
        if words[at].text[0].isupper():
            yield _Run(sentence, words, at, last)
        at = last


def _is_genitive(word: str) -> bool:
    return word.endswith(("'s", "’s"))


def _bare(text: str) -> str:
    """Without the sign of the genitive."""
    return re.sub(r"['’]s?$", "", text)


# ---- what they are


def _recognised(sentence: str, kind_of: Mapping[str, str]) -> Iterator[Found]:
    for run in _runs(sentence):
        # A capital at the start of a sentence means nothing, unless a name is known.
        first = run.first
        if starts_sentence(sentence, run.start) and not _begins_with_name(run, kind_of):
            first += 1
        while first < run.last and run.words[first].text in (*_CONNECTORS, "The"):
            first += 1
        if first < run.last:
            yield from _in_run(run.since(first), kind_of)


def _begins_with_name(run: _Run, kind_of: Mapping[str, str]) -> bool:
    first = run.parts[0]
    if run.name in kind_of and run.name not in _DOUBTFUL | _COMMON:
        return True
    if first in given_names() and len(run) > 1:
        return True
    return is_title(first) or kind_of.get(first) in ADJECTIVES or first in FIRST_HEADS


def _in_run(run: _Run, kind_of: Mapping[str, str]) -> Iterator[Found]:
    if not is_title(run.parts[0]) and (whole := _whole(run, kind_of)):
        yield whole
    elif leading := _leading_place(run, kind_of):
        yield leading
    else:
        yield from _people_titles_person(run, kind_of)


def _whole(run: _Run, kind_of: Mapping[str, str]) -> Found | None:
    """The run as one name."""
    name = run.name
    if name in _DOUBTFUL and run.before.lower() not in _BEFORE_DOUBTFUL and not run.after().isdigit():
        return None
    if run.has_article and kind_of.get(name) in ADJECTIVES:
        return run.found(kind_of[name])
    if kind := kind_of.get(f"the {name}" if run.has_article else name):
        return run.found(kind)
    if run.has_article and name in kind_of:
        return None  # "the Paris that ..."
    if len(run) > 1 and (head := _head(run)):
        return run.found(f"the {head}" if run.has_article else head)
    if not run.has_article and (person := _person(run)):
        return person
    return _from_neighbours(run)


def _head(run: _Run) -> str | None:
    """Kind by the head: the word before "of", else the first or last one."""
    parts = run.parts
    if "of" in parts:
        return heads().get(parts[parts.index("of") - 1])
    return heads().get(parts[0] if parts[0] in FIRST_HEADS else parts[-1])


def _person(run: _Run) -> Found | None:
    """A full name with a known given name, or whatever follows a title."""
    parts = run.name.split()
    if len(parts) > 3 or not all(map(may_be_of_person, parts)):
        return None
    if len(parts) > 1 and parts[0] in given_names():
        return run.found(given_names()[parts[0]])
    if run.has_title and parts[0] not in bundled_kinds():
        return run.found("surname" if len(parts) == 1 else "person")
    return None


def _from_neighbours(run: _Run) -> Found | None:
    """Who says something is a person, where something is is a place."""
    parts = run.name.split()
    if len(parts) > 2 or not all(map(may_be_of_person, parts)) or parts[0] in bundled_kinds().keys() | _PRONOUNS:
        return None
    is_described = run.after() == "," and run.after(1) == "who"
    if run.before in _SAYING or run.after() in _SAYING or is_described:
        return run.found("surname" if len(parts) == 1 else "person", is_sure=len(parts) == 2)
    if run.before.lower() in _IN and len(parts) == 1:
        return run.found("place", is_sure=False)
    return None


def _leading_place(run: _Run, kind_of: Mapping[str, str]) -> Found | None:
    for words in range(len(run) - 1, 0, -1):
        name = " ".join(word.text for word in run.words[run.first : run.first + words])
        follows = run.words[run.first + words].text
        if kind_of.get(name) in _LEADING and name not in _DOUBTFUL and follows not in _CONNECTORS:
            return run.found(kind_of[name], words=words)
    return None


def _people_titles_person(run: _Run, kind_of: Mapping[str, str]) -> Iterator[Found]:
    """People, titles and a person: "German Chancellor Angela Merkel"."""
    at = run.first
    while at < run.last:
        here = run.since(at)
        if kind_of.get(here.parts[0]) in ADJECTIVES and len(run) > 1:
            yield here.found(kind_of[here.parts[0]], words=1)
        elif not is_title(here.parts[0]):
            break
        at += 1
    if run.first < at < run.last and (person := _person(run.since(at))):
        yield person
