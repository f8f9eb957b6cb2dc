"""Plots of projected embeddings: a panel per space or objective, a colour and marker per language."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from xsent.files.atomic import write_text
from xsent.reporting.plots.canvas import COLOURS, MARKERS, new_figure
from xsent.reporting.plots.projections import METHODS, Array, Projection, project

POINTS = "points.json"
PER_ROW = 4  # panels: the ORACLE paper's four objectives side by side


class Look(NamedTuple):
    """Colour and mark of a series."""

    colour: str
    marker: str  # matplotlib's name of the mark
    filled: bool = True


# The ORACLE paper's red, blue, orange and green in Okabe and Ito's hues, for English and the other language. A
# cross on a disc shows both, so that translations which lie on each other can be seen to.
LOOKS = {
    "meaning": (Look("#D55E00", "o"), Look("#0072B2", "+", filled=False)),
    "language": (Look("#E69F00", "^"), Look("#009E73", "x", filled=False)),
    "original": (Look("#CC79A7", "s"), Look("#000000", "2", filled=False)),
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


def projection_pictures(
    vectors: Mapping[str, Tensor],
    sentences: Sequence[str],
    languages: Sequence[str],
    *,
    folder: Path,
    seed: int,
    perplexity: float,
) -> list[Path]:
    """Draw ``pca.png`` and ``tsne.png``: the same N sentences in every space.

    ``points.json`` has the numbers: ``methods`` by name and space, each with N ``points`` (or none) and their ``note``.

    Args:
        vectors: (N, D) by name of the space.
        sentences: N texts.
        languages: of the N sentences.
        seed, perplexity: of t-SNE, which uses cosine distance as the ORACLE paper's figures do.

    Raises:
        ValueError: there are not more sentences than ``perplexity``, or not a finite vector and a language for each.
    """
    if len(languages) <= perplexity:
        raise ValueError(f"t-SNE of perplexity {perplexity} needs more sentences than that, found {len(languages)}")
    if len(sentences) != len(languages):
        raise ValueError(f"{len(sentences)} sentences for {len(languages)} languages")
    for space, x in vectors.items():
        if len(x) != len(languages):
            raise ValueError(f"{space}: {len(x)} vectors for {len(languages)} languages")
    if not_finite := sum(int((~x.isfinite().all(dim=1)).sum()) for x in vectors.values()):
        raise ValueError(f"{not_finite} vectors are not finite")
    folder.mkdir(parents=True, exist_ok=True)
    projections = project(vectors, seed=seed, perplexity=perplexity, cache_dir=None, progress="projecting")
    series = {
        language: (
            Look(COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]),
            np.array(languages) == language,
        )
        for number, language in enumerate(sorted(set(languages)))
    }
    paths: list[Path] = []
    methods: dict[str, dict[str, object]] = {}
    for method in sorted(METHODS):
        panels = {space: projected[method] for space, projected in projections.items()}
        methods[method] = {
            space: {"points": _rounded(points), "note": note} for space, (points, note) in panels.items()
        }
        titled = {f"{space} vectors": projection for space, projection in panels.items()}
        path = folder / f"{method.replace('-', '').lower()}.png"
        title = f"{method} of {len(languages)} sentences"
        paths.append(draw_panels(titled, series, title=title, path=path, beside=True))
    content = {"sentences": list(sentences), "languages": list(languages), "methods": methods}
    write_text(folder / POINTS, json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")
    return paths


def _rounded(points: Array) -> list[list[float]]:
    """Five digits of the largest coordinate: a fiftieth of a pixel on a large screen."""
    largest = float(np.abs(points).max(initial=0.0))
    digits = 4 - int(np.floor(np.log10(largest))) if largest else 0
    # Plus zero: never -0.0.
    return [[round(float(value), digits) + 0.0 for value in point] for point in points]


def draw_panels(
    panels: Mapping[str, Projection], series: Mapping[str, tuple[Look, Any]], *, title: str, path: Path, beside: bool
) -> Path:
    """Draw projections of the same N vectors, by title; returns ``path``.

    Args:
        panels: a panel without points is grey and has a note alone.
        series: look and rows of the N vectors, by label.
        beside: whether the legend is beside the panels or below them.
    """
    columns = min(len(panels), PER_ROW)
    lines = -(-len(panels) // columns)
    figure = new_figure(3.9 * columns + (1.2 if beside else 0), 4.25 * lines + (0 if beside else 0.75))
    axes = figure.subplots(lines, columns, squeeze=False).flatten()
    for axis, (name, (points, note)) in zip(axes, panels.items(), strict=False):
        for label, (look, rows) in series.items():
            # A cross lies on the disc of its translation: smaller and thin, it leaves the disc to be seen.
            axis.scatter(
                *(points[rows].T if len(points) else ([], [])),
                label=label,
                color=look.colour,
                marker=look.marker,
                s=20 if look.filled else 12,
                alpha=0.6 if look.filled else 0.9,
                linewidths=0 if look.filled else 0.8,
            )
        axis.set(title=fill(name, 36), xticks=[], yticks=[])
        axis.set_xlabel(fill(note, 44), fontsize="small")
        axis.set_aspect("equal", adjustable="datalim")
        axis.set_box_aspect(1)
        if not len(points):
            axis.set_facecolor("#eeeeee")
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    figure.suptitle(title)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        names,
        loc="outside right center" if beside else "outside lower center",
        ncols=1 if beside else len(names),
        frameon=False,
        markerscale=2,
    )
    figure.savefig(path, dpi=150)
    return path
