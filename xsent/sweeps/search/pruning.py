"""Pruning: a trial reports the monitored metric after each epoch and ends early if the pruner decides so."""

import logging
from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from xsent.callbacks import RunStopper
from xsent.run import training
from xsent.sweeps.search.trial import RunningTrial

log = logging.getLogger(__name__)


class Pruning(RunStopper):
    """Lightning callback that stops a pruned training; rank zero decides for all ranks.

    The decision depends on epochs and on the reports of other trials, never on the clock. The class is a
    ``Checkpoint``, so Lightning calls it after the callbacks that measure; it has to come first of its kind, so that
    the decision is stored before the checkpoint of the epoch.

    Args:
        trial: that reports the metric ``monitor``; None on ranks other than zero.
    """

    def __init__(self, trial: RunningTrial | None, *, monitor: str) -> None:
        self.trial = trial
        self.monitor = monitor
        self.epochs = 0  # finished
        self.pruned_after: int | None = None  # epochs

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop a trial that was killed after it was pruned."""
        self.epochs = trainer.current_epoch
        self._stop_if(self.trial is not None and self.trial.pruned_after is not None, trainer)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.epochs = trainer.current_epoch + 1
        value = trainer.callback_metrics.get(self.monitor)
        if value is None:
            raise KeyError(f"the search monitors {self.monitor!r}, logged are {sorted(trainer.callback_metrics)}")
        can_prune = not _is_last_epoch(trainer, self.epochs)
        prune = self.trial is not None and self.trial.report(self.epochs, float(value), can_prune=can_prune)
        self._stop_if(prune, trainer)

    def on_fit_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Count the epochs of a trial that was killed after its last one."""
        progress = trainer.fit_loop.epoch_progress.state_dict()["current"]  # part of the last checkpoint
        self.epochs = max(self.epochs, progress["processed"])

    def _stop_if(self, decision: bool, trainer: pl.Trainer) -> None:
        if not trainer.strategy.reduce_boolean_decision(decision, all=False):
            return
        self.pruned_after = self.epochs
        self.has_stopped = True
        trainer.should_stop = True
        if trainer.is_global_zero:
            log.info("pruned after epoch %d: other trials were better by then", self.epochs)


def _is_last_epoch(trainer: pl.Trainer, epochs: int) -> bool:
    """Whether training ends after this epoch anyway, so that pruning would save nothing."""
    stops_early = trainer.should_stop and epochs >= (trainer.min_epochs or 0)
    has_all_steps = 0 < trainer.max_steps <= trainer.global_step
    return stops_early or has_all_steps or 0 < (trainer.max_epochs or -1) <= epochs


def train_run(config: dict[str, Any], trial: RunningTrial | None) -> tuple[float | None, int]:
    """Train a trial with Lightning; see ``xsent.sweeps.search.trial.Train``."""
    last = Path(config["run_dir"]) / "checkpoints" / "last.ckpt"
    pruning = Pruning(trial, monitor=config["callbacks"]["checkpoints"]["monitor"])
    value = training.train_run(config | {"ckpt_path": "last" if last.is_file() else None}, stopper=pruning)
    return value, pruning.epochs
