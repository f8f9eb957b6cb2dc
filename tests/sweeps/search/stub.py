"""Searches without training: the metric of a trial is a formula of its parameter. Also a command, ``main``."""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.sweeps.search.test_space import node
from xsent.run.errors import run_reporting
from xsent.run.single_run import CONFIG
from xsent.sweeps.search.launchers import TrialProcess, build_launcher
from xsent.sweeps.search.options import Options, read_options
from xsent.sweeps.search.results import Results
from xsent.sweeps.search.search import Search
from xsent.sweeps.search.trial import TRIAL, RunningTrial, run_trial

EPOCHS = 6
SPACE = {"a": {"low": 0.0, "high": 1.0}}


def train(config: dict[str, Any], trial: RunningTrial | None) -> tuple[float | None, int]:
    """Report ``a * epoch`` after each epoch; resumes after the last epoch whose checkpoint is complete."""
    assert trial is not None
    folder = Path(config["run_dir"])
    last = folder / "checkpoints" / "last.ckpt"
    last.parent.mkdir(parents=True, exist_ok=True)
    (folder / "environment.json").write_text(json.dumps({"data": config.get("digest", "x")}))
    value = float(config["a"].strip("'"))
    if value < 0:
        raise ValueError("a is negative, see postgresql://somebody:hush@example.org/db")
    for epoch in range(int(last.read_text()) + 1 if last.is_file() else 1, EPOCHS + 1):
        with (folder / "epochs.txt").open("a") as file:
            file.write(f"{epoch}\n")
        if epoch == 2 and os.environ.get("STUB_HANGS") == folder.name:
            time.sleep(600)
        if trial.pruned_after is not None or trial.report(epoch, value * epoch, can_prune=epoch < EPOCHS):
            return None, epoch
        last.write_text(str(epoch))
    return value * EPOCHS, EPOCHS


def compose(overrides: Sequence[str]) -> dict[str, Any]:
    """The config of a run, as ``composer`` makes it."""
    values = dict(override.split("=", 1) for override in overrides)
    callbacks = {"checkpoints": {"monitor": "val/x", "mode": "max"}}
    return {"data": {}, "callbacks": callbacks} | values | {"run_dir": values.get("run_dir", "").strip("'")}


def stub_options(folder: Path, **changes: Any) -> Options:
    """Options of a search in a folder."""
    values = {"folder": str(folder), "storage": f"sqlite:///{folder}/study.db", "n_trials": 1, "space": SPACE}
    return read_options(node(**(values | changes)))


def ended(status: int) -> TrialProcess:
    """A process that has ended."""
    return TrialProcess(done=lambda: True, result=lambda: status, cancel=lambda: None)


class InProcess:
    """Trains trials within this process; the first ``killed`` of them die without a result."""

    def __init__(self, killed: int = 0) -> None:
        self.killed = killed
        self.started: list[str] = []  # names of the trials' folders

    def __call__(self, variables: Mapping[str, str], folder: Path, worker: int) -> TrialProcess:
        self.started.append(folder.name)
        if len(self.started) <= self.killed:
            return ended(-9)
        arguments = json.loads(variables[TRIAL])
        arguments.pop("train")
        return ended(run_trial(json.loads(variables[CONFIG]), RunningTrial(**arguments), train))


def stub_search(options: Options, launcher: Any, compose_run: Any = compose) -> Search:
    """A search that trains with ``train``."""
    return Search(options, compose_run, launcher, ["recipe=dream"], train="tests.sweeps.search.stub:train")


def main(folder: str, changes: str) -> None:
    """A search whose trials are processes; without a page, as that imports torch."""
    Results._write_page = lambda *args, **options: None  # type: ignore[method-assign]
    options = stub_options(Path(folder), **json.loads(changes))
    stub_search(options, build_launcher(options, devices=1)).run()


if __name__ == "__main__":
    import logging

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    sys.exit(run_reporting(lambda: main(*sys.argv[1:]), interrupted=lambda: "repeat the command"))
