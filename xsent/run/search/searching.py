"""The search itself: trials are begun, watched, counted; killed at any moment, the same command goes on."""

from __future__ import annotations

import json
import logging
import math
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from xsent.reporting.files import write_text
from xsent.reporting.report.shell import check_assets
from xsent.reporting.secrets import redact
from xsent.run.config import newest_run_folder, started
from xsent.run.frozen import HELD, OUTCOME, RUNNING, frozen_variables, train_apart
from xsent.run.search.children import OUTPUT, Child, Launcher, launcher_named, shared_threads
from xsent.run.search.composing import (
    Compose,
    as_plain,
    check_config,
    check_trials,
    composer,
    data_key,
    given_overrides,
    identity_of,
    trial_config,
)
from xsent.run.search.folders import LAST, check_trial, read_about, read_outcome, write_about
from xsent.run.search.options import Options, read_options
from xsent.run.search.results import finished, say_end, say_trial, write_results, write_trial_page
from xsent.run.search.space import Value, overrides_of
from xsent.run.search.storing import (
    add_trial,
    build_pruner,
    build_sampler,
    changes,
    check_optuna,
    check_same,
    known_study,
    open_study,
    study_id,
    values_of,
)

if TYPE_CHECKING:
    from optuna import Study

log = logging.getLogger(__name__)

PAUSE = 0.2  # seconds between two looks at the trials that run
DATA = "data_digest"  # attribute of a study, with the key of a config of data: what its first trial read


def run_search(cfg: DictConfig) -> float | None:
    """Search as ``hparams_search`` of a composed config says; called within a Hydra application.

    Returns:
        The best value of the monitored figure.

    Raises:
        ValueError: something does not fit, known before the first trial; an existing study stays as it is.
        RuntimeError: no trial came to its end.
    """
    given = given_overrides()
    options = read_options(as_plain(cfg.hparams_search))
    _write_command(cfg, given)
    if options.trial is not None:
        return train_again(options, composer(given), options.trial)
    return search(options, composer(given), given)


def _write_command(cfg: DictConfig, given: Sequence[str]) -> None:
    """What Hydra would write, without what is secret: the address of a study may have a password."""
    folder = Path(HydraConfig.get().runtime.output_dir)
    said = {"overrides": list(given), "config": OmegaConf.to_container(cfg, resolve=True)}
    write_text(folder / "command.yaml", OmegaConf.to_yaml(OmegaConf.create(redact(said))))


def search(options: Options, compose_run: Compose, given: Sequence[str]) -> float | None:
    """``run_search`` of checked options.

    Args:
        options: of the search.
        compose_run: makes the config of a run of more overrides.
        given: the overrides of this command, which are in every trial.
    """
    check_optuna()
    check_assets()
    config = compose_run([])
    check_config(config, options, given)
    check_trials(compose_run, options)
    build_sampler(options, 0)
    build_pruner(options.pruner)
    launcher = launcher_named(
        options.engine,
        options.engine_options,
        folder=options.folder,
        workers=options.workers,
        devices=_processes(config["trainer"]["devices"]),
    )
    try:
        return _search(options, compose_run, launcher, given, config["callbacks"]["checkpoints"])
    finally:
        launcher.close()


def _search(
    options: Options, compose_run: Compose, launcher: Launcher, given: Sequence[str], checkpoints: Mapping[str, Any]
) -> float | None:
    options.folder.mkdir(parents=True, exist_ok=True)
    with FileLock(options.folder / "ask.lock"):  # of two commands one makes the study
        study = open_study(options, identity_of(compose_run, options), is_max=checkpoints["mode"] == "max")
    searching = _Searching(options, compose_run, study, launcher, given, checkpoints["monitor"])
    try:
        with _ended_by_signals():
            searching.run()
    except KeyboardInterrupt:
        searching.stop()
        searching.write(is_last=False)
        log.warning("stopped with %s; the same command goes on", searching.counted())
        raise SystemExit(130) from None
    except BaseException:
        searching.stop()
        raise
    page, commands = searching.write(is_last=True)
    say_end(study, options, page=page, command=commands.get("best"), monitor=checkpoints["monitor"])
    return finished(study, options)


