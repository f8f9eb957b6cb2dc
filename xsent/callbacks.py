"""What happens around training: checkpoints, evaluation after each epoch, early stopping that resumes."""

from __future__ import annotations

import logging
import operator
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback, Checkpoint, EarlyStopping

from xsent.evaluation.evaluator import Evaluator
from xsent.recipes.base import Recipe

log = logging.getLogger(__name__)

MODES = {"min": operator.lt, "max": operator.gt}


class Checkpoints(Checkpoint):
    """``last.ckpt`` every so many batches and after every epoch, ``best.ckpt`` when the metric improves.

    Args:
        folder: where the two are written.
        monitor: metric that tells which epoch was best; of equals, the first.
        mode: ``min`` or ``max``, what is best.
        every_n_batches: how much work a crash may cost.
    """

    def __init__(self, *, folder: str, monitor: str, mode: str, every_n_batches: int) -> None:
        if mode not in MODES:
            raise ValueError(f"callbacks.checkpoints.mode={mode}: expected one of {', '.join(MODES)}")
        self.folder = Path(folder)
        self.monitor = monitor
        self.mode = mode
        self.every_n_batches = every_n_batches
        self.best: float | None = None

    @property
    def state_key(self) -> str:
        return type(self).__qualname__

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.best = state_dict["best"]

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        # The last batch of an epoch is left to on_train_epoch_end: a checkpoint between the two would
        # have Lightning train that epoch again.
        is_last = batch_idx + 1 >= int(trainer.num_training_batches)
        if not is_last and (batch_idx + 1) % self.every_n_batches == 0:
            self._save(trainer, pl_module, self.folder / "last.ckpt")

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


class ResumableEarlyStopping(EarlyStopping):
    """Early stopping that, resumed after it had stopped, does not train one more epoch."""

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if self.wait_count >= self.patience:
            trainer.should_stop = True


class EvaluateOnValidation(Callback):
    """Runs the evaluator of validation after each ``every_n_epochs``-th epoch, on every space where there are such.

    Logged as ``val/<evaluator>/<space>/<item>/<metric>``, without a space of judgements of pairs; the work is shared
    among the ranks and nothing is counted twice.
    """

    def __init__(self, *, evaluator: Evaluator, every_n_epochs: int) -> None:
        self.evaluator = evaluator
        self.every_n_epochs = every_n_epochs

    # Lightning calls callbacks before the module at the end of validation, where a recipe may choose its threshold;
    # this hook is later, and those of callbacks that monitor a metric are later still.
    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if (trainer.current_epoch + 1) % self.every_n_epochs:
            return
        assert isinstance(pl_module, Recipe)
        modes = [(module, module.training) for module in pl_module.modules()]
        pl_module.eval()
        with torch.no_grad():
            metrics = pl_module.evaluation(self.evaluator, sharded=True).metrics
        for module, training in modes:
            module.training = training
        pl_module.log_dict({f"val/{name}": value for name, value in metrics.items()})
