"""What a run writes about itself while it trains and at its end."""

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from xsent.reporting.metrics import HEADER, MetricsFile, write_metrics_json


def rows_of(folder: Path) -> list[list[str]]:
    with (folder / "metrics.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == HEADER
    return rows


def test_every_value_is_a_row_and_on_disk_at_once(tmp_path: Path) -> None:
    logger = MetricsFile(folder=str(tmp_path))
    logger.log_metrics({"train/loss": 2.5, "train/meaning": 1.0, "epoch": 0}, step=4)
    assert rows_of(tmp_path) == [["4", "0", "train/loss", "2.5"], ["4", "0", "train/meaning", "1.0"]]
    logger.log_metrics({"val/loss": float("nan"), "epoch": 0}, step=5)
    assert rows_of(tmp_path)[-1] == ["5", "0", "val/loss", "nan"]


@pytest.mark.parametrize(
    ("killed", "torn", "resumed", "expected"),
    [
        pytest.param([(10, 0), (20, 0), (30, 0)], "", (20, 0), [(10, 0), (20, 0)], id="what it will log again"),
        pytest.param([(40, 0), (40, 1)], "", (40, 1), [(40, 0), (40, 1)], id="not the end of the epoch before"),
        pytest.param([(1, 0)], "2,0,train/lo", (3, 0), [(1, 0), (3, 0)], id="a torn row"),
    ],
)
def test_a_resumed_run_drops_rows(
    killed: list[tuple[int, int]], torn: str, resumed: tuple[int, int], expected: list[tuple[int, int]], tmp_path: Path
) -> None:
    logger = MetricsFile(folder=str(tmp_path))
    for step, epoch in killed:
        logger.log_metrics({"train/loss": 1.0, "epoch": epoch}, step=step)
    with (tmp_path / "metrics.csv").open("a") as file:
        file.write(torn)
    MetricsFile(folder=str(tmp_path)).log_metrics({"train/loss": 2.0, "epoch": resumed[1]}, step=resumed[0])
    rows = rows_of(tmp_path)
    assert [(int(step), int(epoch)) for step, epoch, *_ in rows] == expected
    assert [value for *_, value in rows] == [*["1.0"] * (len(expected) - 1), "2.0"]


class Line(pl.LightningModule):
    """Fits one number, logging each step and a validation."""

    def __init__(self, stop_at: int | None) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.stop_at = stop_at

    def training_step(self, batch: list[Tensor], batch_idx: int) -> Tensor:
        if self.global_step == self.stop_at:
            raise KeyError("killed")
        loss = (self.weight - batch[0]).square().mean()
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch: list[Tensor], batch_idx: int) -> None:
        self.log("val/loss", (self.weight - batch[0]).square().mean())

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fit(folder: Path, *, stop_at: int | None = None, ckpt_path: Path | None = None) -> None:
    data = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=2)
    trainer = pl.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=MetricsFile(folder=str(folder)),
        log_every_n_steps=1,
        callbacks=[pl.callbacks.ModelCheckpoint(folder, filename="{step}", save_top_k=-1)],
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Line(stop_at), data, data, ckpt_path=ckpt_path, weights_only=True)


def test_the_file_of_a_resumed_run_equals_that_of_an_uninterrupted_one(tmp_path: Path) -> None:
    fit(tmp_path / "whole")
    with pytest.raises(KeyError, match="killed"):
        fit(tmp_path / "halves", stop_at=7)
    fit(tmp_path / "halves", ckpt_path=tmp_path / "halves" / "step=4.ckpt")
    assert rows_of(tmp_path / "halves") == rows_of(tmp_path / "whole")
    assert len(rows_of(tmp_path / "whole")) == 12 + 3


def test_metrics_json_has_null_for_what_json_cannot_say(tmp_path: Path) -> None:
    path = tmp_path / "new" / "metrics.json"
    write_metrics_json(
        path,
        {"a": 91.4, "b": float("nan"), "c": torch.tensor(0.5)},  # type: ignore[dict-item]
        {"folder": Path("x"), "limits": [float("inf"), 1], "none": None, "name": "ß", "yes": True},
    )
    assert json.loads(path.read_text()) == {
        "metrics": {"a": 91.4, "b": None, "c": 0.5},
        "folder": "x",
        "limits": [None, 1],
        "none": None,
        "name": "ß",
        "yes": True,
    }
    assert [file.name for file in path.parent.iterdir()] == ["metrics.json"]


def test_a_failed_write_leaves_the_previous_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "metrics.json"
    write_metrics_json(path, {"a": 1.0}, {})

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)  # a disk may tell only now that it has no room
    with pytest.raises(OSError, match="No space left"):
        write_metrics_json(path, {"a": 2.0}, {})
    assert json.loads(path.read_text())["metrics"] == {"a": 1.0}