def train_again(options: Options, compose_run: Compose, number: int) -> float | None:
    """Train the config of a trial again, as a run of its own.

    Returns:
        Its best value of the monitored figure.

    Raises:
        FileNotFoundError: there is no such study.
        ValueError: there is no such trial.
    """
    check_optuna()
    study = known_study(options)
    if number >= len(study.trials):
        raise ValueError(f"hparams_search.trial={number}: expected a number below {len(study.trials)}")
    values = values_of(study, number)
    folder = Path(newest_run_folder(compose_run([])["runs_dir"], "best", None, started()))
    config = compose_run([*overrides_of(values), f"run_dir='{folder}'"])
    for one in changes(study, identity_of(compose_run, options, values)):
        log.warning("not as in the search: %s", one)
    log.info("trial %d of %s: %s", number, options.name, " ".join(overrides_of(values)))
    # Sums are rounded by the number of threads: with the trial's own, the run is the trial again.
    threads = shared_threads(options.workers, _processes(config["trainer"]["devices"]))
    train_apart(config, threads if options.engine == "local" else {})
    best: float | None = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["best"]
    return best


def _processes(devices: object) -> int:
    return devices if isinstance(devices, int) and devices > 0 else 1


@dataclass
class _Running:
    """A trial that this command looks after; nobody else does as long as it holds the lock."""

    number: int
    values: dict[str, Value]
    folder: Path
    lock: FileLock
    place: int
    child: Child | None = None
    died: int = 0  # how often its process was ended from outside


