"""All figures of a study as one page: any browser opens it from disk, and it asks nothing of the network."""

from __future__ import annotations

import base64
import gzip
import html
import json
import logging
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import langcodes
import numpy as np

from xsent.reporting.files import write_text
from xsent.reporting.panels import LOOKS, PairFigure
from xsent.reporting.projections import METHODS, Array

log = logging.getLogger(__name__)

LARGEST = 32_767  # coordinates are int16: a fifth of a pixel at sixty times the size of a panel

# The second line keeps even a mistake in the page from asking anything of the network.
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<style>body {{ margin: 0; }}
{style}</style></head><body>
{section}
<script>
{script}</script></body></html>
"""

SECTION = """<section class="xsent-figures"><h1>{title}</h1>
<p>Every mark is a sentence's vector; a panel projects all its marks together. Point at one, or tap it, to read the
sentence: a large ring is around it, a small one around its translation, in every panel. Each kind of mark can be
hidden. Zoom with the buttons or Ctrl and the wheel, then drag.</p>
<form class="controls"><label>Language pair <select autocomplete="off"></select></label>
<fieldset><legend>Projection</legend>{methods}</fieldset></form>
<div class="series" role="group" aria-label="Vectors shown"></div>
<p class="status" role="status"></p><noscript><p>The figures are drawn by JavaScript, which is off.</p></noscript>
<div class="panels"></div><div class="tooltip" role="tooltip" hidden></div>
<script type="application/json" class="study">{study}</script>
{blocks}</section>"""


def write_page(path: Path, figures: Sequence[PairFigure], *, title: str) -> Path:
    """Write the page of all language pairs; returns ``path``.

    Args:
        path: of the page.
        figures: one per language pair, all with the same panels and spaces.
        title: of the page.
    """
    style, script = _asset("page.css"), _asset("page.js")
    text = PAGE.format(title=html.escape(title), style=style, section=section(figures, title=title), script=script)
    write_text(path, text)
    log.info("%s: %.1f MB", path, path.stat().st_size / 1e6)
    return path


def section(figures: Sequence[PairFigure], *, title: str) -> str:
    """The figures as an HTML element, for a page that has ``page.css`` and, behind the element, ``page.js``."""
    checked = ("checked", *[""] * (len(METHODS) - 1))
    methods = "".join(
        f'<label><input type="radio" name="method" autocomplete="off" value="{number}" {mark}>{name}</label>'
        for number, (name, mark) in enumerate(zip(METHODS, checked, strict=True))
    )
    blocks = "\n".join(
        f'<script type="text/plain" data-pair="{number}">{_block(figure)}</script>'
        for number, figure in enumerate(figures)
    )
    # Inside a script element nothing but `<` can end it, and JSON may write any character by its number.
    study = json.dumps(_study(figures), separators=(",", ":")).replace("<", "\\u003c")
    return SECTION.format(title=html.escape(title), methods=methods, study=study, blocks=blocks)


def _study(figures: Sequence[PairFigure]) -> dict[str, object]:
    """What the page must know before a pair is chosen."""
    looks = [(space, side, LOOKS[space][side]) for space, side in figures[0].series]
    return {
        "methods": METHODS,
        "panels": list(figures[0].panels),
        "series": [
            {"space": space, "side": side, "colour": look.colour, "path": look.path, "filled": look.filled}
            for space, side, look in looks
        ],
        "pairs": [_pair(figure) for figure in figures],
    }


def _pair(figure: PairFigure) -> dict[str, object]:
    languages = figure.sides.languages
    return {
        "languages": languages,
        "tags": [langcodes.standardize_tag(language) for language in languages],
        "count": len(figure.sides.sentences[0]),
        "notes": [
            [{"note": found[method].note, "empty": not len(found[method].points)} for found in figure.panels.values()]
            for method in METHODS
        ],
    }


def _block(figure: PairFigure) -> str:
    """Points of each method and panel, then the sentences, packed: a browser unpacks the pair that is looked at."""
    expected = len(figure.series) * len(figure.sides.sentences[0])
    points = [_int16(found[method].points, expected) for method in METHODS for found in figure.panels.values()]
    sentences = json.dumps(figure.sides.sentences, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    # No time of packing in it: the same study gives the same bytes.
    packed = gzip.compress(np.concatenate(points).tobytes() + sentences, mtime=0)
    return base64.b64encode(packed).decode("ascii")


def _int16(points: Array, expected: int) -> np.ndarray[tuple[int, int], np.dtype[np.int16]]:
    """Points (N, 2) around the middle of what they cover, both axes to one scale; zeros where there are none."""
    if not len(points):
        return np.zeros((expected, 2), "<i2")
    low, high = points.min(axis=0), points.max(axis=0)
    half = float((high - low).max()) / 2 or 1.0
    found: np.ndarray[tuple[int, int], np.dtype[np.int16]] = ((points - (low + high) / 2) / half * LARGEST).round()
    return found.astype("<i2")


def _asset(name: str) -> str:
    return (resources.files("xsent") / "assets" / "figures" / name).read_text(encoding="utf-8")
