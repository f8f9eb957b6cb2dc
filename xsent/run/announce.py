"""First log line of a command: what it will do, for how long, and where. Imports no torch, which takes seconds."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

log = logging.getLogger(__name__)


def announce(program: str, cfg: DictConfig, choices: Mapping[str, str | None], folder: Path) -> None:
    """Log what a command of ``train`` or ``evaluate`` will do, and the folder of its results.

    Args:
        program: ``train`` or ``evaluate``.
        cfg: composed, not checked.
        choices: of the config groups.
        folder: of the run.
    """
    test = f"with evaluator={choices['evaluator']}"
    if program == "evaluate":
        model = f"encoder={choices['encoder']}" if cfg.ckpt is None else f"ckpt={cfg.ckpt}"
        log.info("%s: evaluate on %s %s; results go to %s", model, cfg.device, test, folder)
        return
    names = model_names(choices)
    if is_empty(cfg.trainer):
        log.info("%s: no training, test %s; results go to %s", names, test, folder)
        return
    what = "train" if cfg.ckpt_path is None else "resume training"
    message = "%s: %s on %s for %s, then test %s; results go to %s (time left: after the first steps)"
    log.info(message, names, what, cfg.trainer.accelerator, training_length(cfg.trainer), test, folder)


def model_names(choices: Mapping[str, str | None]) -> str:
    """``recipe=oracle encoder=mini data=cldr``."""
    return " ".join(f"{group}={choices[group]}" for group in ("recipe", "encoder", "data") if group in choices)


def training_length(trainer: Mapping[str, Any]) -> str:
    """``at most 60 epochs and 500 steps``."""
    limits = [(trainer["max_epochs"], "epoch"), (trainer["max_steps"], "step")]
    texts = [f"{count:,} {unit}{'s' * (count != 1)}" for count, unit in limits if isinstance(count, int) and count > 0]
    return f"at most {' and '.join(texts)}" if texts else "as long as the limits of the trainer allow"


def is_empty(trainer: Mapping[str, Any]) -> bool:
    """Whether a trainer's limits leave nothing to train."""
    return 0 in (trainer["max_epochs"], trainer["max_steps"])