class _Searching:
    def __init__(
        self,
        options: Options,
        compose_run: Compose,
        study: Study,
        launcher: Launcher,
        given: Sequence[str],
        monitor: str,
    ) -> None:
        self.options = options
        self.compose_run = compose_run
        self.study = study
        self.launcher = launcher
        self.given = given
        self.monitor = monitor
        self.running: list[_Running] = []
        self.start = time.monotonic()
        self.done_here = 0  # trials that this command has seen end

    def run(self) -> None:
        """Until no trial is left to begin, and none runs."""
        log.info("%s: %s", self.options.name, self.counted())
        while True:
            while len(self.running) < self.options.workers and self._begin():
                pass
            if not self.running:
                return
            for one in list(self.running):
                self._look_at(one)
            time.sleep(PAUSE)

    def stop(self) -> None:
        """End the processes of the trials that run; in the study they stay as trials that run."""
        for one in self.running:
            if one.child is not None:
                one.child.stop()
            one.lock.release()

    def write(self, *, is_last: bool) -> tuple[Path, dict[str, str]]:
        """Table, best trial and page of what is known; returns the page and the commands on it."""
        return write_results(self.study, self.options, self.given, monitor=self.monitor, is_last=is_last)

    def counted(self) -> str:
        """How far the study is."""
        trials = self.study.get_trials(deepcopy=False)
        ended = sum(one.state.is_finished() for one in trials)
        return f"{ended} of {self.options.trials or 'any number of'} trials done"

    def _begin(self) -> bool:
        """Take over a trial that nobody looks after any more, or begin a new one; False if there is none to begin."""
        # Asked one after the other, so that of two commands neither goes past the number of trials.
        with FileLock(self.options.folder / "ask.lock"):
            mine = {one.number for one in self.running}
            trials = self.study.get_trials(deepcopy=False)
            for number in (one.number for one in trials if not one.state.is_finished() and one.number not in mine):
                lock = self._lock(number)
                if lock is not None:
                    self._take(number, lock)
                    return True
            is_late = self.options.timeout is not None and time.monotonic() - self.start >= self.options.timeout
            if is_late or (self.options.trials is not None and len(trials) >= self.options.trials):
                return False
            number = add_trial(self.study, self.options)
            lock = self._lock(number)
            assert lock is not None
            self._take(number, lock)
            return True

    def _lock(self, number: int) -> FileLock | None:
        # The system lets go of the lock of a process that dies, so no clock has to tell the dead from the slow.
        (self.options.folder / "locks").mkdir(exist_ok=True)
        lock = FileLock(self.options.folder / "locks" / f"{number}.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            return None
        return lock

    def _take(self, number: int, lock: FileLock) -> None:
        place = min(set(range(self.options.workers)) - {one.place for one in self.running})
        folder = self.options.folder / "trials" / str(number)
        self.running.append(_Running(number, values_of(self.study, number), folder, lock, place))

    def _look_at(self, one: _Running) -> None:
        if one.child is None:
            # Its process may have outlived the command that began it, as a job of Slurm does.
            if _is_held(one.folder / RUNNING):
                return
            check_trial(one.folder, study_id(self.study), one.values)
            if not (one.folder / OUTCOME).is_file():
                self._launch(one)
                return
            status = 0
        else:
            found = one.child.poll()
            if found is None:
                return
            if self._goes_on(one, found):
                one.child = None
                return
            status = found
        self._end(one, status)

    def _goes_on(self, one: _Running, status: int) -> bool:
        """Whether a trial goes on that its process did not end: another has it, or this one was ended from outside."""
        if (one.folder / OUTCOME).is_file():
            return False
        if status == HELD:
            return True
        one.died += 1
        if one.died > self.options.retries:
            return False
        said = f"{one.folder / OUTPUT} says more"
        log.warning("trial %d: its process ended with status %d; started again (%s)", one.number, status, said)
        return True

    def _launch(self, one: _Running) -> None:
        check_same(self.study, identity_of(self.compose_run, self.options, one.values))
        if (one.folder / LAST).is_file():
            log.info("trial %d goes on from its last checkpoint", one.number)
        config = trial_config(self.compose_run, one.values, one.folder)
        study = study_id(self.study)
        about = {
            "id": study,
            "study": self.options.name,
            "storage": self.options.storage,
            "number": one.number,
            "pruner": self.options.pruner,
            "monitor": self.monitor,
        }
        write_about(one.folder, study=study, number=one.number, params=one.values, data=data_key(config))
        one.child = self.launcher.start(frozen_variables(config, about), one.folder, one.place)

    def _end(self, one: _Running, status: int) -> None:
        from optuna.trial import TrialState

        outcome = _outcome_of(one.folder, status)
        self._check_data(one.folder, outcome)
        states = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "fail": TrialState.FAIL}
        trial = self.study.get_trials(deepcopy=False)[one.number]
        storage = self.study._storage
        for name in ("seconds", "epochs", "error"):
            if name in outcome:
                storage.set_trial_user_attr(trial._trial_id, name, outcome[name])
        value = outcome["value"] if outcome["state"] == "complete" else None
        self.study.tell(one.number, value, state=states[outcome["state"]])
        self.running.remove(one)
        one.lock.release()
        self.done_here += 1
        write_trial_page(one.folder)
        try:
            self.write(is_last=False)
        except Exception:
            # The study has the trial; a page that cannot be written must not end a search in the middle of the night.
            log.exception("%s: its table and page are not written anew", self.options.folder)
        say_trial(self.study, self.options, one.number, seconds_left=self._seconds_left())

    def _check_data(self, folder: Path, outcome: dict[str, Any]) -> None:
        """A trial that read other data than the first of its config of data does not compare with it: a failed one."""
        path, about = folder / "environment.json", read_about(folder)
        if outcome["state"] == "fail" or about is None or not path.is_file():
            return
        digest = json.loads(path.read_text(encoding="utf-8"))["data"]
        key = f"{DATA}:{about['data']}"
        first = self.study.user_attrs.get(key)
        if first is None:
            self.study.set_user_attr(key, digest)
        elif first != digest:
            error = f"the data have changed since the study's first trial: digest was {first}, is {digest}"
            outcome |= {"state": "fail", "error": error}

    def _seconds_left(self) -> float | None:
        """As long as the trials so far took this command on average; None where no number of trials ends the search."""
        if self.options.trials is None:
            return None
        ended = sum(one.state.is_finished() for one in self.study.get_trials(deepcopy=False))
        return (time.monotonic() - self.start) / self.done_here * (self.options.trials - ended)


def _outcome_of(folder: Path, status: int) -> dict[str, Any]:
    """What the trial's process left; what is known of one that left nothing."""
    outcome = read_outcome(folder)
    if outcome is None:
        return {"state": "fail", "error": f"its process ended with status {status}; {folder / OUTPUT} says more"}
    if outcome["state"] == "complete" and (outcome["value"] is None or not math.isfinite(outcome["value"])):
        outcome |= {"state": "fail", "error": f"its best value is {outcome['value']}"}
    return outcome


def _is_held(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM ends the search as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
