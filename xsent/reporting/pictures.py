"""Pictures of vectors: PCA and t-SNE, a panel per space, a colour and a marker per language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from torch import Tensor

# Okabe and Ito's colours, told apart also without colour vision; the markers tell once more.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "d", "H")


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
    """
    folder.mkdir(parents=True, exist_ok=True)
    methods: dict[str, PCA | TSNE] = {
        "PCA": PCA(2, random_state=seed),
        "t-SNE": TSNE(2, metric="cosine", perplexity=perplexity, init="random", random_state=seed),
    }
    paths = []
    for title, method in methods.items():
        points = {space: method.fit_transform(x.double().numpy()) for space, x in vectors.items()}
        paths.append(_scatter(points, languages, title, folder / f"{title.replace('-', '').lower()}.png"))
    return paths


def _scatter(points: Mapping[str, NDArray[np.floating]], languages: Sequence[str], title: str, path: Path) -> Path:
    labels = np.array(languages)
    with mpl.rc_context({"font.size": 10}):
        figure = Figure(figsize=(4.6 * len(points) + 1.2, 4.8), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, len(points), squeeze=False)[0]
        for axis, (space, xy) in zip(axes, points.items(), strict=True):
            for number, language in enumerate(sorted(set(languages))):
                chosen = labels == language
                axis.scatter(
                    xy[chosen, 0], xy[chosen, 1], s=16, alpha=0.75, linewidths=0.3, edgecolors="white",
                    color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)], label=language,
                )  # fmt: skip
            axis.set(title=f"{space} vectors", xticks=[], yticks=[])
        figure.suptitle(f"{title} of {len(labels)} held-out sentences")
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside right center", frameon=False)
        figure.savefig(path, dpi=130)
    return path
