"""The bundled names by kind, and what a name is known by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from xsent.text.words import sections

PEOPLE = ("people and language", "people")  # kinds with a plural: Germans, Americans
ADJECTIVES = (*PEOPLE, "adjective and language", "adjective")
FIRST_HEADS = ("Lake", "Mount")  # the other heads come last
# Given names, family names and plurals are taken from other sections; "person" and "place" are only found in text.
_SECTIONS = (
    "weekday", "month", "country", "continent", "city", "state", "ocean", "ocean short", "river", "lake", "mountain",
    "mountains", "island", "islands", "valley", "desert", "planet", "street", "square", "park", "airport", "bridge",
    *ADJECTIVES, "language", "religion", "believer", "company", "broadcaster", "body", "body short", "party", "force",
    "university", "school", "hospital", "museum", "cup", "war", "woman", "man",
)  # fmt: skip


@cache
def bundled() -> dict[str, tuple[str, ...]]:
    """Names by kind, without their article: those of "the country" follow one, those of "country" do not."""
    names = sections("names")
    found: dict[str, list[str]] = {}
    for kind in _SECTIONS:
        for name in names[kind]:
            with_article = name.startswith("the ")
            found.setdefault(f"the {kind}" if with_article else kind, []).append(name.removeprefix("the "))
    for kind in PEOPLE:
        found[f"{kind}, plural"] = [f"{name}s" for name in names[kind]]
    for name, kind in given_names().items():
        found.setdefault(f"{kind}'s given name", []).append(name)
    found["surname"] = [name.split()[-1] for name in (*names["woman"], *names["man"])]
    return {kind: tuple(some) for kind, some in found.items()}


@cache
def bundled_kinds() -> dict[str, str]:
    """``kinds`` of the bundled names."""
    return kinds(bundled())


def kinds(names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Kind by name as text writes it, "the " included; a name of two kinds has the first."""
    found: dict[str, str] = {}
    for kind, some in names.items():
        for name in some:
            found.setdefault(written(name, kind), kind)
    return found


def written(name: str, kind: str) -> str:
    """A name of a kind as text writes it, "the " included."""
    return f"the {name}" if kind.startswith("the ") else name


@cache
def given_names() -> dict[str, str]:
    """``woman`` or ``man`` by given name."""
    names = sections("names")
    women = [*(name.split()[0] for name in names["woman"]), *names["female name"]]
    men = [*(name.split()[0] for name in names["man"]), *names["male name"]]
    return dict.fromkeys(women, "woman") | dict.fromkeys(men, "man")


@cache
def heads() -> dict[str, str]:
    """Kind by the word of a longer name that tells it."""
    lists = sections("names")
    return {word: kind.removeprefix("head ") for kind in lists if kind.startswith("head ") for word in lists[kind]}


def is_title(word: str) -> bool:
    """Whether a word stands before a person's name: Dr, President."""
    return word.rstrip(".") in sections("names")["title"]


def may_be_of_person(word: str) -> bool:
    """Whether a word may be a part of a person's name."""
    elsewhere = word in heads() or word in sections("names")["other head"] or is_title(word)
    return word[0].isupper() and not word.isupper() and word.replace("-", "").isalpha() and not elsewhere
