"""A run in a process of its own: how several distributed runs follow each other in one sweep.

The processes that Lightning adds to a distributed run start by the command line of the first. That of a sweep would
have them begin the sweep anew; this one has them train the same frozen config.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from typing import Any

CONFIG = "XSENT_FROZEN_CONFIG"  # in the environment, as JSON: on disk it would keep what is secret


def train_apart(config: dict[str, Any]) -> None:
    """Train a resolved config in a new process.

    Raises:
        RuntimeError: it failed; what it said is on the screen.
    """
    environment = os.environ | {CONFIG: json.dumps(config)}
    done = subprocess.run([sys.executable, "-m", "xsent.run.frozen"], env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"training in {config['run_dir']} ended with status {done.returncode}")


def main() -> None:
    """Train what the environment says."""
    from xsent.run.building import build
    from xsent.run.evaluating import quiet_libraries
    from xsent.run.training import train_run

    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%H:%M:%S"
    )
    quiet_libraries()
    config = json.loads(os.environ[CONFIG])
    train_run(config, build(config["data"]))


if __name__ == "__main__":
    main()
