"""The page that every report is: sections below one another, in one file that asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import logging
import re
from collections.abc import Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

from xsent.reporting.files import write_text

log = logging.getLogger(__name__)

DIGESTS = "SHA256SUMS"
LINE = re.compile(rb"([0-9a-f]{64})  ([\w.-]+)", re.ASCII)
ASSETS = ("base.css", "base.js", "curves.js", "pictures.js", "results.js", "study.js")
# The kinds of pages, each of which is replaced by another of its kind only.
RUN_PAGE, COMPARISON, SEARCH = "xsent report", "xsent compare", "xsent search"
MOST_BYTES = 4_900_000  # of a page
NO_ROOM = "<p>This section is too large for the page; what it would show is in the run's folder.</p>"

# Only the scripts that the page was written with run, known by their digests, so text of a run can never become one.
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">{generator}<title>{title}</title>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src {digests}; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<style>{style}</style></head><body>
<main><h1>{title}</h1>
{summary}
<nav class="contents" aria-label="sections">{contents}</nav>
<noscript><p>Curves and pictures are drawn by JavaScript, which is off; the tables need none.</p></noscript>
{sections}</main>
{data}
{scripts}</body></html>
"""


class Section(NamedTuple):
    """A part of the page."""

    key: str  # "curves"; the element's id
    title: str
    html: str  # without its heading; texts of a run are escaped already
    data: object | None  # plain values, which the page holds as JSON in the element `data-<key>`
    script: str | None  # name of the asset that draws it, "curves.js"; sections may share one


def generator(kind: str) -> str:
    """What tells, near the beginning of a page, which kind it is of."""
    return f'<meta name="generator" content="{kind}">'


def write_shell(path: Path, *, title: str, summary: str, sections: Sequence[Section], kind: str) -> Path:
    """Write the page; returns ``path``. The same arguments give the same bytes.

    Args:
        path: of the page.
        title: of the page, as text.
        summary: HTML below the title.
        sections: from top to bottom; the largest are left out, and say so, until the page is below 5 MB.
        kind: of page.

    Raises:
        ValueError: an asset was altered; nothing is written.
    """
    sections = _fitting(sections)
    names = ["base.js", *dict.fromkeys(section.script for section in sections if section.script is not None)]
    scripts = [asset(name) for name in names]
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    text = PAGE.format(
        title=html.escape(title),
        digests=" ".join(f"'sha256-{digest}'" for digest in digests),
        generator=generator(kind),
        style=asset("base.css"),
        summary=summary,
        contents="".join(f'<a href="#{one.key}">{html.escape(one.title)}</a>' for one in sections),
        sections="\n".join(_section(one) for one in sections),
        data="\n".join(
            f'<script type="application/json" id="data-{one.key}">{embedded_json(one.data)}</script>'
            for one in sections
            if one.data is not None
        ),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )
    write_text(path, text)
    log.info("%s: %.1f MB", path, path.stat().st_size / 1e6)
    return path


def _fitting(sections: Sequence[Section]) -> list[Section]:
    """Each section has a share of the page; this is for texts that no share foresaw."""
    kept = list(sections)
    sizes = [len(one.html.encode()) + len(embedded_json(one.data).encode()) for one in kept]
    while sum(sizes) > MOST_BYTES - sum(len(asset(name)) for name in ASSETS):
        largest = sizes.index(max(sizes))
        kept[largest] = Section(kept[largest].key, kept[largest].title, NO_ROOM, None, None)
        sizes[largest] = len(NO_ROOM)
    return kept


def _section(one: Section) -> str:
    heading = f'<h2 id="title-{one.key}">{html.escape(one.title)}</h2>'
    return f'<section id="{one.key}" aria-labelledby="title-{one.key}">{heading}\n{one.html}</section>'


def embedded_json(value: object) -> str:
    """JSON that may stand inside a script element.

    Raises:
        ValueError: there is a NaN or infinity in it, which JSON has no number for.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Inside a script element nothing but `<` can end it, and JSON may write any character by its number.
    return text.replace("<", "\\u003c")


def check_assets() -> None:
    """See that styles and scripts of the page are those that the package came with.

    Whoever changes one of them writes the digests anew: ``sha256sum *.css *.js > SHA256SUMS`` in their folder.

    Raises:
        ValueError: one was altered, is missing or has no digest; it names the file, the digest expected and the digest
            found.
    """
    there = {file.name for file in _folder().iterdir() if file.name.endswith((".css", ".js"))}
    for name in sorted({*ASSETS, *_digests(), *there}):
        asset(name)


def asset(name: str) -> str:
    """A style or script of the page, its digest checked.

    Raises:
        ValueError: it was altered, is missing or has no digest.
    """
    file = _folder() / name
    expected = _digests().get(name)
    if expected is None:
        raise ValueError(f"{file}: expected a line for it in {DIGESTS}, found none")
    if not file.is_file():
        raise ValueError(f"{file}: expected the report's asset of sha256 {expected}, found no such file")
    content = file.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise ValueError(
            f"{file}: an altered asset of the report: expected sha256 {expected}, found {found}; install xsent again"
        )
    return content.decode("utf-8")


def _digests() -> dict[str, str]:
    """Hex digests by name, as ``sha256sum`` writes them."""
    file = _folder() / DIGESTS
    if not file.is_file():
        raise ValueError(f"{file}: expected the digests of the report's assets, found no such file")
    found = {}
    for number, line in enumerate(file.read_bytes().splitlines(), start=1):
        if (parts := LINE.fullmatch(line)) is None:
            raise ValueError(f"{file}:{number}: expected a sha256, two spaces and a file's name, found {line!r}")
        digest, name = parts.groups()
        found[name.decode()] = digest.decode()
    return found


def _folder() -> Traversable:
    return resources.files("xsent") / "assets" / "report"
