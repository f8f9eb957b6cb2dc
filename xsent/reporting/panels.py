"""One language pair in several panels: which sentence is where, and what a series of points looks like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from tqdm import tqdm

from xsent.evaluation.test_sets import Bitext
from xsent.reporting.projections import Projection, project
from xsent.reporting.tables import PIVOT


class Look(NamedTuple):
    """How a series is told from the others, by colour and by mark."""

    colour: str
    marker: str  # matplotlib's name of the mark
    path: str  # the mark as an SVG path, about 8 wide, around (0, 0)
    filled: bool


# The paper's red, blue, orange and green in Okabe and Ito's hues, for English and the other language. A
# cross on a disc shows both, so that translations which lie on each other can be seen to.
LOOKS = {
    "meaning": (
        Look("#D55E00", "o", "M-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0", True),
        Look("#0072B2", "+", "M-4 0H4M0-4V4", False),
    ),
    "language": (
        Look("#E69F00", "^", "M0-4.2L4 3H-4Z", True),
        Look("#009E73", "x", "M-3.2-3.2L3.2 3.2M-3.2 3.2L3.2-3.2", False),
    ),
    "original": (
        Look("#CC79A7", "s", "M-3-3H3V3H-3Z", True),
        Look("#000000", "2", "M0 0V-4M0 0L3.5 2.4M0 0L-3.5 2.4", False),
    ),
}


class Sides(NamedTuple):
    """A language pair, English first where it is one of them."""

    name: str  # "zho", or "deu-fra" where neither side is English
    languages: tuple[str, str]  # ISO 639-3
    sentences: tuple[list[str], list[str]]  # row i of one translates row i of the other


@dataclass(frozen=True)
class PairFigure:
    """N translation pairs, projected in every panel by every method."""

    sides: Sides
    spaces: Sequence[str]
    # title -> method -> the points of the spaces one after the other, N of either side in each: (S * 2 * N, 2)
    panels: Mapping[str, Mapping[str, Projection]]

    @property
    def series(self) -> list[tuple[str, int]]:
        """Space and side, 0 or 1, of every N points, in their order."""
        return [(space, side) for space in self.spaces for side in (0, 1)]


def sides_of(pair: Bitext) -> Sides:
    """The two sides of a test set in the order of the figures.

    Raises:
        ValueError: no sentences, or not as many on one side as on the other.
    """
    found = (pair.source_lang, pair.source), (pair.target_lang, pair.target)
    (first, ours), (second, theirs) = found if pair.source_lang == PIVOT else found[::-1]
    name = second if first == PIVOT else f"{second}-{first}"
    if not ours or len(ours) != len(theirs):
        raise ValueError(f"{name}: expected sentences and their translations, found {len(ours)} and {len(theirs)}")
    return Sides(name, (first, second), (ours, theirs))


def project_pair(
    sides: Sides,
    vectors: Mapping[str, Mapping[str, Tensor]],
    row_of: Mapping[str, int],
    *,
    spaces: Sequence[str],
    seed: int,
    perplexity: float,
    cache_dir: Path | None,
    bar: tqdm[Any],
) -> PairFigure:
    """Project all vectors of a pair together, once per panel.

    Args:
        sides: the pair.
        vectors: (M, D) by title of the panel and name of the space.
        row_of: the row of each sentence in ``vectors``.
        spaces: those that are projected together.
        seed, perplexity, cache_dir, bar: as in ``project``.
    """
    rows = torch.tensor([row_of[text] for side in sides.sentences for text in side])  # (2 * N,)
    joint = [torch.cat([found[space][rows] for space in spaces]) for found in vectors.values()]
    projected = project(joint, seed=seed, perplexity=perplexity, cache_dir=cache_dir, bar=bar)
    return PairFigure(sides, spaces, dict(zip(vectors, projected, strict=True)))
