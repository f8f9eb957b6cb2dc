"""Joint projection of a language pair in several panels, and the looks of its series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from tqdm import tqdm

from xsent.evaluation.evaluator import Bitext
from xsent.reporting.plots.projections import Projection, project
from xsent.reporting.tables.results import PIVOT


class Look(NamedTuple):
    """Colour and mark of a series."""

    colour: str
    marker: str  # matplotlib's name of the mark
    filled: bool


# The paper's red, blue, orange and green in Okabe and Ito's hues, for English and the other language. A
# cross on a disc shows both, so that translations which lie on each other can be seen to.
LOOKS = {
    "meaning": (
        Look("#D55E00", "o", True),
        Look("#0072B2", "+", False),
    ),
    "language": (
        Look("#E69F00", "^", True),
        Look("#009E73", "x", False),
    ),
    "original": (
        Look("#CC79A7", "s", True),
        Look("#000000", "2", False),
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
    sides_by_language = (pair.source_lang, pair.source), (pair.target_lang, pair.target)
    (first, ours), (second, theirs) = sides_by_language if pair.source_lang == PIVOT else sides_by_language[::-1]
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
    joint = [torch.cat([panel[space][rows] for space in spaces]) for panel in vectors.values()]
    projected = project(joint, seed=seed, perplexity=perplexity, cache_dir=cache_dir, bar=bar)
    return PairFigure(sides, spaces, dict(zip(vectors, projected, strict=True)))
