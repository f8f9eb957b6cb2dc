"""Page of a hyper-parameter search: values by trial, importance of parameters, parallel coordinates, all trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xsent.reporting.pages.charts import (
    COLOURS,
    DASHES,
    SHAPES,
    Look,
    chart,
    history_spec,
    importance_spec,
    parallel_spec,
)
from xsent.reporting.pages.page import SEARCH, Section, macro, write_page

Value = None | bool | int | float | str
STATES = {"complete": "finished", "pruned": "pruned", "fail": "failed", "running": "running"}
# Colour and shape of each state.
STATE_LOOKS = {"complete": 0, "pruned": 4, "fail": 6, "running": 3}


class StudyTrial(NamedTuple):
    """Trial of a search."""

    number: int
    state: str  # complete, pruned, fail or running
    value: float | None  # of the monitored figure; the last one of a pruned trial
    values: Mapping[str, Value]  # by parameter
    epochs: int | None
    seconds: float | None  # of the process that ended it
    error: str | None
    page: str | None  # its report, relative to the page of the search


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
        monitor: the figure that is optimised.
        is_max: whether higher is better.
        trials: in the order of their numbers.
        importance: share of each parameter in the variance of the values; sums to 1.
        why_no_importance: the reason, where ``importance`` is empty.
        logarithmic: parameters with a logarithmic axis.
        commands: ``search`` continues the search, ``best`` trains the best trial again.
    """
    best = best_trial(trials, is_max=is_max)
    names = list(dict.fromkeys(name for trial in trials for name in trial.values))
    specs, charts = {}, {}
    if trials:
        specs["history"] = history_spec(has_best=best is not None)
        charts["history"] = chart("history", _history(trials, is_max=is_max))
    if importance:
        specs["importance"] = importance_spec(len(importance))
        charts["importance"] = chart("importance", _importance(importance))
    axes = [f"{axis} (logarithmic)" if axis in logarithmic else axis for axis in names] + [monitor]
    if names and any(trial.value is not None for trial in trials):
        specs["parallel"] = parallel_spec(axes)
        charts["parallel"] = chart("parallel", _parallel(trials, names, axes, logarithmic, is_max=is_max))
    looks = {
        STATES[state]: Look(COLOURS[number], shape=SHAPES[number])
        for state, number in STATE_LOOKS.items()
        if any(trial.state == state for trial in trials)
    }
    looks["best so far"] = Look(COLOURS[4], DASHES[1])
    context = {
        "monitor": monitor,
        "looks": looks,
        "why_no_importance": why_no_importance,
        "charts": list(charts),
    }
    table = {
        "header": ["trial", "state", monitor, "epochs", "seconds of its last process", *names],
        "trials": [_row(trial, names, is_best=trial is best) for trial in trials],
    }
    sections = [
        Section(
            "study", "Search", "search", context, {"study": {"specs": specs, "charts": charts}} if charts else None
        ),
        Section("trials", "Trials", "trials", table),
    ]
    summary = macro("facts", _facts(trials, monitor=monitor, is_max=is_max, best=best, commands=commands))
    return write_page(path, title=f"Search {name}", kind=SEARCH, summary=summary, sections=sections)


def best_trial(trials: Sequence[StudyTrial], *, is_max: bool) -> StudyTrial | None:
    """The first of the best finished trials; None if no trial finished."""
    finished = [trial for trial in trials if trial.state == "complete" and trial.value is not None]
    return min(finished, key=lambda trial: _rank(trial, is_max), default=None)


def _rank(trial: StudyTrial, is_max: bool) -> tuple[float, bool, int]:
    """Sort key, the best first; of equal values the finished before the pruned."""
    return (trial.value or 0.0) * (-1 if is_max else 1), trial.state != "complete", trial.number


def _tooltip(trials: Sequence[StudyTrial]) -> dict[str, list[str]]:
    """Columns of the tooltip's texts."""
    settings = [
        ", ".join(f"{name} = {_text(value) or 'null'}" for name, value in trial.values.items()) for trial in trials
    ]
    return {
        "title": [
            f"trial {trial.number}: {'no value' if trial.value is None else _text(trial.value)}" for trial in trials
        ],
        "ending": [
            _ending(trial) + (f", {trial.epochs} epochs" if trial.epochs is not None else "") for trial in trials
        ],
        "tried": settings,
    }


def _history(trials: Sequence[StudyTrial], *, is_max: bool) -> dict[str, object]:
    """Columns of ``history_spec``; a trial without a value has its mark at the lowest value."""
    lowest = min((trial.value for trial in trials if trial.value is not None), default=0.0)
    best = [best_trial(trials[: number + 1], is_max=is_max) for number in range(len(trials))]
    return {
        "key": [trial.number for trial in trials],
        "trial": [trial.number for trial in trials],
        "value": [lowest if trial.value is None else trial.value for trial in trials],
        "best": [None if trial is None else trial.value for trial in best],
        "look": [STATE_LOOKS[trial.state] for trial in trials],
        **_tooltip(trials),
    }


