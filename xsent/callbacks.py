"""Lightning callbacks: checkpoints, evaluation after each epoch, resumable early stopping."""

import logging
import operator
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback, Checkpoint, EarlyStopping

from xsent import sigterm
from xsent.evaluation.evaluator import Evaluator
from xsent.recipes.base import Recipe

log = logging.getLogger(__name__)

MODES = {"min": operator.lt, "max": operator.gt}


class Checkpoints(Checkpoint):
    """Saves ``last.ckpt`` every ``every_n_batches`` and after each epoch, ``best.ckpt`` when the metric improves.

    After SIGTERM it saves ``last.ckpt`` at the end of the batch and raises ``Terminated`` before the next one, on all
    ranks.

    Args:
        folder: of both files.
        monitor: metric of the best epoch; the first of equal epochs wins.
        mode: ``min`` or ``max``.
        every_n_batches: work that a crash can lose; with accumulated gradients the next optimizer step saves.
    """

    def __init__(self, *, folder: str, monitor: str, mode: str, every_n_batches: int) -> None:
        if mode not in MODES:
            raise ValueError(f"callbacks.checkpoints.mode={mode}: expected one of {', '.join(MODES)}")
        self.folder = Path(folder)
        self.monitor = monitor
        self.mode = mode
        self.every_n_batches = every_n_batches
        self.best: float | None = None
        self._is_terminated = False

    @property
    def state_key(self) -> str:
        return type(self).__qualname__

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.best = state_dict["best"]

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        sigterm.defer(trainer.strategy.launcher)

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        if self._is_terminated:  # not at the end of the last batch: Lightning logs its values after that
            raise sigterm.Terminated

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        # on_train_epoch_end saves after the last batch: from a checkpoint in between, the epoch is trained again.
        batches, accumulated = batch_idx + 1, trainer.accumulate_grad_batches
        is_last = batches >= int(trainer.num_training_batches)
        if batches % accumulated and not is_last:
            return  # a checkpoint has no accumulated gradients
        is_due = batches // self.every_n_batches > (batches - accumulated) // self.every_n_batches
        self._is_terminated = trainer.strategy.reduce_boolean_decision(sigterm.received(), all=False)
        if not is_last and (is_due or self._is_terminated):
            self._save(trainer, pl_module, self.folder / "last.ckpt")
        if self._is_terminated and (is_last or trainer.should_stop):
            raise sigterm.Terminated
        if is_last:
            sigterm.raise_again()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        value = trainer.callback_metrics.get(self.monitor)
        if value is None:
            raise KeyError(f"checkpoints monitor {self.monitor!r}, logged are {sorted(trainer.callback_metrics)}")
        if self.best is None or MODES[self.mode](float(value), self.best):
            self.best = float(value)
            self._save(trainer, pl_module, self.folder / "best.ckpt")
        self._save(trainer, pl_module, self.folder / "last.ckpt")

    def _save(self, trainer: pl.Trainer, pl_module: pl.LightningModule, path: Path) -> None:
        for name, parameter in pl_module.named_parameters():
            if parameter.requires_grad and not torch.isfinite(parameter).all():
                raise FloatingPointError(f"{name} is not finite: nothing saved, the last good checkpoint is kept")
        trainer.save_checkpoint(path)


class RunStopper(Checkpoint):
    """Base of callbacks that can end a run without its final evaluation.

    Lightning calls a ``Checkpoint`` after the callbacks that measure.
    """

    has_stopped = False


class ResumableEarlyStopping(EarlyStopping):
    """Early stopping that trains no further epoch when it is resumed after it stopped."""

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if self.wait_count >= self.patience:
            trainer.should_stop = True


class EvaluateOnValidation(Callback):
    """Runs the validation evaluator after every ``every_n_epochs``-th epoch, on every space of the recipe.

    Logged as ``val/<evaluator>/<space>/<item>/<metric>``, for pair judges without the space. The work is split over the
    ranks.
    """

    def __init__(self, *, evaluator: Evaluator, every_n_epochs: int) -> None:
        self.evaluator = evaluator
        self.every_n_epochs = every_n_epochs

    # At the end of validation Lightning calls callbacks before the module, where a recipe may choose its threshold.
    # This hook runs later, and before those of callbacks that monitor a metric.
    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if (trainer.current_epoch + 1) % self.every_n_epochs:
            return
        assert isinstance(pl_module, Recipe)
        with pl_module.eval_mode():
            metrics = pl_module.evaluation(self.evaluator, sharded=True).metrics
        pl_module.log_dict({f"val/{name}": value for name, value in metrics.items()})
