"""PCA and t-SNE plots of embeddings: a panel per space, a colour and marker per language."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from torch import Tensor
from tqdm import tqdm

from xsent.atomic import write_text
from xsent.reporting.plots.canvas import new_figure
from xsent.reporting.plots.projections import METHODS, Array, Projection, project

# Okabe and Ito's colours for colour-blind readers, without their yellow, which has no contrast on white. Eight
# colours and nine markers make 72 different pairs.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#D55E00", "#8C8C8C")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<")
POINTS = "points.json"


def projection_pictures(
    vectors: Mapping[str, Tensor],
    sentences: Sequence[str],
    languages: Sequence[str],
    *,
    folder: Path,
    seed: int,
    perplexity: float,
) -> list[Path]:
    """Draw ``pca.png`` and ``tsne.png``: the same N sentences in every space; ``points.json`` has their places.

    Args:
        vectors: (N, D) by name of the space.
        sentences: N texts.
        languages: of the N sentences.
        folder: where the pictures go.
        seed: of t-SNE.
        perplexity: of t-SNE, which uses cosine distance as the ORACLE paper's figures do.

    Returns:
        The pictures.

    Raises:
        ValueError: there are not more sentences than ``perplexity``, or not a vector and a language for each.
    """
    if len(languages) <= perplexity:
        raise ValueError(f"t-SNE of perplexity {perplexity} needs more sentences than that, found {len(languages)}")
    if len(sentences) != len(languages):
        raise ValueError(f"{len(sentences)} sentences for {len(languages)} languages")
    for space, x in vectors.items():
        if len(x) != len(languages):
            raise ValueError(f"{space}: {len(x)} vectors for {len(languages)} languages")
    folder.mkdir(parents=True, exist_ok=True)
    with tqdm(total=len(vectors), desc="projecting", leave=False) as bar:
        projections = project(list(vectors.values()), seed=seed, perplexity=perplexity, cache_dir=None, bar=bar)
    paths = []
    methods: dict[str, dict[str, Projection]] = {}
    for method in sorted(METHODS):
        panels = {space: projected[method] for space, projected in zip(vectors, projections, strict=True)}
        methods[method] = panels
        paths.append(_scatter(panels, languages, method, folder / f"{method.replace('-', '').lower()}.png"))
    _write_points(methods, sentences, languages, folder / POINTS)
    return paths


def _write_points(
    methods: Mapping[str, Mapping[str, Projection]], sentences: Sequence[str], languages: Sequence[str], path: Path
) -> None:
    """What is drawn, as numbers: ``methods`` by name and space, each with N ``points`` (or none) and their ``note``."""
    drawn = {
        method: {
            space: {"points": _rounded(projection.points), "note": projection.note}
            for space, projection in panels.items()
        }
        for method, panels in methods.items()
    }
    content = {"sentences": list(sentences), "languages": list(languages), "methods": drawn}
    write_text(path, json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")


def _rounded(points: Array) -> list[list[float]]:
    """Five digits of the largest coordinate: a fiftieth of a pixel on a large screen."""
    largest = float(np.abs(points).max(initial=0.0))
    digits = 4 - int(np.floor(np.log10(largest))) if largest else 0
    # Plus zero: never -0.0.
    return [[round(float(value), digits) + 0.0 for value in point] for point in points]


def show_note(axis: Axes, projection: Projection) -> None:
    """The note under a panel; one that has no points is grey."""
    axis.set_xlabel(fill(projection.note, 44), fontsize="small")
    if not len(projection.points):
        axis.set_facecolor("#eeeeee")


def _scatter(panels: Mapping[str, Projection], languages: Sequence[str], title: str, path: Path) -> Path:
    labels = np.array(languages)
    figure = new_figure(4.6 * len(panels) + 1.2, 4.8)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (space, projection) in zip(axes, panels.items(), strict=True):
        for number, language in enumerate(sorted(set(languages))):
            chosen = labels == language
            axis.scatter(
                *(projection.points[chosen].T if len(projection.points) else ([], [])),
                s=22,
                alpha=0.75,
                linewidths=0,
                label=language,
                color=COLOURS[number % len(COLOURS)],
                marker=MARKERS[number % len(MARKERS)],
            )
        show_note(axis, projection)
        axis.set(title=f"{space} vectors", xticks=[], yticks=[])
    figure.suptitle(f"{title} of {len(labels)} sentences")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", frameon=False, markerscale=1.4)
    figure.savefig(path, dpi=130)
    return path
