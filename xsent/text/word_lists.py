"""Loader of the bundled word lists in ``assets/words``."""

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent.parent / "assets" / "words"


@cache
def load_sections(name: str) -> dict[str, tuple[str, ...]]:
    """Entries of ``assets/words/<name>.txt`` by section, without duplicates, in file order.

    ``[section]`` starts a section, commas and line ends separate entries, and ``#`` starts a comment line.
    """
    sections: dict[str, list[str]] = {}
    entries: list[str] = []
    for line in (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith("["):
            entries = sections.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            entries += [entry for part in line.split(",") if (entry := part.strip())]
    return {section: tuple(dict.fromkeys(entries)) for section, entries in sections.items()}


@cache
def load_word_sets(name: str) -> dict[str, frozenset[str]]:
    """As ``load_sections``, each section as a set."""
    return {section: frozenset(entries) for section, entries in load_sections(name).items()}