def _importance(importance: Mapping[str, float]) -> dict[str, object]:
    shares = sorted(importance.items(), key=lambda item: -item[1])
    return {
        "key": list(range(len(shares))),
        "name": [name for name, _ in shares],
        "value": [share for _, share in shares],
        "percent": [f"{100 * share:.1f} %" for _, share in shares],
    }


def _parallel(
    trials: Sequence[StudyTrial],
    names: Sequence[str],
    axes: Sequence[str],
    logarithmic: Sequence[str],
    *,
    is_max: bool,
) -> dict[str, list[Any]]:
    """Columns of ``parallel_spec``: a line per trial with a value, the best last and thickest, and labels of axes."""
    ranked = sorted((trial for trial in trials if trial.value is not None), key=lambda trial: _rank(trial, is_max))
    texts = _tooltip(ranked)
    fields = "key", "line", "step", "axis", "place", "label", "name", "look", "width", *texts
    columns: dict[str, list[Any]] = {field: [] for field in fields}

    def add(**cells: object) -> None:
        for field in fields:
            columns[field].append(cells.get(field))

    for step, (axis, name) in enumerate(zip(axes, [*names, None], strict=True)):
        values = [trial.value if name is None else trial.values.get(name) for trial in ranked]
        positions, labels = _axis(values, log=name in logarithmic)
        for rank in reversed(range(len(ranked))):
            trial = ranked[rank]
            width = 3 - 2.2 * (rank / (len(ranked) - 1) if len(ranked) > 1 else 0)
            tip = {column: text[rank] for column, text in texts.items()}
            look = STATE_LOOKS[trial.state]
            add(key=trial.number, line=rank, step=step, axis=axis, place=positions[rank], look=look, width=width, **tip)
        add(axis=axis, place=-0.04, name=axis)
        for place, label in labels.items():
            add(axis=axis, place=place, label=label)
    return columns


def _axis(values: Sequence[Value], *, log: bool) -> tuple[list[float], dict[float, str]]:
    """Position of each value between 0 and 1, and labels by position: numbers by size, choices at equal distances."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(values):
        scaled = np.log(numbers) if log else np.array(numbers, dtype=float)
        low, high = scaled.min(), scaled.max()
        positions = (scaled - low) / (high - low) if high > low else np.full(len(scaled), 0.5)
        labels = {float(positions[row]): f"{numbers[row]:.4g}" for row in (int(scaled.argmin()), int(scaled.argmax()))}
        return positions.tolist(), labels
    # By text and type: 1 and "1", null and "" are different choices.
    keys = [(_text(value), type(value).__name__) for value in values]
    choices = sorted(set(keys))
    positions = {choice: (number + 1) / (len(choices) + 1) for number, choice in enumerate(choices)}
    labels = {positions[text, kind]: text or ("null" if kind == "NoneType" else '""') for text, kind in choices}
    return [positions[key] for key in keys], labels


def _row(trial: StudyTrial, names: Sequence[str], *, is_best: bool) -> dict[str, object]:
    """Row of the table of trials."""
    seconds = "" if trial.seconds is None else f"{trial.seconds:.1f}"
    epochs = "" if trial.epochs is None else str(trial.epochs)
    return {
        "trial": trial,
        "is_best": is_best,
        "ending": _ending(trial) + (" (the best)" if is_best else ""),
        "texts": [_text(trial.value), epochs, seconds, *(_text(trial.values.get(name)) for name in names)],
    }


def _ending(trial: StudyTrial) -> str:
    return STATES[trial.state] + (f": {trial.error}" if trial.error else "")


def _text(value: Value) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def _facts(
    trials: Sequence[StudyTrial],
    *,
    monitor: str,
    is_max: bool,
    best: StudyTrial | None,
    commands: Mapping[str, str],
) -> list[tuple[str, str, bool]]:
    states = [trial.state for trial in trials]
    counts = ", ".join(f"{states.count(state)} {name}" for state, name in STATES.items() if state in states)
    labels = {"search": "continue with", "best": "train the best with"}
    facts = [
        ("optimised", f"the {'highest' if is_max else 'lowest'} {monitor}", False),
        ("trials", f"{len(trials)}: {counts}" if trials else "0", False),
    ]
    if best is not None:
        facts.append(("best", f"{_text(best.value)}, by trial {best.number}", False))
        facts.append(("with", ", ".join(f"{name} = {_text(value)}" for name, value in best.values.items()), False))
    return [*facts, *((labels[name], command, True) for name, command in commands.items())]
