"""A trial tells its search how it does after every epoch, and ends early where the search sees no hope."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Checkpoint

from xsent.run.search.storing import PRUNED, trial_of

if TYPE_CHECKING:
    from optuna.trial import Trial

log = logging.getLogger(__name__)


class Pruning(Checkpoint):
    """Reports the monitored figure to the trial, and stops the training that the study's pruner gives up.

    What is decided depends on epochs and on what other trials have reported, never on the clock. Rank zero alone
    talks to the study, and the other ranks do as it says. It is a ``Checkpoint`` to Lightning so that it is called
    behind what measures; first of its kind, so that a decision is on record before the epoch's checkpoint is.

    Args:
        study: its name.
        storage: its address, as Optuna reads it.
        number: of the trial, from 0.
        pruner: ``{"name": ..., options}``, see ``storing.build_pruner``.
        monitor: the figure.
    """

    def __init__(self, *, study: str, storage: str, number: int, pruner: Mapping[str, Any], monitor: str) -> None:
        self.study = study
        self.storage = storage
        self.number = number
        self.pruner = dict(pruner)
        self.monitor = monitor
        self.epochs = 0  # how many are over
        self.pruned_after: int | None = None
        self._trial: Trial | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """A trial that was killed between its pruning and its end does not train one more epoch."""
        self.epochs = trainer.current_epoch
        decided = trainer.is_global_zero and self._own_trial().user_attrs.get(PRUNED) is not None
        self._stop_if(decided, trainer)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.epochs = trainer.current_epoch + 1
        value = trainer.callback_metrics.get(self.monitor)
        if value is None:
            raise KeyError(f"the search monitors {self.monitor!r}, logged are {sorted(trainer.callback_metrics)}")
        is_last = _ends_anyway(trainer, self.epochs)  # then nothing is left to save
        self._stop_if(trainer.is_global_zero and self._gives_up(float(value), is_last=is_last), trainer)

    def on_fit_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """A trial that was killed behind its last epoch trains none, but it has its epochs."""
        progress = trainer.fit_loop.epoch_progress.state_dict()["current"]  # saved with the last checkpoint
        self.epochs = max(self.epochs, progress["processed"])

    def _gives_up(self, value: float, *, is_last: bool) -> bool:
        from optuna.exceptions import UpdateFinishedTrialError

        trial = self._own_trial()
        if not math.isfinite(value):
            raise FloatingPointError(f"{self.monitor} is {value} after epoch {self.epochs}")
        try:
            # Resumed, an epoch may come a second time; it has the value that it had.
            if self.epochs not in trial.storage.get_trial(trial._trial_id).intermediate_values:
                trial.report(value, self.epochs)
            if is_last or not trial.should_prune():
                return False
            trial.set_user_attr(PRUNED, self.epochs)
        except UpdateFinishedTrialError:
            raise RuntimeError(f"trial {self.number} of {self.study} has ended without this process") from None
        return True

    def _stop_if(self, decided: bool, trainer: pl.Trainer) -> None:
        if not trainer.strategy.reduce_boolean_decision(decided, all=False):
            return
        self.pruned_after = self.epochs
        trainer.should_stop = True
        if trainer.is_global_zero:
            log.info("pruned after epoch %d: other trials were better by then", self.epochs)

    def _own_trial(self) -> Trial:
        if self._trial is None:
            self._trial = trial_of(self.storage, self.study, self.number, self.pruner)
        return self._trial


def _ends_anyway(trainer: pl.Trainer, epochs: int) -> bool:
    """Whether training ends after so many epochs by itself: all are over, all steps, or it was stopped early."""
    is_stopped = trainer.should_stop and epochs >= (trainer.min_epochs or 0)
    has_all_steps = 0 < trainer.max_steps <= trainer.global_step
    return is_stopped or has_all_steps or 0 < (trainer.max_epochs or -1) <= epochs
