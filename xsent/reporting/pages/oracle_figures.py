"""The ORACLE paper's figures 1, 5 and 7 to 16: meaning and language vectors of a pair, a panel per objective."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from xsent.evaluation.evaluator import Bitext
from xsent.reporting.pages.page import FIGURES, log_page_errors, macro, write_page
from xsent.reporting.pages.points import study_section
from xsent.reporting.plots.embeddings import LOOKS, PairFigure, Sides, draw_panels
from xsent.reporting.plots.projections import METHODS, project
from xsent.reporting.tables.results import PIVOT

Embed = Callable[[list[str]], Mapping[str, Tensor]]  # N sentences -> space -> (N, D)


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
        title: what is shown, such as the encoder's name.
        spaces: which of ``meaning``, ``language`` and ``original`` are projected together.
        cache_dir: of t-SNE's points.
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
    for pair_sides in sides:
        rows = torch.tensor([row_of[text] for side in pair_sides.sentences for text in side])  # (2 * N,)
        joint = {name: torch.cat([panel[space][rows] for space in spaces]) for name, panel in vectors.items()}
        progress = f"projecting {pair_sides.name}"
        projected = project(joint, seed=seed, perplexity=perplexity, cache_dir=cache_dir, progress=progress)
        figures.append(PairFigure(pair_sides, spaces, projected))
        paths += _draw_pair(figures[-1], title, folder)
    page = folder / "figures.html"
    with log_page_errors(page):
        paths.append(write_figures_page(page, figures, title=title))
    return paths


def _draw_pair(figure: PairFigure, title: str, folder: Path) -> list[Path]:
    """A picture for each method, with the panels of the pair side by side."""
    n, languages = len(figure.sides.sentences[0]), figure.sides.languages
    series = {
        f"{space}, {languages[side]}": (LOOKS[space][side], slice(number * n, (number + 1) * n))
        for number, (space, side) in enumerate(figure.series)
    }
    return [
        draw_panels(
            {name: projections[method] for name, projections in figure.panels.items()},
            series,
            title=f"{title}: {method} of {n:,} pairs, {'-'.join(languages)}",
            path=folder / f"figure-{figure.sides.name}{suffix}.png",
            beside=False,
        )
        for method, suffix in zip(METHODS, ("", "-pca"), strict=True)
    ]


def write_figures_page(path: Path, figures: Sequence[PairFigure], *, title: str) -> Path:
    """Write one page of all language pairs, which have the same panels and spaces; returns ``path``."""
    summary = macro("figures_summary", figures)
    return write_page(path, title=title, kind=FIGURES, summary=summary, sections=[study_section(figures)])


def _checked(panels: Mapping[str, Embed], pairs: Sequence[Bitext], spaces: Sequence[str]) -> list[Sides]:
    """The sides of the pairs; an error, if there is one, before anything is embedded."""
    if not panels or not pairs:
        raise ValueError(f"figures need panels and language pairs, found {len(panels)} and {len(pairs)}")
    if not spaces or len(set(spaces)) < len(spaces) or not set(spaces) <= LOOKS.keys():
        raise ValueError(f"spaces {', '.join(spaces) or 'none'}: expected some of {', '.join(LOOKS)}, each once")
    sides = [_sides(pair) for pair in pairs]
    names = [pair_sides.name for pair_sides in sides]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"language pairs given twice: {', '.join(sorted(twice))}")
    return sides


def _sides(pair: Bitext) -> Sides:
    """The two sides of a test set, English first."""
    by_language = (pair.source_lang, pair.source), (pair.target_lang, pair.target)
    (first, ours), (second, theirs) = by_language if pair.source_lang == PIVOT else by_language[::-1]
    name = second if first == PIVOT else f"{second}-{first}"
    if not ours or len(ours) != len(theirs):
        raise ValueError(f"{name}: expected sentences and their translations, found {len(ours)} and {len(theirs)}")
    return Sides(name, (first, second), (ours, theirs))


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
