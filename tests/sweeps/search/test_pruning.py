"""The pruning callback in real (tiny) trainings."""

import logging
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

pytest.importorskip("optuna", reason="pip install 'xsent[search]'")

from xsent.sweeps.search.pruning import Pruning


class Line(pl.LightningModule):
    """One weight; its metric stays the same."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def training_step(self, batch: torch.Tensor, index: int) -> torch.Tensor:
        self.log("val/x", 1.0)
        return (self.weight * batch).sum()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


class StopsEarly(pl.Callback):
    """Stops after the first epoch."""

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        trainer.should_stop = True


class Hopeless:
    """A trial that is pruned whenever it can be."""

    def __init__(self, pruned_after: int | None = None) -> None:
        self.pruned_after = pruned_after
        self.reports: list[tuple[int, float]] = []

    def report(self, epochs: int, value: float, *, can_prune: bool) -> bool:
        self.reports.append((epochs, value))
        self.pruned_after = epochs if can_prune else None
        return can_prune


def train(
    trial: Hopeless | None, folder: Path, *callbacks: pl.Callback, ckpt_path: Any = None, **options: Any
) -> Pruning:
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    pruning = Pruning(trial, monitor="val/x")  # type: ignore[arg-type]
    trainer = pl.Trainer(
        callbacks=[pruning, *callbacks],
        logger=False,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=True,
        default_root_dir=folder,
        **options,
    )
    trainer.fit(Line(), DataLoader(torch.ones(2, 1)), ckpt_path=ckpt_path, weights_only=False)
    return pruning


@pytest.mark.parametrize(
    ("options", "callbacks", "pruned_after"),
    [
        ({"max_epochs": 3}, [], 1),
        ({"max_epochs": 1}, [], None),
        ({"max_epochs": 3, "max_steps": 2}, [], None),
        ({"max_epochs": 3}, [StopsEarly()], None),
    ],
    ids=["continues", "last epoch", "last step", "stopped early"],
)
def test_a_training_that_ends_anyway_is_not_pruned(
    tmp_path: Path, options: dict[str, int], callbacks: list[pl.Callback], pruned_after: int | None
) -> None:
    trial = Hopeless()
    pruning = train(trial, tmp_path, *callbacks, **options)
    assert (pruning.pruned_after, pruning.epochs, trial.reports) == (pruned_after, 1, [(1, 1.0)])


def test_a_resumed_trial_has_all_its_epochs_and_a_pruned_one_does_not_continue(tmp_path: Path) -> None:
    saved = pl.callbacks.ModelCheckpoint(dirpath=tmp_path / "c", save_last=True)
    last = tmp_path / "c" / "last.ckpt"
    assert train(None, tmp_path, saved, max_epochs=2).epochs == 2
    finished = train(None, tmp_path, ckpt_path=last, max_epochs=2)
    assert (finished.epochs, finished.pruned_after) == (2, None)
    pruned = Hopeless(pruned_after=2)
    assert train(pruned, tmp_path, ckpt_path=last, max_epochs=9).pruned_after == 2
