"""Optuna study of a search: database with heartbeats, identity of the search, attempts of its trials.

A trial is a point of the space; it is attempted again after its process was killed. Each attempt is a trial of Optuna
(``RetryHeartbeatStaleTrialCallback`` links them). xsent numbers and shows trials, each by its latest attempt.
"""

import json
from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback, fail_stale_trials
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial
from sqlalchemy.exc import SQLAlchemyError

from xsent.reporting.secrets import redact
from xsent.sweeps.search.options import Options, build_optuna
from xsent.sweeps.search.space import grid_points

RETRY = RetryHeartbeatStaleTrialCallback(inherit_intermediate_values=True)
SQLITE_TIMEOUT = 120  # seconds to wait for another process that writes

# Attributes of a study and of its trials
SEARCH = "search"  # id of the study, folder of its trials, identity of the search
ERROR = "error"  # exception of a failed trial; a failed attempt without it was killed and is attempted again
PRUNED_AFTER = "pruned_after"  # epochs, counted from 1


def open_storage(address: str, heartbeat: int, grace_period: int) -> RDBStorage:
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
    """A study in a database that several commands may use at the same time.

    Raises:
        ValueError: the study was not created by xsent, or its trials are in another folder.
    """

    def __init__(self, options: Options, storage: RDBStorage) -> None:
        self.options = options
        self.storage = storage
        self.study = optuna.load_study(study_name=options.name, storage=storage)
        if SEARCH not in self.study.user_attrs:
            raise ValueError(f"{self} was not created by xsent")
        attrs, id_file = self.study.user_attrs[SEARCH], options.folder / "study_id"
        self.id: str = attrs["id"]  # distinguishes the study from an older one of the same name
        if not id_file.is_file() or id_file.read_text(encoding="utf-8") != self.id:
            raise ValueError(
                f"{self} has its trials in {attrs['folder']}, not in {options.folder.resolve()}: expected the same"
                " search.folder, or another name"
            )

    def __str__(self) -> str:
        return f"{redact(self.options.storage)}: the study {self.options.name}"

    def trials(self) -> list[FrozenTrial]:
        """The latest attempt of each trial; the index is the trial's number, ``.number`` that of the attempt."""
        return latest_attempts(self.study.get_trials(deepcopy=False))

    def has_running(self) -> bool:
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

        The values are a function of the seed, the number of the trial, and the trials before it. All come into the
        study at once, so a killed command leaves no trial that lacks a value.
        """
        trials = self.trials()
        space: dict[str, BaseDistribution] = dict(self.options.space)
        if self.options.sampler["name"] == "grid":
            params = grid_points(self.options.space)[len(trials)]
        else:
            # A sampler of its own for each trial, so that a kill loses no state.
            sampler = build_optuna("sampler", self.options.sampler, seed=self.options.seed + len(trials))
            scratch = optuna.create_study(direction=self.study.direction, sampler=sampler)
            scratch.add_trials(trials)
            params = scratch.ask(space).params
        self.study.add_trial(create_trial(state=TrialState.WAITING, params=params, distributions=space))

    def beat(self, attempt: int) -> None:
        """Record a heartbeat of a running attempt."""
        self.storage.record_heartbeat(self._trial_id(attempt))

    def fail(self, attempt: int, error: str | None = None) -> None:
        """End an attempt whose process ended without a result; without an error it is attempted again."""
        if error is not None:
            self.storage.set_trial_user_attr(self._trial_id(attempt), ERROR, error)
        self.study.tell(attempt, state=TrialState.FAIL, skip_if_finished=True)

    def changes(self, identity: Mapping[str, Any]) -> str:
        """Differences between the study's search and another, as ``key was x, is y``; empty if there are none."""
        stored, current = self.study.user_attrs[SEARCH]["identity"], _as_stored(identity)
        return "" if stored == current else _differences(stored, current)

    def _trial_id(self, attempt: int) -> int:
        return find_trial_id(self.storage, self.options.name, attempt)


def open_study(options: Options, identity: Mapping[str, Any], *, direction: str) -> SearchStudy:
    """Load the study of this ``identity`` (``identity_of``), or create it; the caller holds the lock of the search.

    Raises:
        ValueError: the study belongs to another search or folder, or the folder holds trials of another study;
            both stay as they are.
    """
    storage = open_storage(options.storage, options.heartbeat, options.grace_period)
    trials = options.folder / "trials"
    if options.name not in optuna.get_all_study_names(storage) and trials.exists():
        raise ValueError(f"{trials} belongs to another study: move it away, or choose another search.name")
    study = optuna.create_study(
        study_name=options.name, storage=storage, direction=StudyDirection[direction.upper()], load_if_exists=True
    )
    # A command that was killed here left a study without attributes.
    if not study.user_attrs and not study.get_trials() and study.direction.name == direction.upper():
        attrs = {"id": token_hex(8), "folder": str(options.folder.resolve()), "identity": _as_stored(identity)}
        (options.folder / "study_id").write_text(attrs["id"], encoding="utf-8")
        study.set_user_attr(SEARCH, attrs)
    search_study = SearchStudy(options, storage)
    if changes := search_study.changes(identity):
        raise ValueError(
            f"{search_study} belongs to another search: {changes}. Choose another search.name; the study was not"
            " changed"
        )
    return search_study


def load_study(options: Options) -> SearchStudy:
    """Load an existing study to read from it.

    Raises:
        FileNotFoundError: there is no such study.
        ValueError: the study does not belong to this folder.
    """
    # Without the file, connecting would create an SQLite file.
    if (options.folder / "study_id").is_file():
        storage = open_storage(options.storage, options.heartbeat, options.grace_period)
        if options.name in optuna.get_all_study_names(storage):
            return SearchStudy(options, storage)
    raise FileNotFoundError(f"{redact(options.storage)}: there is no study {options.name}")


def _as_stored(identity: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(redact(identity)))


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    from xsent.reporting.pages.run_folder import flatten

    flat = flatten(before), flatten(now)
    described = {
        key: [repr(values[key]) if key in values else "absent" for values in flat]
        for key in sorted(flat[0].keys() | flat[1].keys())
    }
    changes = [f"{key} was {old}, is {new}" for key, (old, new) in described.items() if old != new]
    return "; ".join(changes[:5]) + (f"; and {len(changes) - 5} more" if len(changes) > 5 else "")
