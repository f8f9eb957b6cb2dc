"""The ORACLE paper's figures 1, 5 and 7 to 16: meaning and language vectors of a pair, a panel per objective."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import fill

import torch
from matplotlib.axes import Axes
from torch import Tensor
from tqdm import tqdm

from xsent.evaluation.evaluator import Bitext
from xsent.reporting.pages.page import FIGURES, log_page_errors, macro, write_page
from xsent.reporting.pages.points import study_section
from xsent.reporting.plots.canvas import new_figure
from xsent.reporting.plots.embeddings import show_note
from xsent.reporting.plots.panels import LOOKS, PairFigure, Sides, project_pair, sides_of
from xsent.reporting.plots.projections import METHODS, Projection

Embed = Callable[[list[str]], Mapping[str, Tensor]]  # N sentences -> space -> (N, D)
PER_ROW = 4  # panels: the paper's four objectives side by side


def study_figures(
    panels: Mapping[str, Embed],
    pairs: Sequence[Bitext],
    *,
    title: str,
    spaces: Sequence[str],
    folder: Path,
    cache_dir: Path,
    seed: int,
    perplexity: float,
) -> list[Path]:
    """Draw ``figure-<xx>.png`` (t-SNE) and ``figure-<xx>-pca.png`` of each pair, and one page of all.

    Args:
        panels: vectors of sentences by title of the panel; a ``DisentangledEncoder.embed`` is one.
        pairs: N translation pairs each.
        title: what is shown, the encoder's name for one.
        spaces: which of ``meaning``, ``language`` and ``original`` are projected together.
        folder: of the figures.
        cache_dir: cache of t-SNE's points.
        seed, perplexity: of t-SNE. A panel with fewer distinct vectors has a note in place of points.

    Returns:
        The files, the page ``figures.html`` last; an error while writing the page is logged.

    Raises:
        ValueError: no panels, pairs or spaces, a space that is not known or that a panel lacks, a pair given
            twice or whose sides differ in length, or vectors that cannot be projected.
    """
    sides = _checked(panels, pairs, spaces)
    distinct = dict.fromkeys(text for pair in sides for side in pair.sentences for text in side)
    row_of = {text: row for row, text in enumerate(distinct)}
    vectors = {name: _vectors(name, embed, list(row_of), spaces) for name, embed in panels.items()}
    folder.mkdir(parents=True, exist_ok=True)
    figures, paths = [], []
    with tqdm(total=len(sides) * len(panels), desc="projecting", unit="panel") as bar:
        project = partial(project_pair, spaces=spaces, seed=seed, perplexity=perplexity, cache_dir=cache_dir, bar=bar)
        for pair_sides in sides:
            bar.set_postfix_str(pair_sides.name)
            figure = project(pair_sides, vectors, row_of)
            figures.append(figure)
            for method, suffix in zip(METHODS, ("", "-pca"), strict=True):
                paths.append(
                    draw_pair(figure, method, title=title, path=folder / f"figure-{pair_sides.name}{suffix}.png")
                )
    page = folder / "figures.html"
    with log_page_errors(page):
        paths.append(write_figures_page(page, figures, title=title))
    return paths


def write_figures_page(path: Path, figures: Sequence[PairFigure], *, title: str) -> Path:
    """Write one page of all language pairs, which have the same panels and spaces; returns ``path``."""
    summary = macro("figures_summary", figures)
    return write_page(path, title=title, kind=FIGURES, summary=summary, sections=[study_section(figures)])


def draw_pair(figure: PairFigure, method: str, *, title: str, path: Path) -> Path:
    """Draw the panels of a pair side by side, one projection method; returns ``path``."""
    n = len(figure.sides.sentences[0])
    columns = min(len(figure.panels), PER_ROW)
    rows = -(-len(figure.panels) // columns)
    picture = new_figure(3.9 * columns, 4.25 * rows + 0.75)
    axes = picture.subplots(rows, columns, squeeze=False).flatten()
    for axis, (name, projections) in zip(axes, figure.panels.items(), strict=False):
        axis.set_title(fill(name, 36))
        _scatter(axis, figure, projections[method])
    for axis in axes[len(figure.panels) :]:
        axis.set_axis_off()
    picture.suptitle(f"{title}: {method} of {n:,} pairs, {'-'.join(figure.sides.languages)}")
    handles, names = axes[0].get_legend_handles_labels()
    picture.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False, markerscale=2)
    picture.savefig(path, dpi=150)
    return path


def _scatter(axis: Axes, figure: PairFigure, projection: Projection) -> None:
    n = len(figure.sides.sentences[0])
    for number, (space, side) in enumerate(figure.series):
        look = LOOKS[space][side]
        points = projection.points[number * n : (number + 1) * n]
        # A cross lies on the disc of its translation: smaller and thin, it leaves the disc to be seen.
        axis.scatter(
            points[:, 0],
            points[:, 1],
            label=f"{space}, {figure.sides.languages[side]}",
            color=look.colour,
            marker=look.marker,
            s=20 if look.filled else 12,
            alpha=0.6 if look.filled else 0.9,
            linewidths=0 if look.filled else 0.8,
        )
    axis.set(xticks=[], yticks=[])
    axis.set_aspect("equal", adjustable="datalim")
    axis.set_box_aspect(1)
    show_note(axis, projection)


def _checked(panels: Mapping[str, Embed], pairs: Sequence[Bitext], spaces: Sequence[str]) -> list[Sides]:
    """The sides of the pairs; an error, if there is one, before anything is embedded."""
    if not panels or not pairs:
        raise ValueError(f"figures need panels and language pairs, found {len(panels)} and {len(pairs)}")
    if not spaces or len(set(spaces)) < len(spaces) or not set(spaces) <= LOOKS.keys():
        raise ValueError(f"spaces {', '.join(spaces) or 'none'}: expected some of {', '.join(LOOKS)}, each once")
    sides = [sides_of(pair) for pair in pairs]
    names = [pair_sides.name for pair_sides in sides]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"language pairs given twice: {', '.join(sorted(twice))}")
    return sides


def _vectors(panel: str, embed: Embed, sentences: list[str], spaces: Sequence[str]) -> dict[str, Tensor]:
    vectors = embed(sentences)
    if missing := [space for space in spaces if space not in vectors]:
        raise ValueError(f"{panel}: no {', '.join(missing)} vectors; there are {', '.join(vectors)}")
    for space in spaces:
        x = vectors[space]
        if x.ndim != 2 or len(x) != len(sentences) or x.size(1) < 2:
            raise ValueError(f"{panel}: expected {space} vectors ({len(sentences)}, D >= 2), found {tuple(x.shape)}")
        if not bool(torch.isfinite(x).all()):
            raise ValueError(f"{panel}: expected finite {space} vectors, found NaN or infinity")
    return {space: vectors[space] for space in spaces}
