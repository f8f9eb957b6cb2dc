"""Results of a search: log lines, ``trials.csv``, ``best.yaml`` and the page."""

import csv
import io
import logging
import shlex
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from optuna.importance import FanovaImportanceEvaluator, get_param_importances
from optuna.trial import FrozenTrial

from xsent.files.atomic import write_text
from xsent.reporting.secrets import redact
from xsent.sweeps.search.space import overrides_of
from xsent.sweeps.search.storage import ERROR, PRUNED_AFTER, SearchStudy

log = logging.getLogger(__name__)

LISTED = 5  # best trials on screen
# With more trials fANOVA takes seconds (100: 1 s, 300: 5 s), so it waits for the end of the search.
FAST_IMPORTANCE = 100


class Results:
    """Writes the results of a study.

    Args:
        overrides: those of the command.
        monitor: the metric.
        config: of a run without the search.
        recipe: its name, if it is known.
    """

    def __init__(
        self,
        study: SearchStudy,
        overrides: Sequence[str],
        *,
        monitor: str,
        config: Mapping[str, Any],
        recipe: str | None,
    ) -> None:
        self.study = study
        self.options = study.options
        self.monitor = monitor
        self.config = config
        self.recipe = recipe
        self.is_max = study.study.direction.name == "MAXIMIZE"
        self.command = ["python", "train.py", *(str(redact(override)) for override in overrides)]

    def finish(self) -> float | None:
        """Write all results, log the best trials and how to continue; returns the best value.

        Raises:
            RuntimeError: all trials failed or were pruned.
        """
        self.write(is_last=True)
        trials = self.study.trials()
        counts = Counter(_state(trial) for trial in trials)
        message = "%s: %d trials: %d finished, %d were pruned, %d failed, %d are running elsewhere"
        states = ("complete", "pruned", "fail", "running")
        log.info(message, self.options.name, len(trials), *(counts[state] for state in states))
        ranked = self._ranked(trials)
        if ranked:
            lines = [f"  {trials[i].value:.6g}  trial {i}  {_values(trials[i])}" for i in ranked[:LISTED]]
            log.info("the best by %s:\n%s", self.monitor, "\n".join(lines))
            folder = self.options.folder / "trials" / str(ranked[0])
            log.info("the best run is %s; train it again by: %s", folder, self._command(ranked[0]))
        log.info("page of the search: %s", self.options.folder / "report.html")
        if ranked:
            return trials[ranked[0]].value
        if trials and all(trial.state.is_finished() for trial in trials):
            number = max((i for i, trial in enumerate(trials) if _state(trial) == "fail"), default=len(trials) - 1)
            raise RuntimeError(
                f"none of {len(trials)} trials of {self.options.name} finished: {counts['fail']} failed,"
                f" {counts['pruned']} were pruned; trial {number} {_outcome(trials[number])}"
            )
        return None

    def log_trial(self, number: int, *, seconds_left: float | None) -> None:
        """Log one line about a trial that has ended."""
        trials = self.study.trials()
        parts = [f"trial {number}: {_values(trials[number])}", _outcome(trials[number])]
        if ranked := self._ranked(trials):
            parts.append(f"best {trials[ranked[0]].value:.6g} (trial {ranked[0]})")
        if seconds_left is not None:
            parts.append(f"{_duration(seconds_left)} left")
        log.log(logging.WARNING if _state(trials[number]) == "fail" else logging.INFO, "%s", "; ".join(parts))

    def write(self, *, is_last: bool) -> None:
        """Write table, best trial and page; before the last call, slow parts are left out.

        ``seconds`` are of the process that ended the trial, without those that were killed.
        """
        trials = self.study.trials()
        ranked = self._ranked(trials)
        rows = [
            {
                "number": number,
                "state": _state(trial),
                "value": trial.value,
                "values": dict(trial.params),
                **{name: trial.user_attrs.get(name) for name in ("epochs", "seconds", ERROR)},
            }
            for number, trial in enumerate(trials)
        ]
        write_text(self.options.folder / "trials.csv", self._table(rows))
        if ranked:
            best = trials[ranked[0]]
            about = {"trial": ranked[0], "monitor": self.monitor, "value": best.value}
            about |= {"command": self._command(ranked[0]), "overrides": overrides_of(best.params)}
            write_text(self.options.folder / "best.yaml", yaml.safe_dump(about, sort_keys=False, width=1000))
        self._write_page(rows, ranked, is_last=is_last)

    def _table(self, rows: Sequence[dict[str, Any]]) -> str:
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["number", "state", "value", "epochs", "last_seconds", "error", *self.options.space])
        for row in rows:
            params = [row["values"].get(name) for name in self.options.space]
            writer.writerow([*(value for name, value in row.items() if name != "values"), *params])
        return file.getvalue()

    def _write_page(self, rows: Sequence[dict[str, Any]], ranked: Sequence[int], *, is_last: bool) -> None:
        from xsent.reporting.pages.page import log_page_errors
        from xsent.reporting.pages.run_report import training_title
        from xsent.reporting.pages.search import StudyTrial, write_study

        pages = [f"trials/{number}/report.html" for number in range(len(rows))]
        importance, reason = self._importance([rows[i]["value"] for i in ranked], is_last=is_last)
        with log_page_errors(path := self.options.folder / "report.html"):
            write_study(
                path,
                name=self.options.name,
                what=training_title(redact(self.config), self.recipe),
                monitor=self.monitor,
                is_max=self.is_max,
                trials=[
                    StudyTrial(**row, page=page if (self.options.folder / page).is_file() else None)
                    for row, page in zip(rows, pages, strict=True)
                ],
                importance=importance,
                why_no_importance=reason,
                logarithmic=[name for name, axis in self.options.space.items() if getattr(axis, "log", False)],
                commands={"search": self._command()} | ({"best": self._command(ranked[0])} if ranked else {}),
                defaults={name: value for name in self.options.space if (value := self._default(name)) is not None},
            )

    def _default(self, name: str) -> Any:
        """Value of a parameter without the search; None where it has none or is no plain value."""
        value: Any = self.config
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value.get("name") if isinstance(value, Mapping) else value

    def _importance(self, values: Sequence[float], *, is_last: bool) -> tuple[dict[str, float], str | None]:
        """Share of each parameter in the variance (fANOVA; Hutter et al. 2014), or why there is none."""
        if len(values) < 2:
            return {}, f"{len(values)} finished; two are needed"
        if len(values) > FAST_IMPORTANCE and not is_last:
            return {}, "computed when the search is over"
        if len(set(values)) == 1:
            return {}, f"all {len(values)} trials have the same value"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            evaluator = FanovaImportanceEvaluator(seed=self.options.seed)
            return get_param_importances(self.study.study, evaluator=evaluator), None

    def _command(self, trial: int | None = None) -> str:
        return shlex.join([*self.command, *([] if trial is None else [f"search.trial={trial}"])])

    def _ranked(self, trials: Sequence[FrozenTrial]) -> list[int]:
        """Numbers of the finished trials, the best first; of equals the first."""
        values = {i: trial.value or 0.0 for i, trial in enumerate(trials) if trial.state.name == "COMPLETE"}
        return sorted(values, key=lambda i: -values[i] if self.is_max else values[i])


def write_run_page(folder: Path) -> None:
    """Write the page of a trial's run if the run was pruned or failed before it wrote one."""
    if (folder / "config.yaml").is_file() and not (folder / "report.html").is_file():
        from xsent.reporting.pages import try_report

        try_report(folder)


def _state(trial: FrozenTrial) -> str:
    """``complete``, ``pruned``, ``fail`` or ``running``, also for a killed trial whose next attempt is queued."""
    return "running" if trial.state.name == "WAITING" else trial.state.name.lower()


def _values(trial: FrozenTrial) -> str:
    rounded = {name: f"{value:.4g}" if isinstance(value, float) else value for name, value in trial.params.items()}
    return " ".join(f"{name}={value}" for name, value in rounded.items())


def _outcome(trial: FrozenTrial) -> str:
    if trial.state.name == "COMPLETE":
        return f"value {trial.value:.6g}"
    if trial.state.name == "PRUNED":
        return f"pruned after epoch {trial.user_attrs.get(PRUNED_AFTER)}"
    return f"failed: {trial.user_attrs.get(ERROR)}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
