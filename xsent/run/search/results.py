"""What a search leaves: a line for each trial, a table, the best trial's overrides, and a page."""

from __future__ import annotations

import csv
import io
import logging
import shlex
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from xsent.reporting.files import write_text
from xsent.reporting.report import write_report
from xsent.reporting.report.study import StudyTrial, write_study
from xsent.reporting.secrets import redact
from xsent.run.search.options import Options
from xsent.run.search.space import overrides_of
from xsent.run.search.storing import PRUNED

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

log = logging.getLogger(__name__)

SHOWN = 5  # best trials on screen
# Beyond so many trials fANOVA takes a second (100 of them: 1 s, 300: 5 s) and waits for the end of the search.
QUICK = 100


def say_trial(study: Study, options: Options, number: int, *, seconds_left: float | None) -> None:
    """One line about a trial that has ended: what it tried, how it ended, the best so far, time left."""
    trial = study.get_trials(deepcopy=False)[number]
    best = _best(study)
    parts = [f"trial {number}: {_tried(trial)}", _ending(trial)]
    if best is not None:
        parts.append(f"best {best.value:.6g} (trial {best.number})")
    if seconds_left is not None:
        parts.append(f"{_duration(seconds_left)} left")
    (log.warning if trial.state.name == "FAIL" else log.info)("%s", "; ".join(parts))


def write_trial_page(folder: Path) -> None:
    """The page of a trial's run, where the run has not come to writing one: it was pruned, or failed on the way."""
    if (folder / "config.yaml").is_file() and not (folder / "report.html").is_file():
        try:
            write_report(folder)
        except ValueError as error:
            log.warning("%s: no page: %s", folder, error)


def finished(study: Study, options: Options) -> float | None:
    """The best value.

    Raises:
        RuntimeError: all trials failed or were pruned.
    """
    trials = study.get_trials(deepcopy=False)
    best = _best(study)
    if best is None and trials and all(one.state.is_finished() for one in trials):
        last = next((one for one in reversed(trials) if one.state.name == "FAIL"), trials[-1])
        failed = sum(one.state.name == "FAIL" for one in trials)
        raise RuntimeError(
            f"none of {len(trials)} trials of {options.name} came to its end: {failed} failed,"
            f" {len(trials) - failed} were pruned; trial {last.number} {_ending(last)}"
        )
    return None if best is None else best.value


def write_results(
    study: Study, options: Options, given: Sequence[str], *, monitor: str, is_last: bool
) -> tuple[Path, dict[str, str]]:
    """Write ``trials.csv``, ``best.yaml`` and ``report.html``; returns the page and the commands that go on.

    Args:
        study: with its trials.
        options: of the search.
        given: overrides of the command.
        monitor: the figure that was searched for.
        is_last: whether the search is over; until then what takes long is left out.
    """
    trials = study.get_trials(deepcopy=False)
    best = _best(study)
    shown = [str(redact(one)) for one in given]
    write_text(options.folder / "trials.csv", _csv(trials, options))
    commands = {"search": shlex.join(["python", "train.py", *shown])}
    if best is not None:
        commands["best"] = shlex.join(["python", "train.py", *shown, f"hparams_search.trial={best.number}"])
        about = {"trial": best.number, "monitor": monitor, "value": best.value, "command": commands["best"]}
        write_text(
            options.folder / "best.yaml",
            yaml.safe_dump({**about, "overrides": overrides_of(best.params)}, sort_keys=False, width=1000),
        )
    importance, why_not = _importance(study, options, is_last=is_last)
    page = write_study(
        options.folder / "report.html",
        name=options.name,
        monitor=monitor,
        is_max=study.direction.name == "MAXIMIZE",
        trials=[_for_page(one, options) for one in trials],
        importance=importance,
        why_no_importance=why_not,
        logarithmic=[one.name for one in options.space if one.log],
        commands=commands,
    )
    return page, commands


