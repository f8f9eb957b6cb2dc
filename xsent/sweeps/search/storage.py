"""Optuna study of a search: database with heartbeats, identity of the search, attempts of its trials.

A trial is a point of the space; it is attempted again after its process was killed. Each attempt is a trial of Optuna
(``RetryHeartbeatStaleTrialCallback`` links them). xsent numbers and shows trials, each by its latest attempt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any

import optuna
from optuna.pruners import BasePruner, MedianPruner, NopPruner, SuccessiveHalvingPruner
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback, fail_stale_trials
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial
from sqlalchemy.exc import SQLAlchemyError

from xsent.reporting.secrets import redact
from xsent.sweeps.search.options import Options
from xsent.sweeps.search.space import Value, grid_points

RETRY = RetryHeartbeatStaleTrialCallback(inherit_intermediate_values=True)
SAMPLERS = {"tpe": TPESampler, "random": RandomSampler}
PRUNERS = {"none": NopPruner, "median": MedianPruner, "asha": SuccessiveHalvingPruner}
SQLITE_TIMEOUT = 120  # seconds to wait for another process that writes

# Attributes of a study and of its trials
SEARCH = "search"  # id of the study, folder of its trials, identity of the search
ERROR = "error"  # exception of a failed trial; a failed attempt without it was killed and is attempted again
PRUNED_AFTER = "pruned_after"  # epochs, counted from 1


def open_storage(address: str, *, heartbeat: int, grace_period: int) -> RDBStorage:
    """Connect to the database of a study; a trial without a heartbeat for ``grace_period`` seconds counts as killed.

    Raises:
        ValueError: the connection fails; the message holds no password.
    """
    connect_args = {"connect_args": {"timeout": SQLITE_TIMEOUT}} if address.startswith("sqlite:") else None
    try:
        return RDBStorage(
            address,
            engine_kwargs=connect_args,
            heartbeat_interval=heartbeat,
            grace_period=grace_period,
            heartbeat_stale_trial_callback=RETRY,
        )
    except (SQLAlchemyError, ImportError, ValueError) as error:
        # The driver's message may repeat the address.
        reason = str(error).splitlines()[0].replace(address, str(redact(address)))
        raise ValueError(f"search.storage={redact(address)}: {type(error).__name__}: {reason}") from None


def find_trial_id(storage: RDBStorage, study_name: str, attempt: int) -> int:
    """Id of a trial in the database."""
    return storage.get_trial_id_from_study_id_trial_number(storage.get_study_id_from_name(study_name), attempt)


def latest_attempts(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """The latest attempt of each trial, in the order of the first attempts."""
    latest: dict[int, FrozenTrial] = {}
    for trial in trials:
        first_attempt = RetryHeartbeatStaleTrialCallback.retried_trial_number(trial)
        latest[trial.number if first_attempt is None else first_attempt] = trial
    return list(latest.values())


class SearchStudy:
    """A study in a database that several commands may use at the same time."""

    def __init__(self, options: Options, storage: RDBStorage, study: optuna.Study) -> None:
        self.options = options
        self.storage = storage
        self.study = study

    @property
    def id(self) -> str:
        """Distinguishes the study from an older one of the same name."""
        return str(self.study.user_attrs[SEARCH]["id"])

    def trials(self) -> list[FrozenTrial]:
        """The latest attempt of each trial; the index is the trial's number, ``.number`` that of the attempt."""
        return latest_attempts(self.study.get_trials(deepcopy=False))

    def running(self) -> bool:
        """Whether a trial is running, in whichever command."""
        return any(trial.state == TrialState.RUNNING for trial in self.trials())

    def retry_killed(self) -> None:
        """Queue another attempt of each trial whose process was killed."""
        fail_stale_trials(self.study)
        # A command that was killed or stopped may have failed an attempt without queueing the next one.
        for trial in latest_attempts(self.study.get_trials(deepcopy=True)):
            if trial.state == TrialState.FAIL and ERROR not in trial.user_attrs:
                RETRY(self.study, trial)

    def start_queued(self) -> int | None:
        """Set the first queued trial running; returns its number, None if there is none."""
        for number, trial in enumerate(self.trials()):
            if trial.state == TrialState.WAITING:
                self.beat(trial.number)  # first, as Optuna never fails a trial without any heartbeat
                if self.storage.set_trial_state_values(self._trial_id(trial.number), TrialState.RUNNING):
                    return number
        return None

    def queue_next(self) -> None:
        """Choose the values of the next trial and queue it; the caller holds the lock of the search.

        All values come into the study at once, so a killed command leaves no trial that lacks a value.
        """
        space = self.options.space
        params = suggest(self.options, self.trials(), self.study.direction.name)
        self.study.add_trial(create_trial(state=TrialState.WAITING, params=params, distributions=dict(space)))

    def beat(self, attempt: int) -> None:
        """Record a heartbeat of a running attempt."""
        self.storage.record_heartbeat(self._trial_id(attempt))

    def fail(self, attempt: int, error: str | None = None) -> None:
        """End an attempt whose process ended without a result; without an error it is attempted again."""
        if error is not None:
            self.storage.set_trial_user_attr(self._trial_id(attempt), ERROR, error)
        self.study.tell(attempt, state=TrialState.FAIL, skip_if_finished=True)

    def changes(self, identity: Mapping[str, Any]) -> list[str]:
        """Differences between the study's search and another."""
        return differences(self.study.user_attrs[SEARCH]["identity"], _as_stored(identity))

    def check_unchanged(self, identity: Mapping[str, Any]) -> None:
        """Raise ``ValueError`` if the configuration differs from that of the study."""
        if changes := self.changes(identity):
            raise ValueError(f"conf/ has changed since the study {self.options.name} began: {_summary(changes)}")

    def _trial_id(self, attempt: int) -> int:
        return find_trial_id(self.storage, self.options.name, attempt)


