"""What the drawers of charts share: a figure without global state, and text in any script."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

log = logging.getLogger(__name__)

Row = Sequence[object]  # of a chart's table

# Matplotlib brings DejaVu Sans, which has Latin, Cyrillic, Greek and Arabic; these have the other scripts.
FALLBACKS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans JP", "WenQuanYi Zen Hei", "Microsoft YaHei",
    "PingFang SC", "Hiragino Sans", "Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji",
)  # fmt: skip


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, inches, that pyplot knows nothing of."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def font_families() -> list[str]:
    """The fonts to look for a character in, in this order; only those that are installed."""
    installed = set(fontManager.get_font_names())
    return ["DejaVu Sans", *(name for name in FALLBACKS if name in installed)]


@contextmanager
def say_missing_glyphs(name: str) -> Iterator[None]:
    """Say once per chart, not once per character, that no font has some of its characters; they become boxes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing = [one for one in caught if str(one.message).startswith("Glyph ")]
    for other in caught:
        if other not in missing:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    if missing:
        log.warning(
            "chart %s: no installed font has %d of its characters, which are drawn as boxes; the table beside it has"
            " them. One of these fonts may help: %s", name, len({str(one.message) for one in missing}),
            ", ".join(FALLBACKS),
        )  # fmt: skip
