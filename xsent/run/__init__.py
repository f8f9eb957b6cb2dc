"""From a composed config to a finished run: the one room that knows Hydra."""

from __future__ import annotations

from xsent.run.building import build, check_targets
from xsent.run.config import load_config, newest_run_folder, register_resolvers, started
from xsent.run.evaluating import evaluate, load_encoder, load_judge
from xsent.run.training import train

__all__ = [
    "build",
    "check_targets",
    "evaluate",
    "load_config",
    "load_encoder",
    "load_judge",
    "newest_run_folder",
    "register_resolvers",
    "started",
    "train",
]
