"""Process of a trial: ``python -m xsent.sweeps.search.trial`` trains one trial of a study and stores its result."""

import json
import logging
import math
import os
import pkgutil
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from xsent import sigterm
from xsent.files.strict_json import read_json_object
from xsent.reporting.secrets import redact
from xsent.run.errors import run_reporting
from xsent.run.single_run import CONFIG, start_worker
from xsent.run.start import RunInUseError
from xsent.sweeps.search.options import build_optuna
from xsent.sweeps.search.storage import ERROR, PRUNED_AFTER, SEARCH, find_trial_id, latest_attempts, open_storage
from xsent.sweeps.search.trial_config import data_key

# Environment variable: arguments of ``RunningTrial`` (one may be a password) and ``train``, the name of the function.
TRIAL = "XSENT_TRIAL"
MODULE = "xsent.sweeps.search.trial"
TRAIN = "xsent.sweeps.search.pruning:train_run"

# Trains a config and reports to the trial, which rank zero alone has; returns the best value and the number of epochs.
Train = Callable[[dict[str, Any], "RunningTrial | None"], tuple[float | None, int]]

log = logging.getLogger(__name__)


class _Study(optuna.Study):
    """A study without the attempts that were killed: a pruner would count the reports of such a trial twice."""

    def get_trials(self, deepcopy: bool = True, states: Any = None) -> list[FrozenTrial]:
        trials = latest_attempts(super().get_trials(deepcopy))
        return [trial for trial in trials if states is None or trial.state in states]


@dataclass
class RunningTrial:
    """An attempt at a trial in the process that trains it; ``RuntimeError`` if another study has replaced its own."""

    name: str  # of the study
    study_id: str  # ``SearchStudy.id``
    storage: str  # address
    attempt: int  # number of Optuna's trial
    pruner: dict[str, Any]  # ``name`` and arguments
    monitor: str  # the metric to report
    heartbeat: int  # seconds
    grace_period: int  # seconds

    def __post_init__(self) -> None:
        self.database = open_storage(self.storage, self.heartbeat, self.grace_period)
        self.study = _Study(self.name, self.database, pruner=build_optuna("pruner", self.pruner))
        if self.study.user_attrs[SEARCH]["id"] != self.study_id:
            raise RuntimeError(f"the study {self.name} was replaced by another one; nothing is trained")
        self.trial_id = find_trial_id(self.database, self.name, self.attempt)
        self.trial = optuna.trial.Trial(self.study, self.trial_id)

    @property
    def is_running(self) -> bool:
        """False once the attempt has a result or counts as killed."""
        return self.database.get_trial(self.trial_id).state == TrialState.RUNNING

    @property
    def pruned_after(self) -> int | None:
        """Epochs after which the trial was pruned."""
        return self.trial.user_attrs.get(PRUNED_AFTER)

    def report(self, epochs: int, value: float, *, can_prune: bool = True) -> bool:
        """Report the metric after an epoch; returns whether to prune the trial.

        Raises:
            FloatingPointError: the value is not finite.
            RuntimeError: the attempt counts as killed, another process may train the trial.
        """
        if not math.isfinite(value):
            raise FloatingPointError(f"{self.monitor} is {value} after epoch {epochs}")
        try:
            with warnings.catch_warnings():
                # A resumed trial repeats the epoch after its last checkpoint; Optuna keeps the first report.
                warnings.filterwarnings("ignore", message=".*already reported")
                self.trial.report(value, epochs)
            if not can_prune or not self.trial.should_prune():
                return False
            self.trial.set_user_attr(PRUNED_AFTER, epochs)
        except UpdateFinishedTrialError:
            raise RuntimeError(f"attempt {self.attempt} has ended without this process") from None
        return True

    def finish(self, state: TrialState, value: float | None = None, **attrs: Any) -> None:
        """Store the result."""
        for name, attr in attrs.items():
            self.trial.set_user_attr(name, attr)
        self.study.tell(self.attempt, value, state=state)

    @contextmanager
    def heartbeats(self) -> Iterator[None]:
        """Record heartbeats in a thread, and end this process if its trial was given to another."""
        stopped = threading.Event()

        def beat() -> None:
            while not stopped.wait(self.heartbeat):
                try:
                    if not self.is_running:
                        log.error("another process took over this trial")
                        os._exit(1)
                    self.database.record_heartbeat(self.trial_id)
                except (SQLAlchemyError, StorageInternalError) as error:
                    log.warning("no heartbeat: %s", redact(str(error)))

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()


def run_trial(config: dict[str, Any], trial: RunningTrial, train: Train) -> int:
    """Train a trial from its last checkpoint, if any, and store its result; returns the exit status of the process."""
    if not trial.is_running:
        log.warning("%s: the trial has ended or counts as killed; nothing is trained", config["run_dir"])
        return 0
    start = time.perf_counter()
    try:
        with trial.heartbeats():
            value, epochs = train(config, trial)
        _check_data(trial.study, config)
        is_pruned = trial.pruned_after is not None
        if not is_pruned and (value is None or not math.isfinite(value)):
            raise FloatingPointError(f"its best value is {value}")
    except Exception as error:
        if isinstance(error, RunInUseError) or sigterm.received():
            raise
        trial.finish(TrialState.FAIL, **{ERROR: redact(f"{type(error).__name__}: {error}")})
        log.error("%s", redact(traceback.format_exc()))
        return 1
    attrs = {"epochs": epochs, "seconds": time.perf_counter() - start}
    trial.finish(TrialState.PRUNED if is_pruned else TrialState.COMPLETE, None if is_pruned else value, **attrs)
    return 0


def _check_data(study: optuna.Study, config: dict[str, Any]) -> None:
    """Refuse a run whose data are not those of the study's first trial with this data config: they do not compare."""
    digest = read_json_object(Path(config["run_dir"]) / "environment.json")["data"]
    key = f"data_digest:{data_key(config)}"
    if (first := study.user_attrs.get(key)) is None:
        study.set_user_attr(key, digest)
    elif first != digest:
        raise ValueError(f"the data have changed since the study's first trial: digest was {first}, is {digest}")


def main() -> None:
    """Train the trial that the environment describes; a process that is killed or refused gives it no result."""
    config, arguments = json.loads(os.environ[CONFIG]), json.loads(os.environ[TRIAL])
    train: Train = pkgutil.resolve_name(arguments.pop("train"))
    if os.environ.get("LOCAL_RANK", "0") != "0":  # started by Lightning for the same trial
        train(config, None)
    else:
        sys.exit(run_trial(config, RunningTrial(**arguments), train))


if __name__ == "__main__":
    start_worker()
    sys.exit(run_reporting(main, interrupted=lambda: "the search starts this trial again"))