def open_study(options: Options, identity: Mapping[str, Any], *, direction: str) -> SearchStudy:
    """Load the study of this ``identity`` (``identity_of``), or create it; the caller holds the lock of the search.

    Raises:
        ValueError: the study belongs to another search or folder, or the folder holds trials of another study;
            both stay as they are.
    """
    storage = _open(options)
    trials = options.folder / "trials"
    if options.name not in optuna.get_all_study_names(storage) and trials.exists():
        raise ValueError(f"{trials} belongs to another study: move it away, or choose another search.name")
    study = optuna.create_study(
        study_name=options.name, storage=storage, direction=StudyDirection[direction.upper()], load_if_exists=True
    )
    if not study.user_attrs and not study.get_trials() and study.direction.name.lower() == direction:
        attrs = {"id": token_hex(8), "folder": str(options.folder.resolve()), "identity": _as_stored(identity)}
        study.set_user_attr(SEARCH, attrs)
    if study.user_attrs.get(SEARCH) and not study.get_trials() and not trials.exists():
        _id_file(options).write_text(study.user_attrs[SEARCH]["id"], encoding="utf-8")
    search_study = _check_folder(options, storage, study)
    if changes := search_study.changes(identity):
        raise ValueError(
            f"{redact(options.storage)}: the study {options.name} belongs to another search: {_summary(changes)}."
            " Choose another search.name; the study was not changed"
        )
    return search_study


def load_study(options: Options) -> SearchStudy:
    """Load an existing study to read from it.

    Raises:
        FileNotFoundError: there is no such study.
        ValueError: the study does not belong to this folder.
    """
    missing = FileNotFoundError(f"{redact(options.storage)}: there is no study {options.name}")
    if not _id_file(options).is_file():  # else connecting would create an SQLite file
        raise missing
    storage = _open(options)
    if options.name not in optuna.get_all_study_names(storage):
        raise missing
    return _check_folder(options, storage, optuna.load_study(study_name=options.name, storage=storage))


def _open(options: Options) -> RDBStorage:
    return open_storage(options.storage, heartbeat=options.heartbeat, grace_period=options.grace_period)


def _check_folder(options: Options, storage: RDBStorage, study: optuna.Study) -> SearchStudy:
    """Refuse a study of another program, or of another folder."""
    if SEARCH not in study.user_attrs:
        raise ValueError(f"{redact(options.storage)}: the study {options.name} was not created by xsent")
    attrs, id_file = study.user_attrs[SEARCH], _id_file(options)
    if not id_file.is_file() or id_file.read_text(encoding="utf-8") != attrs["id"]:
        raise ValueError(
            f"{redact(options.storage)}: the study {options.name} has its trials in {attrs['folder']}, not in"
            f" {options.folder.resolve()}: expected the same search.folder, or another name"
        )
    return SearchStudy(options, storage, study)


def _id_file(options: Options) -> Path:
    return options.folder / "study_id"


def _as_stored(identity: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(redact(identity)))


def _summary(changes: Sequence[str]) -> str:
    return "; ".join(changes[:5]) + (f"; and {len(changes) - 5} more" if len(changes) > 5 else "")


def differences(before: Any, now: Any) -> list[str]:
    """Where two nested plain values differ, as ``key was x, is y``."""
    flat_before, flat_now = _flatten(before), _flatten(now)
    return [
        f"{key} was {_describe_value(flat_before, key)}, is {_describe_value(flat_now, key)}"
        for key in sorted(flat_before.keys() | flat_now.keys())
        if _describe_value(flat_before, key) != _describe_value(flat_now, key)
    ]


def _flatten(value: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        return {path: value}
    inner = [_flatten(item, f"{path}.{key}" if path else key) for key, item in value.items()]
    return {key: item for items in inner for key, item in items.items()}


def _describe_value(values: Mapping[str, Any], key: str) -> str:
    return repr(values[key]) if key in values else "absent"


def suggest(options: Options, trials: Sequence[FrozenTrial], direction: str) -> dict[str, Value]:
    """Values of the next trial: a function of the seed, the number of the trial, and the trials before it."""
    if options.sampler["name"] == "grid":
        return grid_points(options.space)[len(trials)]
    scratch = optuna.create_study(direction=StudyDirection[direction], sampler=build_sampler(options, len(trials)))
    scratch.add_trials(trials)
    return scratch.ask(dict(options.space)).params


def build_sampler(options: Options, number: int) -> BaseSampler | None:
    """Sampler of one trial, seeded by the trial's number, so that a kill loses no state; None for a grid.

    Raises:
        ValueError: an argument that Optuna's class does not have.
    """
    if options.sampler["name"] == "grid":
        return None
    sampler: BaseSampler = _build("samplers", SAMPLERS, **(options.sampler | {"seed": options.seed + number}))
    return sampler


def build_pruner(options: Mapping[str, Any]) -> BasePruner:
    """Pruner of a search; raises ``ValueError`` for an argument that Optuna's class does not have."""
    pruner: BasePruner = _build("pruners", PRUNERS, **options)
    return pruner


def _build(group: str, classes: Mapping[str, Any], /, *, name: str, **arguments: Any) -> Any:
    if name not in classes:
        raise ValueError(f"search.{group}.{name}: expected one of {', '.join(classes)}")
    try:
        return classes[name](**arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"search.{group}.{name}: {error}") from None
