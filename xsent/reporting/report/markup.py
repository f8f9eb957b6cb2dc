"""Small pieces of HTML; whatever text comes in leaves escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Entry(NamedTuple):
    """A cell of a table with attributes of its own."""

    text: str
    attributes: Mapping[str, str]


def escape(text: object) -> str:
    """Text for any place of a page."""
    return html.escape(str(text))


def shortened(text: str, most: int) -> str:
    """At most so many characters, with a mark where some are missing."""
    return text if len(text) <= most else text[: most - 1] + "…"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names, and beside each what it is as HTML; a name without anything is left out."""
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{said}</dd>" for name, said in pairs if said)
    return f'<dl class="facts">{lines}</dl>'


def row(cells: Sequence[str | Entry], *, style: str = "", key: str = "") -> str:
    """A row of a table; its first cell is its heading.

    Args:
        cells: texts.
        style: its class.
        key: what the filter box looks for in it.
    """
    heading, *others = (cell if isinstance(cell, Entry) else Entry(cell, {}) for cell in cells)
    attributes = _attributes({"class": style, "data-key": key})
    own = _attributes(heading.attributes)
    return (
        f'<tr{attributes}><th scope="row"{own}>{escape(heading.text)}</th>'
        + "".join(f"<td{_attributes(cell.attributes)}>{escape(cell.text)}</td>" for cell in others)
        + "</tr>"
    )


def table(header: Sequence[str], rows: Iterable[str], *, label: str, tall: bool = False) -> str:
    """A table in a box that it may be wider than; ``tall`` lets a long one scroll, too.

    The box can be scrolled by keyboard, so it has a name.
    """
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in header)
    box = "wide tall" if tall else "wide"
    return (
        f'<div class="{box}" role="region" aria-label="{escape(label)}" tabindex="0"><table><thead><tr>{head}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def folded(summary: str, inside: str) -> str:
    """HTML that is there when its heading is opened."""
    return f"<details><summary>{escape(summary)}</summary>{inside}</details>"


def fitting(parts: Iterable[str], room: int) -> list[str]:
    """The first of the parts, as many as fit into ``room`` bytes; no more of them are made than one too many."""
    kept, size = [], 0
    for part in parts:
        size += len(part.encode())
        if size > room:
            break
        kept.append(part)
    return kept


def left_out(kept: int, of: int, what: str, where: str) -> str:
    """A sentence on what the page has no room for; nothing where it has room for all."""
    if kept == of:
        return ""
    return f'<p class="quiet">The first {kept:,} of {of:,} {escape(what)}; all are in {escape(where)}.</p>'


def _attributes(found: Mapping[str, str]) -> str:
    return "".join(f' {name}="{escape(value)}"' for name, value in found.items() if value)
