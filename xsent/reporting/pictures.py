"""Pictures of vectors: PCA and t-SNE, a panel per space, a colour and a marker per language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from torch import Tensor

Array = NDArray[np.floating[Any]]

# Okabe and Ito's colours, told apart also without colour vision, less their yellow, which is lost on white;
# the markers tell once more, and eight colours with seven markers make 56 different pairs.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#D55E00", "#8C8C8C")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def projection_pictures(
    vectors: Mapping[str, Tensor],
    languages: Sequence[str],
    *,
    folder: Path,
    seed: int,
    perplexity: float,
) -> list[Path]:
    """Draw ``pca.png`` and ``tsne.png``: the same N sentences in every space.

    Args:
        vectors: (N, D) by name of the space.
        languages: of the N sentences.
        folder: where the pictures go.
        seed: of the projections.
        perplexity: of t-SNE, which uses cosine distance as the ORACLE paper's figures do.

    Returns:
        The files.

    Raises:
        ValueError: there are not more sentences than ``perplexity``, or not a language for each.
    """
    if len(languages) <= perplexity:
        raise ValueError(f"t-SNE of perplexity {perplexity} needs more sentences than that, found {len(languages)}")
    for space, x in vectors.items():
        if len(x) != len(languages):
            raise ValueError(f"{space}: {len(x)} vectors for {len(languages)} languages")
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {space: x.double().cpu().numpy() for space, x in vectors.items()}
    paths = []
    projections: dict[str, Callable[[Array], Array]] = {
        "PCA": partial(_pca, seed=seed),
        "t-SNE": partial(_tsne, seed=seed, perplexity=perplexity),
    }
    for title, project in projections.items():
        points = {space: project(x) for space, x in arrays.items()}
        paths.append(_scatter(points, languages, title, folder / f"{title.replace('-', '').lower()}.png"))
    return paths


def _is_one_point(x: Array) -> bool:
    return not np.ptp(x, axis=0).any()


def _pca(x: Array, *, seed: int) -> Array:
    if _is_one_point(x):
        return np.zeros((len(x), 2))
    points: Array = PCA(2, random_state=seed).fit_transform(x)
    return points


def _tsne(x: Array, *, seed: int, perplexity: float) -> Array:
    # From PCA the picture keeps more of the large scale; equal vectors have no axes to start from.
    init = "random" if _is_one_point(x) else "pca"
    tsne = TSNE(2, metric="cosine", perplexity=perplexity, init=init, random_state=seed)
    points: Array = tsne.fit_transform(x)
    return points


def _scatter(points: Mapping[str, Array], languages: Sequence[str], title: str, path: Path) -> Path:
    labels = np.array(languages)
    figure = Figure(figsize=(4.6 * len(points) + 1.2, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(points), squeeze=False)[0]
    for axis, (space, xy) in zip(axes, points.items(), strict=True):
        for number, language in enumerate(sorted(set(languages))):
            chosen = labels == language
            axis.scatter(
                xy[chosen, 0], xy[chosen, 1], s=22, alpha=0.75, linewidths=0,
                color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)], label=language,
            )  # fmt: skip
        axis.set(title=f"{space} vectors", xticks=[], yticks=[])
    figure.suptitle(f"{title} of {len(labels)} held-out sentences")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", frameon=False, markerscale=1.4)
    figure.savefig(path, dpi=130)
    return path
