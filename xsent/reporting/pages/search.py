"""Page of a search over settings: the best setting, results by trial, importance of settings, all trials."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from xsent.reporting.pages.charts import (
    COLOURS,
    DASHES,
    Look,
    chart,
    history_spec,
    importance_spec,
    mark_look,
    parallel_spec,
)
from xsent.reporting.pages.page import SEARCH, Section, macro, write_page
from xsent.reporting.tables.table import Cell, Row, Table

Value = None | bool | int | float | str
# Text and number of the look of each state.
STATES = {"complete": ("finished", 0), "pruned": ("stopped early", 4), "fail": ("failed", 6), "running": ("running", 3)}


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
    what: str,
    monitor: str,
    is_max: bool,
    trials: Sequence[StudyTrial],
    importance: Mapping[str, float],
    why_no_importance: str | None,
    logarithmic: Sequence[str],
    commands: Mapping[str, str],
    defaults: Mapping[str, Value],
) -> Path:
    """Write the page of a search; returns ``path``.

    Args:
        what: the trials train: "oracle on mini, cldr".
        monitor, is_max: the figure that is optimised, and whether higher is better.
        trials: in the order of their numbers.
        importance: share of each parameter in the variance of the values; sums to 1.
        why_no_importance: the reason, where ``importance`` is empty.
        logarithmic: parameters with a logarithmic axis.
        commands: ``search`` continues the search, ``best`` trains the best trial again.
        defaults: value of each parameter without the search, as far as it has one.
    """
    labels = short_labels(list(dict.fromkeys([*defaults, *(name for trial in trials for name in trial.values)])))
    full_names = {label: name for name, label in labels.items() if label != name}
    trials = [_relabelled(trial, labels) for trial in trials]
    importance = {labels[name]: share for name, share in importance.items()}
    logarithmic = [labels[name] for name in logarithmic if name in labels]
    defaults = {labels[name]: value for name, value in defaults.items()}
    figure = monitor_label(monitor)
    best = best_trial(trials, is_max=is_max)
    states = [trial.state for trial in trials]
    names = list(dict.fromkeys(name for trial in trials for name in trial.values))
    axes = {f"{name} (logarithmic)" if name in logarithmic else name: name for name in names}
    ranked = sorted((trial for trial in trials if trial.value is not None), key=lambda trial: _rank(trial, is_max))
    specs, charts = {}, {}
    if trials:
        specs["history"] = history_spec(has_best=best is not None)
        charts["history"] = chart("history", _history(trials, is_max=is_max))
    if importance:
        specs["importance"] = importance_spec(len(importance))
        shares = sorted(importance.items(), key=lambda item: -item[1])
        bars = [{"name": name, "value": share, "percent": f"{share:.1%}"} for name, share in shares]
        charts["importance"] = chart("importance", [{"key": key, **bar} for key, bar in enumerate(bars)])
    if names and ranked:
        specs["parallel"] = parallel_spec([*axes, figure])
        charts["parallel"] = chart("parallel", _parallel(ranked, axes, figure, logarithmic))
    looks = {text: mark_look(number) for state, (text, number) in STATES.items() if state in states}
    looks["best so far"] = Look(COLOURS[4], DASHES[1])
    context = {"figure": figure, "looks": looks, "why_no_importance": why_no_importance, "charts": list(charts)}
    blocks = {"study": {"specs": specs, "charts": charts}} if charts else None
    header = ["trial", "state", figure, "epochs", "seconds", *names]
    rows = [_row(trial, names, is_best=trial is best) for trial in trials]
    counts = [f"{states.count(state)} {text}" for state, (text, _) in STATES.items() if state in states]
    verdict = _verdict(trials, defaults, figure, is_max=is_max)
    facts = {"monitor": monitor, "counts": counts, "full_names": full_names, "commands": commands}
    return write_page(
        path,
        title=f"Search {name}: {what}",
        kind=SEARCH,
        summary=macro("searched", verdict, facts, "pruned" in states),
        sections=[
            Section("study", "Search", "search", context, blocks),
            Section("trials", "Trials", "trials", {"table": Table("trials", header, rows, len(rows), "trials.csv")}),
        ],
    )


def best_trial(trials: Sequence[StudyTrial], *, is_max: bool) -> StudyTrial | None:
    """The first of the best finished trials; None if no trial finished."""
    finished = [trial for trial in trials if trial.state == "complete" and trial.value is not None]
    return min(finished, key=lambda trial: _rank(trial, is_max), default=None)


def short_labels(names: Sequence[str]) -> dict[str, str]:
    """Label of each dotted name: as few of its last parts as tell all names apart.

    Charts group by labels in JavaScript objects, in which ``__proto__`` is no key.
    """
    return {name: label.replace("__proto__", "__proto\u200b__") for name, label in _short_labels(names).items()}


def _short_labels(names: Sequence[str]) -> dict[str, str]:
    for count in range(1, 1 + max((name.count(".") for name in names), default=0)):
        labels = {name: ".".join(name.split(".")[-count:]) for name in names}
        if len(set(labels.values())) == len(names):
            return labels
    return {name: name for name in names}


def monitor_label(monitor: str) -> str:
    """``heldout accuracy of meaning vectors`` for ``val/heldout/meaning/mean/accuracy``."""
    _, *names = monitor.split("/")
    if len(names) < 3:
        return " ".join(names) or monitor
    evaluator, *space, item, kind = names
    label = f"{evaluator} {kind}" + (f" of {space[0]} vectors" if space else "")
    return label if item == "mean" else f"{label} ({item})"


def _relabelled(trial: StudyTrial, labels: Mapping[str, str]) -> StudyTrial:
    return trial._replace(values={labels[name]: value for name, value in trial.values.items()})


def _verdict(
    trials: Sequence[StudyTrial], defaults: Mapping[str, Value], figure: str, *, is_max: bool
) -> dict[str, Any] | None:
    """The best setting, beside the other trials and the default setting; None if no trial finished."""
    best = best_trial(trials, is_max=is_max)
    if best is None or best.value is None:
        return None
    finished = [trial.value for trial in trials if trial.state == "complete" and trial.value is not None]
    default = next(
        (trial for trial in trials if dict(trial.values) == dict(defaults) and trial.state == "complete"), None
    )
    return {
        "number": best.number,
        "value": _rounded(best.value),
        "figure": figure,
        "direction": "higher" if is_max else "lower",
        "setting": _setting(best.values),
        "others": [_rounded(value) for value in (min(finished), max(finished), median(finished))],
        "count": len(finished),
        "default": _setting(defaults),
        "default_value": None if default is None or default.value is None else _rounded(default.value),
        "gain": None if default is None or default.value is None else f"{best.value - default.value:+.4g}",
        "is_default": default is best,
    }


def _setting(values: Mapping[str, Value]) -> str:
    """``lr = 0.01, host = dream``, numbers rounded."""
    return ", ".join(f"{name} = {_rounded(value) or 'null'}" for name, value in values.items())


def _rounded(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else _text(value)


def _rank(trial: StudyTrial, is_max: bool) -> tuple[float, bool, int]:
    """Sort key, the best first; of equal values the finished before the pruned."""
    return (trial.value or 0.0) * (-1 if is_max else 1), trial.state != "complete", trial.number


def _mark(trial: StudyTrial) -> dict[str, object]:
    """Key, look and tooltip of a trial."""
    value = "no value" if trial.value is None else _text(trial.value)
    return {
        "key": trial.number,
        "look": STATES[trial.state][1],
        "title": f"trial {trial.number}: {value}",
        "ending": _ending(trial) + ("" if trial.epochs is None else f", {trial.epochs} epochs"),
        "tried": ", ".join(f"{name} = {_text(value) or 'null'}" for name, value in trial.values.items()),
    }


def _history(trials: Sequence[StudyTrial], *, is_max: bool) -> list[dict[str, object]]:
    """Rows of ``history_spec``; a trial without a value has its mark at the lowest value."""
    lowest = min((trial.value for trial in trials if trial.value is not None), default=0.0)
    rows = []
    for count, trial in enumerate(trials, start=1):
        best = best_trial(trials[:count], is_max=is_max)
        value = lowest if trial.value is None else trial.value
        rows.append({**_mark(trial), "trial": trial.number, "value": value, "best": best and best.value})
    return rows


def _parallel(
    ranked: Sequence[StudyTrial], axes: Mapping[str, str], monitor: str, logarithmic: Sequence[str]
) -> list[dict[str, Any]]:
    """Rows of ``parallel_spec``: a line per trial with a value, the best last and thickest, and labels of axes."""
    widths = np.linspace(3.0, 0.8, len(ranked)).tolist()
    values = {axis: [trial.values.get(name) for trial in ranked] for axis, name in axes.items()}
    values[monitor] = [trial.value for trial in ranked]
    rows: list[dict[str, Any]] = []
    for step, (axis, of_trials) in enumerate(values.items()):
        positions, labels = _axis(of_trials, log=axes.get(axis) in logarithmic)
        for line in reversed(range(len(ranked))):
            position = {"line": line, "step": step, "axis": axis, "place": positions[line], "width": widths[line]}
            rows.append(position | _mark(ranked[line]))
        rows.append({"axis": axis, "place": -0.04, "name": axis})
        rows += [{"axis": axis, "place": place, "label": label} for place, label in labels.items()]
    return rows


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


def _row(trial: StudyTrial, names: Sequence[str], *, is_best: bool) -> Row:
    heading = Cell(str(trial.number), {} if trial.page is None else {"href": trial.page})
    ending = Cell(_ending(trial) + (" (the best)" if is_best else ""), {"class": "long"} if trial.error else {})
    seconds = "" if trial.seconds is None else f"{trial.seconds:.1f}"
    texts = [_text(trial.value), _text(trial.epochs), seconds, *(_text(trial.values.get(name)) for name in names)]
    return Row([heading, ending, *map(Cell, texts)], is_best)


def _ending(trial: StudyTrial) -> str:
    return STATES[trial.state][0] + (f": {trial.error}" if trial.error else "")


def _text(value: Value) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)
