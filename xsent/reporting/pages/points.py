"""Sentences in the plane (PCA and t-SNE of their embeddings): a chart per run or objective, and space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import langcodes
import numpy as np

from xsent.reporting.pages.charts import COLOURS, PLANE, SHAPES, Look, Text, chart, mark_look, plane_spec
from xsent.reporting.pages.page import Section, shorten
from xsent.reporting.pages.run_folder import RunFiles
from xsent.reporting.plots.panels import PairFigure
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
    languages = sorted({language for drawn_points in points.values() for language in drawn_points.languages})
    looks = {language: mark_look(number) for number, language in enumerate(languages)}
    keys: dict[tuple[str, str], int] = {}  # the same sentence has the same key in every run
    shared: dict[str, list[Any]] = {}
    charts, figures = {}, []
    for number, (run, drawn) in enumerate(points.items()):
        rows = _sample(len(drawn.sentences))
        sentences = [(drawn.languages[row], drawn.sentences[row]) for row in rows]
        shared[f"key{number}"] = [keys.setdefault(sentence, len(keys)) for sentence in sentences]
        shared[f"text{number}"] = [shorten(text) for _, text in sentences]
        shared[f"series{number}"] = [language for language, _ in sentences]
        shared[f"tag{number}"] = [_tag(language) for language, _ in sentences]
        shared[f"look{number}"] = [languages.index(language) for language, _ in sentences]
        columns = {name: f"{name}{number}" for name in ("key", "text", "series", "tag", "look")}
        for method, panels in drawn.methods.items():
            for space, panel in panels.items():
                chart_id = f"{number} {method} {space}"
                x, y = _plane([panel["points"][row] for row in rows] if panel["points"] else [])
                if x:
                    charts[chart_id] = chart("plane", {**columns, "x": x, "y": y, "space": [space] * len(x)})
                title = f"{run}: {space}" if len(points) > 1 else space
                data = {"method": method, "space": space}
                figures.append({"id": chart_id, "title": title, "note": panel["note"], "data": data, "empty": not x})
    longest = max(len(drawn_points.sentences) for drawn_points in points.values())
    context = {
        "block": "points",
        "pairs": {},
        "methods": _distinct(method for drawn_points in points.values() for method in drawn_points.methods),
        "spaces": _distinct(space for drawn_points in points.values() for space in drawn_points.spaces),
        "looks": looks,
        "sampled": (MAX_SENTENCES, longest) if longest > MAX_SENTENCES else None,
        "figures": figures,
        "zoom": False,
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
    blocks, entries = {}, []
    for figure in figures:
        name = figure.sides.name
        charts, shared = {}, _shared(figure, series)
        for panel, projections in figure.panels.items():
            for method in METHODS:
                x, y = _plane(projections[method].points)
                if x:
                    names = {name: name for name in shared if name != "sentences"}
                    charts[f"{panel} {method}"] = chart("plane", {**names, "x": x, "y": y})
                data = {"method": method, "pair": name}
                note = projections[method].note
                entries.append({"id": f"{panel} {method}", "title": panel, "note": note, "data": data, "empty": not x})
        blocks[f"points-{name}"] = {"specs": specs, "charts": charts, "shared": shared}
    context = {
        "block": "points",
        "pairs": {figure.sides.name: _pair_label(figure) for figure in figures},
        "methods": list(reversed(METHODS)),
        "spaces": [],
        "looks": looks,
        "sampled": None,
        "figures": entries,
        "zoom": True,
    }
    return Section("figures", "Figures", "points", context, blocks)


def _pair_label(figure: PairFigure) -> str:
    return f"{'-'.join(figure.sides.languages)} ({len(figure.sides.sentences[0]):,} pairs)"


def _series_names(figures: Sequence[PairFigure]) -> list[str]:
    """Names of the series of all pairs: the language of a side where all pairs share it."""
    sides = [{figure.sides.languages[side] for figure in figures} for side in (0, 1)]
    names = [min(languages) if len(languages) == 1 else "other language" for languages in sides]
    return [f"{space}, {names[side]}" for space, side in figures[0].series]


def _shared(figure: PairFigure, series: Sequence[str]) -> dict[str, Any]:
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
        "sentences": [shorten(text) for side in sentences for text in side],
        "text": {"list": "sentences", "rows": [side * count + row for _, _, side, row in rows]},
        "other_text": {"list": "sentences", "rows": [(1 - side) * count + row for _, _, side, row in rows]},
        "tag": [_tag(languages[side]) for _, _, side, _ in rows],
        "other_tag": [_tag(languages[1 - side]) for _, _, side, _ in rows],
    }


def _plane(points: Any) -> tuple[list[int], list[int]]:
    """Integer coordinates around the middle of the points, both axes to one scale."""
    if not len(points):
        return [], []
    array = np.asarray(points, dtype=np.float64)
    low, high = array.min(axis=0), array.max(axis=0)
    half = float((high - low).max()) / 2 or 1.0
    x, y = ((array - (low + high) / 2) / half * PLANE).round().astype(int).T
    return x.tolist(), y.tolist()


def _sample(count: int) -> list[int]:
    """At most ``MAX_SENTENCES`` rows, evenly from all."""
    size = min(MAX_SENTENCES, count)
    return [number * count // size for number in range(size)]


def _distinct(values: Any) -> list[str]:
    return list(dict.fromkeys(values))


def _tag(language: str) -> str:
    """Language tag, by which a browser chooses glyphs; "" for what is not a language, such as ``noisy``."""
    return langcodes.standardize_tag(language) if langcodes.tag_is_valid(language) else ""
