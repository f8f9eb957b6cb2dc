"""Bundled English names by kind, and the words that reveal the kind of a name."""

from collections.abc import Mapping, Sequence
from functools import cache

from xsent.text.word_lists import load_sections

PEOPLE = ("people and language", "people")  # kinds with a plural: Germans, Americans
ADJECTIVES = (*PEOPLE, "adjective and language", "adjective")
INITIAL_HEADS = ("Lake", "Mount")  # all other heads stand at the end of a name
_NO_KINDS = ("female name", "male name", "head ", "other head", "title")  # how these sections begin


@cache
def bundled() -> dict[str, tuple[str, ...]]:
    """Bundled names by kind, without their article: "the country" has names that need one, "country" the others."""
    sections = load_sections("names")
    names: dict[str, list[str]] = {}
    for kind, entries in sections.items():
        if not kind.startswith(_NO_KINDS):
            for name in entries:
                with_article = name.startswith("the ")
                names.setdefault(f"the {kind}" if with_article else kind, []).append(name.removeprefix("the "))
    for kind in PEOPLE:
        names[f"{kind}, plural"] = [f"{name}s" for name in sections[kind]]
    for name, kind in given_names().items():
        names.setdefault(f"{kind}'s given name", []).append(name)
    names["surname"] = [name.split()[-1] for name in (*sections["woman"], *sections["man"])]
    return {kind: tuple(entries) for kind, entries in names.items()}


@cache
def bundled_kinds() -> dict[str, str]:
    return kinds(bundled())


def kinds(names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Kind by name with its article; a name of two kinds has the first."""
    kind_by_name: dict[str, str] = {}
    for kind, entries in names.items():
        for name in entries:
            kind_by_name.setdefault(add_article(name, kind), kind)
    return kind_by_name


def add_article(name: str, kind: str) -> str:
    """The name, after "the " if its kind has the article."""
    return f"the {name}" if kind.startswith("the ") else name


@cache
def given_names() -> dict[str, str]:
    """``woman`` or ``man`` by given name."""
    names = load_sections("names")
    women = [*(name.split()[0] for name in names["woman"]), *names["female name"]]
    men = [*(name.split()[0] for name in names["man"]), *names["male name"]]
    return dict.fromkeys(women, "woman") | dict.fromkeys(men, "man")


@cache
def heads() -> dict[str, str]:
    """Kind by head word of a name, e.g. ``university`` for "University"."""
    by_kind = {kind: words for kind, words in load_sections("names").items() if kind.startswith("head ")}
    return {word: kind.removeprefix("head ") for kind, words in by_kind.items() for word in words}


def is_title(word: str) -> bool:
    """Whether a word precedes names of persons, as "Dr" and "President" do."""
    return word.rstrip(".") in load_sections("names")["title"]


def can_name_person(word: str) -> bool:
    """Whether a word can be part of a person's name."""
    is_head = word in heads() or word in load_sections("names")["other head"]
    is_name_like = word[0].isupper() and not word.isupper() and word.replace("-", "").isalpha()
    return is_name_like and not is_head and not is_title(word)
