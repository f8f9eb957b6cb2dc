"""What a training shows while it runs: progress bar, time left, one line per epoch; epochs and steps count from 1."""

import logging
import math
import time
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback, EarlyStopping, ProgressBar, RichProgressBar

from xsent.callbacks import MODES, Checkpoints
from xsent.recipes.base import Recipe

log = logging.getLogger(__name__)

MEASURED, MAX_SECONDS = 20, 30  # steps that the time left is estimated from; fewer if they take longer
BETWEEN_LINES = 5.0  # seconds from one line of an epoch to the next; short epochs in between have none
LEFT_OUT = 3  # steps before them, which are slower


def progress_callbacks(callbacks: list[Callback], *, shows_bar: bool) -> list[Callback]:
    """The log of a run's epochs, and its progress bar unless the config has one."""
    has_bar = any(isinstance(callback, ProgressBar) for callback in callbacks)
    return [RunLog(), *([EpochBar()] if shows_bar and not has_bar else [])]


class EpochBar(RichProgressBar):
    """Progress bar that counts epochs from 1."""

    def _get_train_description(self, current_epoch: int) -> str:
        return epoch_text(self.trainer, current_epoch)


class RunLog(Callback):
    """Logs where a resumed run goes on, how long the training takes, losses of epochs and an early end."""

    def __init__(self) -> None:
        self._first = 0  # steps before this process
        self._started = 0.0
        self._is_told = False  # how long it takes
        self._last_line = -BETWEEN_LINES  # when an epoch had one

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, Recipe)
        self._first = pl_module.batches_seen
        if self._first and trainer.is_global_zero:
            epoch = epoch_text(trainer, self._first // pl_module.data.steps_per_epoch)
            log.info("resuming %s at %s, step %d", trainer.default_root_dir, epoch, self._first + 1)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, Recipe)
        measured, now = pl_module.batches_seen - self._first - LEFT_OUT, time.perf_counter()
        if measured == 0:
            self._started = now
        total = total_batches(trainer, pl_module)
        if measured < 1 or self._is_told or total is None or not trainer.is_global_zero:
            return
        if measured == MEASURED or now - self._started > MAX_SECONDS:
            self._is_told = True
            speed = measured / (now - self._started)
            left = total - pl_module.batches_seen
            log.info(
                "%.3g steps per second: the remaining %s steps take at most about %s, validation and test not included",
                speed,
                f"{left:,}",
                duration(left / speed),
            )

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, Recipe)
        is_last = trainer.should_stop or trainer.current_epoch + 1 == trainer.max_epochs
        now = time.perf_counter()
        if not trainer.is_global_zero or (now - self._last_line < BETWEEN_LINES and not is_last):
            return
        self._last_line = now
        logged = trainer.callback_metrics
        figures = [f"{name} {float(logged[name]):.4g}" for name in ("train/loss", "val/loss") if name in logged]
        checkpoints = next((each for each in trainer.callbacks if isinstance(each, Checkpoints)), None)  # type: ignore[attr-defined]
        if checkpoints is not None and checkpoints.monitor in logged:
            value = float(logged[checkpoints.monitor])
            if checkpoints.monitor not in ("train/loss", "val/loss"):
                figures.append(f"{checkpoints.monitor} {value:.4g}")
            if checkpoints.best is None or MODES[checkpoints.mode](value, checkpoints.best):
                figures[-1] += " (best so far)"
        epoch = epoch_text(trainer, trainer.current_epoch)
        log.info("%s, step %d: %s", epoch, pl_module.batches_seen, ", ".join(figures))

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        for callback in trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(callback, EarlyStopping) and callback.stopped_epoch and trainer.is_global_zero:
                log.info("stopped early: %s did not improve in %d epochs", callback.monitor, callback.patience)


def epoch_text(trainer: pl.Trainer, epoch: int) -> str:
    """``epoch 3 of 60`` of the epoch with this index."""
    epochs = trainer.max_epochs
    return f"epoch {epoch + 1}" + (f" of {epochs}" if epochs is not None and epochs > 0 else "")


def total_batches(trainer: pl.Trainer, recipe: Recipe[Any]) -> int | None:
    """Training batches of the whole run; None without a limit."""
    limits = []
    if trainer.max_epochs is not None and trainer.max_epochs > 0:
        limits.append(trainer.max_epochs * recipe.data.steps_per_epoch)
    if trainer.max_steps >= 0:
        limits.append(trainer.max_steps * trainer.accumulate_grad_batches)
    return min(limits, default=None)


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:
        return f"{math.ceil(seconds)} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
