"""``study.html``: the tables of a study and its pictures, ours beside the paper's."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from xsent.reporting.pages.page import STUDY, Section, log_page_errors, macro, write_page
from xsent.reporting.plots.separation import Arrows, Bars, Scores, draw_arrows, draw_bars
from xsent.reporting.tables.study import Figure, StudyResults
from xsent.reporting.tables.study_rows import is_average

PAGE = "study.html"
SPACES = ("meaning", "language")

Sides = Mapping[str, Mapping[str, Mapping[str, Scores]]]  # ours and the paper's: by name, objective and metric


def check_picture(kind: str | None) -> None:
    """Raise ``ValueError`` for an unknown kind of picture."""
    if kind not in (None, "arrows", "bars"):
        raise ValueError(f"study.picture={kind}: expected arrows, bars or null")


class Picture(NamedTuple):
    """PNG file of a page."""

    path: Path
    description: str  # for readers who do not see it
    numbers: str  # name of the file with its numbers


def pictures_section(heading: str, pictures: Sequence[Picture]) -> Section | None:
    """Section with the pictures; None if there are none."""
    images = [
        {
            "file": picture.path.name,
            "png": base64.b64encode(picture.path.read_bytes()).decode("ascii"),
            "description": picture.description,
            "numbers": picture.numbers,
        }
        for picture in pictures
    ]
    return Section("pictures", heading, "study_pictures", {"images": images}) if images else None


def write_study(results: StudyResults, study: Mapping[str, Any], *, folder: Path) -> Path:
    """Draw the study's pictures and write its page; returns the page. An error while writing is logged.

    Args:
        results: of ``report_study``.
        study: its ``title``, ``paper`` and ``picture``: ``arrows`` (figure 3), ``bars`` (figures 4 and 6) or None.
        folder: of the page.
    """
    page = folder / PAGE
    with log_page_errors(page):
        about = "scores of meaning against language vectors; the tables have the numbers"
        paths = study_pictures(results.figures, study, folder=folder)
        pictures = [Picture(path, about, "table.csv") for path in paths]
        tables = Section("tables", "Tables", "study_tables", {"tables": results.tables})
        sections = [pictures_section("Meaning against language", pictures), tables]
        write_page(
            page, title=study["title"], kind=STUDY, summary=macro("study_summary", results.notes), sections=sections
        )
    return page


def study_pictures(results: Sequence[Figure], study: Mapping[str, Any], *, folder: Path) -> list[Path]:
    """The pictures of a study, a PNG file per encoder; none if nothing was measured."""
    drawing = {None: None, "arrows": _draw_arrows, "bars": _draw_bars}[study["picture"]]
    if drawing is None:
        return []
    paths = []
    for encoder in dict.fromkeys(result.encoder for result in results):
        chosen = [result for result in results if result.encoder == encoder]
        sides = {encoder: _scores(chosen, "ours"), f"the paper's {chosen[0].paper_encoder}": _scores(chosen, "paper")}
        sides = {name: scores for name, scores in sides.items() if scores}
        path = folder / f"{study['picture']}-{encoder}.png"
        if sides and drawing(sides, study, path):
            paths.append(path)
    return paths


def _draw_arrows(sides: Sides, study: Mapping[str, Any], path: Path) -> bool:
    """A row of panels per host, ours and the paper's; False if no host was measured with and without the addition."""
    paper = study["paper"]
    rows = [
        [_arrows(f"{host}, {name}", scores, host, objective, paper) for name, scores in sides.items()]
        for objective, host in paper["baselines"].items()
    ]
    rows = [row for row in rows if any(panel.items for panel in row)]
    if rows:
        draw_arrows(rows, title=_title(study), unit=_unit(paper), path=path)
    return bool(rows)


def _draw_bars(sides: Sides, study: Mapping[str, Any], path: Path) -> bool:
    """Ours above the paper's, of the table's first average."""
    paper = study["paper"]
    metric = next(metric for metric in paper["metrics"] if is_average(metric, paper))
    panels = [
        Bars(name, {objective: rows[metric] for objective, rows in scores.items() if metric in rows})
        for name, scores in sides.items()
    ]
    panels = [panel for panel in panels if panel.objectives]
    if panels:
        draw_bars(panels, title=_title(study), unit=_unit(paper), path=path)
    return bool(panels)


def _title(study: Mapping[str, Any]) -> str:
    """``Ki, Park, Kim 2024, Table 8`` of a longer title."""
    return str(study["title"]).partition(":")[0]


def _unit(paper: Mapping[str, Any]) -> str:
    return str(paper["metrics"][0]).rpartition("/")[2]


def _scores(results: Sequence[Figure], side: str) -> dict[str, dict[str, Scores]]:
    """Scores of meaning and language, by objective and metric; ``side`` is ``ours`` or ``paper``."""
    values = {(row.objective, row.metric, row.space): getattr(row, side) for row in results}
    scores: dict[str, dict[str, Scores]] = {}
    for row in results:
        both = [values[row.objective, row.metric, space] for space in SPACES]
        if None not in both:
            scores.setdefault(row.objective, {})[row.metric] = Scores(*both)
    return scores


def _arrows(
    title: str, scores: Mapping[str, Mapping[str, Scores]], host: str, added: str, paper: Mapping[str, Any]
) -> Arrows:
    before, after = scores.get(host, {}), scores.get(added, {})
    pairs = {metric: (before[metric], after[metric]) for metric in before if metric in after}
    averages = [pair for metric, pair in pairs.items() if is_average(metric, paper)]
    items = {
        metric.split("/")[1].removeprefix("eng-"): pair
        for metric, pair in pairs.items()
        if not is_average(metric, paper)
    }
    return Arrows(title, items, averages[0] if averages else None)