def say_end(study: Study, options: Options, *, page: Path, command: str | None, monitor: str) -> None:
    """Say which trials were best and how to go on.

    Args:
        study: with its trials.
        options: of the search.
        page: of the search.
        command: trains the best trial again; None: there is none.
        monitor: the figure that was searched for.
    """
    trials = study.get_trials(deepcopy=False)
    ranked = sorted(
        (one for one in trials if one.state.name == "COMPLETE"),
        key=lambda one: ((one.value or 0.0) * (-1 if study.direction.name == "MAXIMIZE" else 1), one.number),
    )
    states = [one.state.name for one in trials]
    log.info(
        "%s: %d trials: %d finished, %d were pruned, %d failed, %d are running elsewhere",
        options.name,
        len(trials),
        *(states.count(name) for name in ("COMPLETE", "PRUNED", "FAIL", "RUNNING")),
    )
    lines = [f"  {one.value:.6g}  trial {one.number}  {_tried(one)}" for one in ranked[:SHOWN]]
    if ranked and command is not None:
        log.info("the best by %s:\n%s", monitor, "\n".join(lines))
        log.info("the best run is %s; trained again by: %s", options.folder / "trials" / str(ranked[0].number), command)
    log.info("the page of the search: %s", page)


def _best(study: Study) -> FrozenTrial | None:
    complete = [one for one in study.get_trials(deepcopy=False) if one.state.name == "COMPLETE"]
    if not complete:
        return None
    sign = -1 if study.direction.name == "MAXIMIZE" else 1
    return min(complete, key=lambda one: (sign * (one.value or 0.0), one.number))  # of equals the first


def _tried(trial: FrozenTrial) -> str:
    """For the screen; ``best.yaml`` and ``trials.csv`` have every digit."""
    shown = {name: f"{value:.4g}" if isinstance(value, float) else value for name, value in trial.params.items()}
    return " ".join(f"{name}={value}" for name, value in shown.items())


def _ending(trial: FrozenTrial) -> str:
    if trial.state.name == "COMPLETE":
        return f"value {trial.value:.6g}"
    if trial.state.name == "PRUNED":
        return f"pruned after epoch {trial.user_attrs.get(PRUNED)}"
    return f"failed: {trial.user_attrs.get('error', 'nobody knows why')}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _csv(trials: Sequence[FrozenTrial], options: Options) -> str:
    """``last_seconds`` are of the process that ended the trial; an earlier one that was killed has told none."""
    names = [one.name for one in options.space]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["number", "state", "value", "epochs", "last_seconds", "error", *names])
    for one in trials:
        about = one.user_attrs
        writer.writerow(
            [one.number, one.state.name.lower(), one.value, about.get("epochs"), about.get("seconds"),
             about.get("error"), *(one.params.get(name) for name in names)]
        )  # fmt: skip
    return file.getvalue()


def _for_page(trial: FrozenTrial, options: Options) -> StudyTrial:
    folder = options.folder / "trials" / str(trial.number)
    return StudyTrial(
        number=trial.number,
        state=trial.state.name.lower(),
        value=trial.value,
        values=dict(trial.params),
        epochs=trial.user_attrs.get("epochs"),
        seconds=trial.user_attrs.get("seconds"),
        error=trial.user_attrs.get("error"),
        page=f"trials/{trial.number}/report.html" if (folder / "report.html").is_file() else None,
    )


def _importance(study: Study, options: Options, *, is_last: bool) -> tuple[dict[str, float], str | None]:
    """Share of each parameter in how much the values differ (fANOVA; Hutter et al. 2014), or why there is none."""
    from optuna.importance import FanovaImportanceEvaluator, get_param_importances

    values = [one.value for one in study.get_trials(deepcopy=False) if one.state.name == "COMPLETE"]
    if len(values) < 2:
        return {}, f"{len(values)} finished; two are needed"
    if len(values) > QUICK and not is_last:
        return {}, "told when the search is over"
    if len(set(values)) == 1:
        return {}, f"all {len(values)} trials have the same value"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluator = FanovaImportanceEvaluator(seed=options.seed)
        found: dict[str, Any] = get_param_importances(study, evaluator=evaluator)
    return {name: float(value) for name, value in found.items()}, None
