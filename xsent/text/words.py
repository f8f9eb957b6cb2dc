"""The bundled word lists: files of sections, a section of entries."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent.parent / "assets" / "words"


@cache
def sections(name: str) -> dict[str, tuple[str, ...]]:
    """Entries by section of ``assets/words/<name>.txt``.

    ``[section]`` begins a section, commas and line ends end an entry, ``#`` begins a line of comment.
    """
    found: dict[str, list[str]] = {}
    entries: list[str] = []
    for line in (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith("["):
            entries = found.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            entries += [entry for part in line.split(",") if (entry := part.strip())]
    return {section: tuple(dict.fromkeys(some)) for section, some in found.items()}
