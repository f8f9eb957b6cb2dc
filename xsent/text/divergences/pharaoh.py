"""Word links as text: ``0-0 1-2 2-1``, source-target."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LINK = re.compile(r"([0-9]+)-([0-9]+)")


def parse_links(line: str, where: str, *, one_based: bool = False) -> tuple[tuple[int, int], ...]:
    """Links of a line, 0-based, in its order; an empty line has none.

    Args:
        line: ``i-j`` separated by white space.
        where: file and line, for errors.
        one_based: the line counts words from 1.

    Raises:
        ValueError: something that is no link, or a 0 in a line that counts from 1; names ``where``.
    """
    first = 1 if one_based else 0
    links = []
    for text in line.split():
        match = _LINK.fullmatch(text)
        if match is None:
            raise ValueError(f"{where}: expected links as 0-3, source-target, found {text!r}")
        source, target = (int(number) - first for number in match.groups())
        if min(source, target) < 0:
            raise ValueError(f"{where}: expected words counted from 1, found {text!r}")
        links.append((source, target))
    return tuple(links)


def format_links(links: Iterable[tuple[int, int]]) -> str:
    """The links as a line, 0-based, in their order."""
    return " ".join(f"{source}-{target}" for source, target in links)
