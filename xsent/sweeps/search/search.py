"""Hyper-parameter search: chooses trials, trains each in a process of its own, and resumes after a kill."""

import json
import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from filelock import FileLock
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from optuna.trial import FrozenTrial, TrialState

from xsent.config_checks import UsageError
from xsent.files.strict_json import read_json_object
from xsent.run.config.checks import check_machine
from xsent.run.evaluation import silence_libraries
from xsent.run.single_run import CONFIG, train_in_subprocess
from xsent.run.start import Command, logged
from xsent.sigterm import Terminated
from xsent.sweeps.search.launchers import OUTPUT, Launcher, TrialProcess, build_launcher, share_threads
from xsent.sweeps.search.options import Options, read_options
from xsent.sweeps.search.results import Results, write_run_page
from xsent.sweeps.search.space import overrides_of
from xsent.sweeps.search.storage import load_study, open_study
from xsent.sweeps.search.trial import TRAIN, TRIAL
from xsent.sweeps.search.trial_config import Compose, check_trials, composer, identity_of, trial_config

log = logging.getLogger(__name__)

POLL_INTERVAL = 0.2  # seconds


def run_search(command: Command) -> float | None:
    """Run the search of ``search``; returns the best value of the monitored metric.

    Raises:
        ValueError: an option, a choice or an existing study does not fit; nothing was trained.
        RuntimeError: no trial finished.
    """
    cfg, overrides = command.cfg, command.overrides
    try:
        node: Any = OmegaConf.to_container(cfg.search, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise UsageError(f"search: {error}") from None
    options = read_options(node)
    silence_libraries()
    compose_run = composer(overrides)
    if options.trial is not None:
        return train_again(options, compose_run, options.trial)
    check_machine(compose_run([]))
    check_trials(compose_run, options, overrides)
    launcher = build_launcher(options, devices=_count_devices(cfg.trainer.devices))
    folder = Path(cfg.run_dir)
    folder.mkdir(parents=True, exist_ok=True)
    with logged(folder, command):
        return Search(options, compose_run, launcher, overrides, recipe=command.choices["recipe"]).run()


def train_again(options: Options, compose_run: Compose, number: int) -> float | None:
    """Train the config of a trial again as a run of its own; returns its best value of the monitored metric.

    Raises:
        FileNotFoundError: there is no such study.
        ValueError: there is no such trial.
    """
    study = load_study(options)
    trials = study.trials()
    if number >= len(trials):
        raise ValueError(f"search.trial={number}: expected a number below {len(trials)}")
    overrides = overrides_of(trials[number].params)
    folder = Path(compose_run([])["runs_dir"]) / f"best-{options.name}-{number}-{datetime.now():%m%d-%H%M%S}"
    config = compose_run([*overrides, f"run_dir='{folder}'"])
    if changes := study.changes(identity_of(compose_run, options)):
        log.warning("not as in the search: %s", changes)
    log.info("trial %d of %s: %s", number, options.name, " ".join(overrides))
    # The number of threads changes the rounding of sums, so the run gets that of the trial.
    threads = share_threads(options.workers, _count_devices(config["trainer"]["devices"]))
    train_in_subprocess(config, threads if options.engine == "local" else {})
    best: float | None = read_json_object(folder / "metrics.json")["best"]
    return best


def _count_devices(devices: object) -> int:
    return devices if isinstance(devices, int) and devices > 0 else 1


@dataclass
class _Worker:
    """A trial that this command trains."""

    index: int  # of the worker
    number: int  # of the trial
    attempt: int
    folder: Path
    process: TrialProcess


class Search:
    """Trains the trials of a study until there are enough.

    Args:
        overrides: of this command, for the results.
        recipe: its name in the results.
        train: name of the ``Train`` function that the process of a trial calls.
    """

    def __init__(
        self,
        options: Options,
        compose_run: Compose,
        launcher: Launcher,
        overrides: Sequence[str],
        *,
        recipe: str | None = None,
        train: str = TRAIN,
    ) -> None:
        options.folder.mkdir(parents=True, exist_ok=True)
        self.options = options
        self.compose_run = compose_run
        self.launcher = launcher
        self.train = train
        config = compose_run([])
        checkpoints = config["callbacks"]["checkpoints"]
        self.monitor = checkpoints["monitor"]
        # Commands choose trials one at a time, so that the study never has more than n_trials.
        self.lock = FileLock(options.folder / "ask.lock")
        with self.lock:
            self.study = open_study(options, identity_of(compose_run, options), direction=f"{checkpoints['mode']}imize")
        self.results = Results(self.study, overrides, monitor=self.monitor, config=config, recipe=recipe)
        self.workers: list[_Worker] = []
        self.killed: Counter[int] = Counter()  # by trial, how often its process was killed under this command
        self.start = self.last_beat = time.monotonic()
        self.finished = 0  # trials that ended under this command

    def run(self) -> float | None:
        """Train until no trial is left; returns the best value."""
        try:
            self._loop()
        except BaseException as error:
            for worker in self.workers:
                worker.process.cancel()
                self.study.fail(worker.attempt)
            with self.lock:
                self.study.retry_killed()
            if isinstance(error, KeyboardInterrupt | Terminated):
                self.results.write(is_last=False)
                log.warning("stopped with %s; run the same command to continue", self._progress())
            raise
        return self.results.finish()

    def _loop(self) -> None:
        log.info("%s: %s", self.options.name, self._progress())
        if self.study.has_running():
            # The trials of a killed command look alive until the grace period is over. New trials would be chosen
            # without their results.
            log.info("waiting %d s to see which running trials are alive", self.options.grace_period)
            time.sleep(self.options.grace_period + 1)
        while True:
            while len(self.workers) < self.options.workers and self._start_trial():
                pass
            if not self.workers and (self._is_late() or not self.study.has_running()):
                return
            if time.monotonic() - self.last_beat >= self.options.heartbeat:
                self.last_beat = time.monotonic()
                for worker in self.workers:  # also those whose job is queued
                    self.study.beat(worker.attempt)
            for worker in [worker for worker in self.workers if worker.process.done()]:
                self.workers.remove(worker)
                self._end_trial(worker)
            time.sleep(POLL_INTERVAL)

    def _start_trial(self) -> bool:
        with self.lock:
            self.study.retry_killed()
            number = self.study.start_queued()
            if number is None:
                trials = len(self.study.trials())
                if self._is_late() or trials >= (self.options.n_trials or trials + 1):
                    return False
                self.study.queue_next()
                number = self.study.start_queued()
                assert number is not None
        trial = self.study.trials()[number]
        try:
            self._start_process(number, trial)
        except BaseException:
            self.study.fail(trial.number)
            raise
        return True

    def _start_process(self, number: int, trial: FrozenTrial) -> None:
        if changes := self.study.changes(identity_of(self.compose_run, self.options)):
            raise ValueError(f"conf/ has changed since the study {self.options.name} began: {changes}")
        folder = self.options.folder / "trials" / str(number)
        if (folder / "checkpoints" / "last.ckpt").is_file():
            log.info("trial %d resumes from its last checkpoint", number)
        arguments = {name: getattr(self.options, name) for name in ("name", "storage", "heartbeat", "grace_period")}
        arguments |= {"pruner": self.options.pruner, "monitor": self.monitor, "train": self.train}
        arguments |= {"study_id": self.study.id, "attempt": trial.number}
        config = trial_config(self.compose_run, trial.params, folder)
        variables = {CONFIG: json.dumps(config), TRIAL: json.dumps(arguments)}
        index = min(set(range(self.options.workers)) - {worker.index for worker in self.workers})
        process = self.launcher(variables, folder, index)
        self.workers.append(_Worker(index, number, trial.number, folder, process))

    def _end_trial(self, worker: _Worker) -> None:
        if self.study.trials()[worker.number].state == TrialState.RUNNING:  # killed: time limit, memory, lost machine
            try:
                status = f"status {worker.process.result()}"
            except Exception as error:  # of submitit or Ray
                status = str(error).strip().splitlines()[-1]
            reason = f"its process ended with {status} (log: {worker.folder / OUTPUT})"
            self.killed[worker.number] += 1
            if self.killed[worker.number] <= self.options.retries:
                self.study.fail(worker.attempt)
                log.warning("trial %d: %s; it is started again", worker.number, reason)
                return
            self.study.fail(worker.attempt, reason)
        self.finished += 1
        write_run_page(worker.folder)
        try:
            self.results.write(is_last=False)
        except Exception:  # the study has the result
            log.exception("%s: table and page could not be updated", self.options.folder)
        seconds_left = None  # if only ``timeout`` ends the search
        if self.options.n_trials is not None:
            seconds_per_trial = (time.monotonic() - self.start) / self.finished
            seconds_left = seconds_per_trial * (self.options.n_trials - self._count_ended())
        self.results.log_trial(worker.number, seconds_left=seconds_left)

    def _is_late(self) -> bool:
        return self.options.timeout is not None and time.monotonic() - self.start >= self.options.timeout

    def _count_ended(self) -> int:
        return sum(trial.state.is_finished() for trial in self.study.trials())

    def _progress(self) -> str:
        return f"{self._count_ended()} of {self.options.n_trials or 'any number of'} trials done"
