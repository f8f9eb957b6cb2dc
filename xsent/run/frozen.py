"""A run in a process of its own: how several runs follow each other, or go side by side, in one sweep or search.

The processes that Lightning adds to a distributed run start by the command line of the first. That of a sweep would
have them begin the sweep anew; this one has them train the same frozen config.

The contract with whoever starts such a process, on this machine or another:

- ``XSENT_FROZEN_CONFIG`` holds the resolved config, ``XSENT_FROZEN_TRIAL`` what a trial of a search has besides.
- Standard input is a pipe that the starter holds open. When it closes, because the starter was killed, the process
  ends at once; what it has learned is in its last checkpoint.
- The exit status is 0 if the run came to its end. A trial holds ``running.lock`` in its run folder as long as it runs;
  where another process holds it, the exit status is ``HELD``, and nothing was done.
- A trial goes on from ``checkpoints/last.ckpt`` if that is there. It leaves ``outcome.json`` when it came to its end or
  to an exception. Without that it was ended from outside (time limit, lost machine) and may be started again.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import xsent

CONFIG = "XSENT_FROZEN_CONFIG"  # in the environment, as JSON: on disk it would keep what is secret
TRIAL = "XSENT_FROZEN_TRIAL"  # likewise: the address of a study may have a password
LEASH = "XSENT_FROZEN_LEASH"  # standard input is the starter's pipe
ABOUT = "trial.json"  # in a trial's folder: whose it is, see search/folders.py
OUTCOME = "outcome.json"
RUNNING = "running.lock"
HELD = 75  # exit status, EX_TEMPFAIL of sysexits.h: another process trains this trial

log = logging.getLogger(__name__)


def train_apart(config: dict[str, Any], variables: Mapping[str, str] | None = None) -> None:
    """Train a resolved config in a new process.

    Args:
        config: resolved.
        variables: of its environment, besides those of this process.

    Raises:
        RuntimeError: it failed; what it said is on the screen.
    """
    status = start_frozen(os.environ | dict(variables or {}) | frozen_variables(config), output=None).wait()
    if status:
        raise RuntimeError(f"training in {config['run_dir']} ended with status {status}")


def frozen_variables(config: Mapping[str, Any], trial: Mapping[str, Any] | None = None) -> dict[str, str]:
    """What the environment of the process has to hold.

    Args:
        config: resolved.
        trial: ``id`` of its study, and arguments of ``search.pruning.Pruning``; None: a run that no search asked for.
    """
    variables = {CONFIG: json.dumps(config)}
    return variables if trial is None else variables | {TRIAL: json.dumps(trial)}


def start_frozen(environment: Mapping[str, str], *, output: IO[bytes] | None) -> subprocess.Popen[bytes]:
    """Start the process; closing its standard input, or ending this process, ends it.

    Args:
        environment: with ``frozen_variables``.
        output: a file for what it says; None: where this process says things.
    """
    own = dict(environment) | {LEASH: "1"}
    own["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(xsent.__file__).parents[1]), own.get("PYTHONPATH")]))
    # In a Slurm job Lightning would wait for as many Slurm tasks as the run has processes; it is to start them itself.
    own.pop("SLURM_NTASKS", None)
    return subprocess.Popen(
        [sys.executable, "-m", "xsent.run.frozen"],
        env=own,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
        # Ctrl-C is for the starter, which knows what to do about it.
        start_new_session=output is not None,
    )


def main() -> None:
    """Train what the environment says."""
    if os.environ.get(LEASH):
        threading.Thread(target=_end_with_starter, daemon=True).start()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%H:%M:%S"
    )
    config = json.loads(os.environ[CONFIG])
    if TRIAL in os.environ:
        _train_trial(config, json.loads(os.environ[TRIAL]))
    else:
        _train(config)


def _end_with_starter() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)  # at once, whatever the other threads are at: checkpoints are whole at every moment


def _train(config: dict[str, Any], **more: Any) -> float | None:
    from xsent.run.building import build
    from xsent.run.training import train_run

    return train_run(config, build(config["data"]), **more)


def _train_trial(config: dict[str, Any], trial: dict[str, Any]) -> None:
    from filelock import FileLock, Timeout

    from xsent.run.search.pruning import Pruning

    study = trial.pop("id")
    pruning = Pruning(**trial)
    folder = Path(config["run_dir"])
    config["ckpt_path"] = "last" if (folder / "checkpoints" / "last.ckpt").is_file() else None
    if os.environ.get("LOCAL_RANK", "0") != "0":  # another process of the same trial
        _train(config, pruning=pruning)
        return
    _check_folder(folder, study)
    try:
        with FileLock(folder / RUNNING, timeout=0):
            # A job may begin long after the command that asked for it, and another have done its work.
            if not (folder / OUTCOME).is_file():
                _write_outcome(config, pruning, folder, study)
    except Timeout:
        log.warning("%s: another process trains this trial", folder)
        sys.exit(HELD)


def _check_folder(folder: Path, study: str) -> None:
    path = folder / ABOUT
    if not path.is_file() or json.loads(path.read_text(encoding="utf-8"))["study"] != study:
        raise RuntimeError(f"{path}: expected that of study {study}; nothing is trained")


def _write_outcome(config: dict[str, Any], pruning: Any, folder: Path, study: str) -> None:
    from xsent.reporting.files import write_text
    from xsent.reporting.secrets import redact

    start = time.perf_counter()
    try:
        value = _train(config, pruning=pruning)
    except Exception as error:
        failed = {"study": study, "state": "fail", "error": redact(f"{type(error).__name__}: {error}")}
        write_text(folder / OUTCOME, json.dumps(failed, indent=1))
        log.error("%s", redact(traceback.format_exc()))
        sys.exit(1)
    outcome = {
        "study": study,
        "state": "complete" if pruning.pruned_after is None else "pruned",
        "value": value,
        "epochs": pruning.epochs,
        "seconds": time.perf_counter() - start,  # of this process; one that was ended from outside tells nobody
    }
    write_text(folder / OUTCOME, json.dumps(outcome, indent=1))


if __name__ == "__main__":
    main()
