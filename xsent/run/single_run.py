"""Train one resolved config in a new process: ``python -m xsent.run.single_run``, used by sweeps.

Lightning starts the other processes of a distributed run with the command line of the first one. The command line of a
sweep would start the sweep again; the command line of this process trains the same config.

- The environment variable ``XSENT_RUN_CONFIG`` holds the config.
- Standard input is a pipe from the starter. When it closes, because the starter was killed, the process ends at once;
  the run can be resumed from its last checkpoint.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import xsent
from xsent.run.start import log_to_screen
from xsent.sigterm import Terminated

CONFIG = "XSENT_RUN_CONFIG"  # JSON; in the environment, because a file would keep secrets
PIPE = "XSENT_RUN_PIPE"  # set if standard input is the starter's pipe
MODULE = "xsent.run.single_run"


def train_in_subprocess(config: dict[str, Any], variables: Mapping[str, str] | None = None) -> None:
    """Train a resolved config in a new process.

    ``variables`` are added to the environment.

    Raises:
        RuntimeError: the process failed; its messages are on the screen.
    """
    environment = os.environ | dict(variables or {}) | {CONFIG: json.dumps(config)}
    process = start_process(environment, output=None)
    try:
        status = process.wait()
    except Terminated:  # the process saves a checkpoint
        process.terminate()
        process.wait()
        raise
    if status:
        raise RuntimeError(f"training in {config['run_dir']} ended with status {status}")


def start_process(
    environment: Mapping[str, str], *, output: IO[bytes] | None, module: str = MODULE
) -> subprocess.Popen[bytes]:
    """Start a process that ends when its standard input is closed or this process ends.

    Args:
        environment: variables of the process, with ``CONFIG``.
        output: file for stdout and stderr; None: those of this process.
        module: to run; it calls ``start_worker``.
    """
    environment = dict(environment) | {PIPE: "1"}
    root = str(Path(xsent.__file__).parents[1])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, environment.get("PYTHONPATH")]))
    # In a Slurm job Lightning would wait for as many Slurm tasks as the run has processes instead of starting them.
    environment.pop("SLURM_NTASKS", None)
    return subprocess.Popen(
        [sys.executable, "-m", module],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
        start_new_session=output is not None,  # Ctrl-C goes to the starter alone
    )


def start_worker() -> None:
    """Log to stderr, and end this process at once when its starter ends.

    Checkpoints are complete at every moment.
    """

    def wait_for_end() -> None:
        while os.read(0, 1):
            pass
        os._exit(1)

    if os.environ.get(PIPE):
        threading.Thread(target=wait_for_end, daemon=True).start()
    log_to_screen()


def _train() -> None:
    from xsent.run.training import train_run

    train_run(json.loads(os.environ[CONFIG]))


if __name__ == "__main__":
    from xsent.run.errors import run_reporting

    start_worker()
    sys.exit(run_reporting(_train, interrupted=lambda: "its last checkpoint can be resumed"))
