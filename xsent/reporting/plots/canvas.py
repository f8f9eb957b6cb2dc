"""Figures without pyplot's global state, colours and markers, and fonts for all scripts."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

log = logging.getLogger(__name__)

Row = Sequence[object]  # of the table of a chart

# Okabe and Ito's colours for colour-blind readers, without their yellow, which has no contrast on white. Eight
# colours and nine markers make 72 different pairs.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#D55E00", "#8C8C8C")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<")
# Matplotlib's DejaVu Sans covers Latin, Cyrillic, Greek and Arabic; these fonts cover other scripts.
FALLBACKS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Noto Sans JP",
    "WenQuanYi Zen Hei",
    "Microsoft YaHei",
    "PingFang SC",
    "Hiragino Sans",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Noto Emoji",
)


def new_figure(width: float, height: float) -> Figure:
    """Empty figure, size in inches, not registered with pyplot."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def font_families() -> list[str]:
    """Installed fonts in the order in which matplotlib tries them."""
    installed = set(fontManager.get_font_names())
    return ["DejaVu Sans", *(name for name in FALLBACKS if name in installed)]


@contextmanager
def log_missing_glyphs(name: str) -> Iterator[None]:
    """Log one warning per chart, not per character, about characters that no font has."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing_glyphs = [warning for warning in caught if str(warning.message).startswith("Glyph ")]
    for warning in caught:
        if warning not in missing_glyphs:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if missing_glyphs:
        log.warning(
            "chart %s: no installed font has %d of its characters, which are drawn as boxes; the table beside it has"
            " them. One of these fonts may help: %s",
            name,
            len({str(warning.message) for warning in missing_glyphs}),
            ", ".join(FALLBACKS),
        )
