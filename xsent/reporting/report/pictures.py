"""Sentences in the plane, a panel for each run and space; behind every mark is its sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import langcodes

from xsent.reporting.report.markup import escape, shortened
from xsent.reporting.report.reading import Points, RunFiles
from xsent.reporting.report.shell import Section, embedded_json

MOST_SENTENCES = 1500  # of a run: more hide one another
LONGEST_SENTENCE = 300  # characters
HTML = """<p class="quiet">Every mark is a sentence's vector. Point at one, tap it, or use the arrow keys in a panel, to
read the sentence; it is ringed in every panel. Language by colour and shape.{note}</p>
<form class="controls"><fieldset class="methods"><legend>Projection</legend>{methods}</fieldset>
<fieldset class="spaces"><legend>Spaces</legend>{spaces}</fieldset>
<fieldset class="languages"><legend>Languages</legend></fieldset></form>
<div class="charts panels"></div>"""


def pictures_section(runs: Mapping[str, RunFiles], *, room: int) -> Section | None:
    """Panels of all runs that have points.

    Args:
        runs: by name.
        room: bytes that the data may take; of the sentences as many are shown, evenly from all, as fit.

    Returns:
        None where no run has points.
    """
    found = {name: run.points for name, run in runs.items() if run.points is not None and run.points.sentences}
    if not found:
        return None
    most = min(MOST_SENTENCES, max(len(points.sentences) for points in found.values()))
    data = _data(found, most)
    while len(embedded_json(data).encode()) > room and most > 1:
        most //= 2
        data = _data(found, most)
    longest = max(len(points.sentences) for points in found.values())
    note = "" if longest <= most else f" Shown are {most:,} of {longest:,} sentences; pictures/points.json has all."
    methods = list(dict.fromkeys(method for points in found.values() for method in points.methods))
    spaces = list(dict.fromkeys(space for points in found.values() for space in points.spaces))
    html = HTML.format(
        note=note, methods=_choices("radio", "method", methods), spaces=_choices("checkbox", "space", spaces)
    )
    return Section("pictures", "Pictures", html, data, "pictures.js")


def _choices(kind: str, name: str, values: Sequence[str]) -> str:
    """Boxes that are all checked, or buttons of which the last is: t-SNE."""
    return "".join(
        f'<label><input type="{kind}" name="{name}" value="{escape(value)}" autocomplete="off"'
        f"{' checked' if kind == 'checkbox' or value == values[-1] else ''}>{escape(value)}</label>"
        for value in values
    )


def _data(found: Mapping[str, Points], most: int) -> dict[str, Any]:
    """What ``pictures.js`` draws."""
    languages = sorted({language for points in found.values() for language in points.languages})
    return {
        "languages": languages,
        "tags": [_tag(language) for language in languages],
        "runs": [_run(name, points, languages, most) for name, points in found.items()],
    }


def _run(name: str, points: Points, languages: Sequence[str], most: int) -> dict[str, Any]:
    count = min(most, len(points.sentences))
    rows = [number * len(points.sentences) // count for number in range(count)]
    number_of = {language: number for number, language in enumerate(languages)}
    return {
        "name": name,
        "sentences": [shortened(points.sentences[row], LONGEST_SENTENCE) for row in rows],
        "languages": [number_of[points.languages[row]] for row in rows],
        "methods": {
            method: {
                space: {"note": panel["note"], "points": [panel["points"][row] for row in rows if panel["points"]]}
                for space, panel in panels.items()
            }
            for method, panels in points.methods.items()
        },
    }


def _tag(language: str) -> str:
    """For the browser, which chooses glyphs by it; "" of what is no language, such as ``noisy``."""
    return langcodes.standardize_tag(language) if langcodes.tag_is_valid(language) else ""
