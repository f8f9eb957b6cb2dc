"""HTML pages: Jinja2 templates, charts by Vega-Lite, one self-contained file under a strict content security policy."""

import base64
import gzip
import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from xsent.files.atomic import write_text

log = logging.getLogger(__name__)

# Kinds of pages; a comparison replaces only a comparison.
RUN, COMPARISON = "xsent report", "xsent compare"
SEARCH, FILTER, FIGURES, STUDY = "xsent search", "xsent filter", "xsent figures", "xsent study"
MAX_BYTES = 4_900_000  # of a page
MAX_TEXT = 300  # characters of a shortened text
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])  # of the specifications that Altair writes
CACHE = Path(os.environ.get("XSENT_CACHE", Path.home() / ".cache" / "xsent"))

templates = Environment(
    loader=PackageLoader("xsent.reporting.pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class Section(NamedTuple):
    """Section of a page, rendered from ``<template>.html``."""

    key: str  # id of the element
    title: str
    template: str
    context: Mapping[str, Any]
    charts: Mapping[str, Any] | None = None  # by id of a data block, what ``page.js`` draws


def shorten(text: str, limit: int = MAX_TEXT) -> str:
    """Cut a text to ``limit`` characters, the last of them an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def write_page(path: Path, *, title: str, kind: str, summary: Markup, sections: Sequence[Section | None]) -> Path:
    """Write a page and return ``path``. The same arguments give the same bytes.

    None is no section. A section that makes the page larger than 5 MB is replaced by a note, the largest first.
    """
    script, style = _template_source("page.js"), _template_source("page.css")
    parts = [_render(section) for section in sections if section is not None]
    has_charts = any(part["blocks"] for part in parts)
    scripts = [script, vega()] if has_charts else [script]
    blocks = {"vega": _packed_vega()} if has_charts else {}
    sizes = [len(part["html"]) + sum(map(len, part["blocks"].values())) for part in parts]
    limit = MAX_BYTES - len(script) - len(style) - sum(map(len, blocks.values()))
    while sum(sizes) > limit:
        largest = sizes.index(max(sizes))
        parts[largest] |= {"html": Markup(templates.get_template("too_large.html").render()), "blocks": {}}
        sizes[largest] = 0
    for part in parts:
        blocks |= part["blocks"]
    digests = [base64.b64encode(hashlib.sha256(source.encode()).digest()).decode("ascii") for source in scripts]
    text = templates.get_template("page.html").render(
        title=title,
        kind=kind,
        digests=digests,
        style=Markup(style),
        script=Markup(script),
        summary=summary,
        sections=parts,
        blocks=blocks,
    )
    write_text(path, _encode(text).decode())
    log.info("%s: %.1f MB", path, path.stat().st_size / 1e6)
    return path


def _render(section: Section) -> dict[str, Any]:
    html = templates.get_template(f"{section.template}.html").render(section.context, key=section.key)
    # JSON cannot represent NaN and infinity.
    packed = {
        name: _pack(json.dumps(block, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
        for name, block in (section.charts or {}).items()
    }
    return {"key": section.key, "title": section.title, "html": Markup(html), "blocks": packed}


@contextmanager
def log_page_errors(path: Path) -> Iterator[None]:
    """Log an exception instead of raising it: a failed page never stops the job whose results it shows."""
    try:
        yield
    except Exception:
        log.warning("%s: page not written; all other results are complete", path, exc_info=True)


def macro(name: str, *arguments: object) -> Markup:
    """HTML of a macro of ``macros.html``."""
    return Markup(getattr(templates.get_template("macros.html").module, name)(*arguments))


def _pack(content: str) -> str:
    """Gzip and Base64: small, the same on every call, and free of characters that HTML would interpret."""
    return base64.b64encode(gzip.compress(_encode(content), mtime=0)).decode("ascii")


def _encode(text: str) -> bytes:
    """UTF-8; half a surrogate pair, such as a byte of a folder's name that is not UTF-8, becomes a question mark."""
    return text.encode("utf-8", "replace")


@cache
def vega() -> str:
    """JavaScript of Vega, Vega-Lite and Vega-Embed, bundled by vl-convert without network access.

    Bundling takes seconds, so the result is cached in ``XSENT_CACHE``, by default ``~/.cache/xsent``.
    """
    path = CACHE / f"vega-embed-{version('vl-convert-python')}-{VEGA_LITE}.js"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    try:
        write_text(path, bundle)
    except OSError as error:
        log.debug("%s: not cached: %s", path, error)
    return bundle


@cache
def _packed_vega() -> str:
    return _pack(vega())


def _template_source(name: str) -> str:
    assert templates.loader is not None
    return templates.loader.get_source(templates, name)[0]
