"""The page of a search over settings: how the values went, what made the difference, and every trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from xsent.reporting.report.markup import escape, facts
from xsent.reporting.report.shell import SEARCH, Section, write_shell

Value = None | bool | int | float | str
STATES = {"complete": "finished", "pruned": "pruned", "fail": "failed", "running": "running"}


class StudyTrial(NamedTuple):
    """A run of the search."""

    number: int
    state: str  # complete, pruned, fail or running
    value: float | None  # of the figure searched for; of a pruned trial the last that it had
    values: Mapping[str, Value]  # by parameter, what it tried
    epochs: int | None
    seconds: float | None  # of the process that ended it
    error: str | None
    page: str | None  # of its own, from the folder of the search's page


def write_study(
    path: Path,
    *,
    name: str,
    monitor: str,
    is_max: bool,
    trials: Sequence[StudyTrial],
    importance: Mapping[str, float],
    why_no_importance: str | None,
    logarithmic: Sequence[str],
    commands: Mapping[str, str],
) -> Path:
    """Write the page of a search; returns ``path``.

    Args:
        path: of the page.
        name: of the search.
        monitor: the figure searched for.
        is_max: whether more of it is better.
        trials: in the order of their numbers.
        importance: by parameter its share in how much the values differ, all of them 1 together.
        why_no_importance: said instead, where there is none.
        logarithmic: parameters whose axis is one of logarithms.
        commands: by ``search`` and ``best`` what goes on with it and what trains the best trial again.

    Raises:
        ValueError: an asset of the page was altered; nothing is written.
    """
    best = best_trial(trials, is_max=is_max)
    sections = [
        study_section(
            trials,
            monitor=monitor,
            is_max=is_max,
            importance=importance,
            why_no_importance=why_no_importance,
            logarithmic=logarithmic,
        ),
        Section("trials", "Trials", trials_table(trials, monitor=monitor, best=best), None, None),
    ]
    summary = _summary(trials, monitor=monitor, is_max=is_max, best=best, commands=commands)
    return write_shell(path, title=f"Search {name}", summary=summary, sections=sections, kind=SEARCH)


def best_trial(trials: Sequence[StudyTrial], *, is_max: bool) -> StudyTrial | None:
    """The best of those that came to their end; of equals the first; None if none did."""
    ended = [one for one in trials if one.state == "complete" and one.value is not None]
    return min(ended, key=lambda one: ((one.value or 0.0) * (-1 if is_max else 1), one.number), default=None)


def study_section(
    trials: Sequence[StudyTrial],
    *,
    monitor: str,
    is_max: bool,
    importance: Mapping[str, float],
    why_no_importance: str | None,
    logarithmic: Sequence[str],
) -> Section:
    """History, importance and parallel coordinates; arguments as of ``write_study``."""
    names = list(trials[0].values) if trials else []
    data = {
        "monitor": monitor,
        "isMax": is_max,
        "trials": [one._asdict() | {"values": [one.values[name] for name in names]} for one in trials],
        "parameters": [_axis(name, trials, log=name in logarithmic) for name in names],
        "importance": sorted(importance.items(), key=lambda item: -item[1]),
    }
    about = "Share of each parameter in how much the values of the trials differ (fANOVA)."
    why = f'<p class="quiet">No importance of parameters: {escape(why_no_importance)}.</p>'
    shares = (
        f'<figure data-chart="importance"><figcaption>Importance</figcaption><p class="note">{about}</p></figure>'
        if importance
        else why
    )
    html = (
        f'<figure data-chart="history"><figcaption>{escape(monitor)} by trial</figcaption></figure>\n{shares}\n'
        '<figure data-chart="parallel"><figcaption>Values of all trials</figcaption>'
        '<p class="note">A line is a trial, the thicker the better. Point at it, or use the arrow keys.</p></figure>'
    )
    return Section("study", "Search", html, data, "study.js")


def _axis(name: str, trials: Sequence[StudyTrial], *, log: bool) -> dict[str, Any]:
    values = [one.values[name] for one in trials]
    numeric = all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
    # By text and type: 1 and "1", null and "" are choices of their own.
    keys = [] if numeric else [(_said(one), type(one).__name__) for one in values]
    choices = sorted(set(keys))
    return {
        "name": name,
        "log": log and numeric,
        "choices": [said or ("null" if kind == "NoneType" else '""') for said, kind in choices],
        "places": [choices.index(one) for one in keys],  # by trial, which choice it has
    }


def trials_table(trials: Sequence[StudyTrial], *, monitor: str, best: StudyTrial | None) -> str:
    """A row for each trial, with a link to its own page."""
    names = list(trials[0].values) if trials else []
    header = ["trial", "how it ended", monitor, "epochs", "seconds of its last process", *names]
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in header)
    rows = "".join(_row(one, is_best=best is not None and one.number == best.number) for one in trials)
    return (
        '<div class="wide tall" role="region" aria-label="trials" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(one: StudyTrial, *, is_best: bool) -> str:
    heading = f'<a href="{escape(one.page)}">{one.number}</a>' if one.page else str(one.number)
    ending = STATES[one.state] + (f": {one.error}" if one.error else "") + (" (the best)" if is_best else "")
    seconds = "" if one.seconds is None else f"{one.seconds:.1f}"
    cells = [_said(one.value), "" if one.epochs is None else str(one.epochs), seconds, *map(_said, one.values.values())]
    style = ' class="ours"' if is_best else ""
    return (
        f'<tr{style} data-state="{one.state}"><th scope="row">{heading}</th><td class="long">{escape(ending)}</td>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
    )


def _said(value: Value) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def _summary(
    trials: Sequence[StudyTrial],
    *,
    monitor: str,
    is_max: bool,
    best: StudyTrial | None,
    commands: Mapping[str, str],
) -> str:
    states = [one.state for one in trials]
    ended = ", ".join(f"{states.count(state)} {said}" for state, said in STATES.items() if state in states)
    found = "" if best is None else f"{_said(best.value)}, by trial {best.number}"
    tried = "" if best is None else ", ".join(f"{name} = {_said(value)}" for name, value in best.values.items())
    return facts(
        [
            ("searched for", escape(f"the {'highest' if is_max else 'lowest'} {monitor}")),
            ("trials", escape(f"{len(trials)}: {ended}" if trials else "0")),
            ("best", escape(found)),
            ("with", escape(tried)),
            *((_NAMES[name], f"<code>{escape(command)}</code>") for name, command in commands.items()),
        ]
    )


_NAMES = {"search": "goes on by", "best": "best again by"}
