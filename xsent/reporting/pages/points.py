"""Sentences in the plane (PCA and t-SNE of their embeddings): a chart per run or objective, and space."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import langcodes
import numpy as np

from xsent.reporting.pages.charts import COLOURS, PLANE, SHAPES, Look, Text, mark_look, plane_spec
from xsent.reporting.pages.page import Section, shorten
from xsent.reporting.pages.run_folder import RunFiles
from xsent.reporting.plots.embeddings import PairFigure
from xsent.reporting.plots.projections import METHODS

MAX_SENTENCES = 1500  # of a run; more hide one another
# Looks of the two sides of a translation pair: a cross on the disc of its translation shows both.
SIDE_LOOKS = {
    "meaning": (Look(COLOURS[6], shape=SHAPES[0]), Look(COLOURS[0], shape=SHAPES[5])),
    "language": (Look(COLOURS[1], shape=SHAPES[2]), Look(COLOURS[2], shape=SHAPES[6])),
    "original": (Look(COLOURS[3], shape=SHAPES[1]), Look(COLOURS[4], shape=SHAPES[7])),
}


def pictures_section(runs: Mapping[str, RunFiles]) -> Section | None:
    """A chart for each run, space and method; None where no run has points."""
    points = {name: run.points for name, run in runs.items() if run.points is not None and run.points.sentences}
    if not points:
        return None
    languages = sorted({language for drawn in points.values() for language in drawn.languages})
    looks = {language: mark_look(number) for number, language in enumerate(languages)}
    keys: dict[tuple[str, str], int] = {}  # the same sentence has the same key in every run
    shared: dict[str, object] = {}
    charts: dict[str, object] = {}
    figures = []
    for number, (run, drawn) in enumerate(points.items()):
        count, total = min(MAX_SENTENCES, len(drawn.sentences)), len(drawn.sentences)
        rows = [row * total // count for row in range(count)]  # evenly from all
        sentences = [(drawn.languages[row], drawn.sentences[row]) for row in rows]
        columns: dict[str, list[Any]] = {
            "key": [keys.setdefault(sentence, len(keys)) for sentence in sentences],
            "text": [shorten(text) for _, text in sentences],
            "series": [language for language, _ in sentences],
            "tag": [_tag(language) for language, _ in sentences],
            "look": [languages.index(language) for language, _ in sentences],
        }
        shared |= {f"{name}{number}": column for name, column in columns.items()}
        names = {name: f"{name}{number}" for name in columns}
        for method, panels in drawn.methods.items():
            for space, panel in panels.items():
                title = f"{run}: {space}" if len(points) > 1 else space
                data = {"method": method, "space": space}
                figure = {"id": f"{number} {method} {space}", "title": title, "note": panel["note"], "data": data}
                chosen = [panel["points"][row] for row in rows] if panel["points"] else []
                figures.append(_add_chart(charts, figure, chosen, {**names, "space": [space] * len(rows)}))
    longest = max(len(drawn.sentences) for drawn in points.values())
    context = {
        "pairs": {},
        "methods": list(dict.fromkeys(method for drawn in points.values() for method in drawn.methods)),
        "spaces": list(dict.fromkeys(space for drawn in points.values() for space in drawn.spaces)),
        "looks": looks,
        "sampled": (MAX_SENTENCES, longest) if longest > MAX_SENTENCES else None,
        "figures": figures,
    }
    tip = [Text("{series}, {space}", small=True), Text("{text}", lang="tag")]
    specs = {"plane": plane_spec(list(looks.values()), zoom=False, tip=tip)}
    blocks = {"points": {"specs": specs, "charts": charts, "shared": shared}}
    return Section("pictures", "Pictures", "points", context, blocks)


def study_section(figures: Sequence[PairFigure]) -> Section:
    """A chart for each language pair, panel and method; a block of data per pair, unpacked when it is chosen."""
    series = _series_names(figures)
    looks = {name: SIDE_LOOKS[space][side] for name, (space, side) in zip(series, figures[0].series, strict=True)}
    tip = [
        Text("{what}", small=True),
        Text("{text}", lang="tag"),
        Text("{other_what}", small=True),
        Text("{other_text}", lang="other_tag"),
    ]
    specs = {"plane": plane_spec(list(looks.values()), zoom=True, tip=tip)}
    blocks, entries, pairs = {}, [], {}
    for drawn in figures:
        name, languages, sentences = drawn.sides
        pairs[name] = f"{'-'.join(languages)} ({len(sentences[0]):,} pairs)"
        charts: dict[str, object] = {}
        shared = _shared(drawn, series)
        names = {name: name for name in shared if name != "sentences"}
        for panel, method in product(drawn.panels, METHODS):
            points, note = drawn.panels[panel][method]
            data = {"method": method, "pair": name}
            figure = {"id": f"{panel} {method}", "title": panel, "note": note, "data": data}
            entries.append(_add_chart(charts, figure, points, names))
        blocks[f"points-{name}"] = {"specs": specs, "charts": charts, "shared": shared}
    options = {"methods": METHODS[::-1], "spaces": [], "pairs": pairs, "looks": looks}
    context = {**options, "sampled": None, "figures": entries}
    return Section("figures", "Figures", "points", context, blocks)


def _series_names(figures: Sequence[PairFigure]) -> list[str]:
    """Names of the series of all pairs: the language of a side where all pairs share it."""
    sides = [{figure.sides.languages[side] for figure in figures} for side in (0, 1)]
    names = [min(languages) if len(languages) == 1 else "other language" for languages in sides]
    return [f"{space}, {names[side]}" for space, side in figures[0].series]


def _shared(figure: PairFigure, series: Sequence[str]) -> dict[str, object]:
    """Columns that all charts of a language pair share, a row for each series and sentence; each text once."""
    languages, sentences = figure.sides.languages, figure.sides.sentences
    count = len(sentences[0])
    rows = [(number, space, side, row) for number, (space, side) in enumerate(figure.series) for row in range(count)]
    return {
        "key": [number * count + row for number, _, _, row in rows],
        "partner": [(number ^ 1) * count + row for number, _, _, row in rows],
        "look": [number for number, *_ in rows],
        "series": [series[number] for number, *_ in rows],
        "what": [f"{space}, {languages[side]}" for _, space, side, _ in rows],
        "other_what": [f"translation, {languages[1 - side]}" for _, _, side, _ in rows],
        "tag": [_tag(languages[side]) for _, _, side, _ in rows],
        "other_tag": [_tag(languages[1 - side]) for _, _, side, _ in rows],
        "sentences": [shorten(text) for side in sentences for text in side],
        "text": {"list": "sentences", "rows": [side * count + row for _, _, side, row in rows]},
        "other_text": {"list": "sentences", "rows": [(1 - side) * count + row for _, _, side, row in rows]},
    }


def _add_chart(
    charts: dict[str, object], figure: Mapping[str, Any], points: Any, columns: Mapping[str, object]
) -> dict[str, object]:
    """Add the chart of a projection unless it has no points; returns the figure as ``points.html`` shows it."""
    x, y = _plane(points)
    if x:
        charts[figure["id"]] = {"spec": "plane", "columns": {**columns, "x": x, "y": y}}
    return {**figure, "empty": not x}


def _plane(points: Any) -> tuple[list[int], list[int]]:
    """Integer coordinates around the middle of the points, both axes to one scale."""
    if not len(points):
        return [], []
    array = np.asarray(points, dtype=np.float64)
    low, high = array.min(axis=0), array.max(axis=0)
    half = float((high - low).max()) / 2 or 1.0
    x, y = ((array - (low + high) / 2) / half * PLANE).round().astype(int).T
    return x.tolist(), y.tolist()


def _tag(language: str) -> str:
    """Language tag, by which a browser chooses glyphs; "" for what is not a language, such as ``noisy``."""
    return langcodes.standardize_tag(language) if langcodes.tag_is_valid(language) else ""
