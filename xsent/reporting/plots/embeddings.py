"""PCA and t-SNE plots of embeddings: a panel per space, a colour and marker per language."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from torch import Tensor
from tqdm import tqdm

from xsent.atomic import write_text
from xsent.reporting.plots.canvas import COLOURS, MARKERS
from xsent.reporting.plots.panels import Look, draw_panels
from xsent.reporting.plots.projections import METHODS, Array, project

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
    """Draw ``pca.png`` and ``tsne.png``: the same N sentences in every space.

    ``points.json`` has the numbers: ``methods`` by name and space, each with N ``points`` (or none) and their ``note``.

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
        panels = {space: projected[method] for space, projected in zip(vectors, projections, strict=True)}
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
