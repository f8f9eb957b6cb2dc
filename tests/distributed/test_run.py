"""A whole run with ``trainer=ddp_cpu`` ends where one process ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.helpers import ROOT, state_of, toy_bitext, toy_overrides

RECIPES = {
    "oracle": ["recipe=oracle", "encoder=tiny", "recipe.optimizer.lr=0.001"],
    "dream": ["recipe=dream", "encoder=tiny", "recipe.optimizer.lr=0.001"],
    "labse": ["recipe=labse", "encoder=tiny", "recipe.optimizer={_target_: torch.optim.SGD, lr: 0.1, weight_decay: 0}"],
}


@pytest.mark.parametrize("recipe", RECIPES)
def test_two_processes_train_and_measure_as_one(tmp_path: Path, recipe: str) -> None:
    root = toy_bitext(tmp_path / "data", pairs=150)
    states, tables = [], []
    for trainer in ("cpu", "ddp_cpu"):
        run = tmp_path / trainer
        overrides = [
            *toy_overrides(root), *RECIPES[recipe], f"trainer={trainer}", "trainer.max_epochs=2",
            "trainer.enable_progress_bar=false", f"hydra.run.dir={run}", f"cache_dir={tmp_path / 'cache'}",
        ]  # fmt: skip
        done = subprocess.run(
            [sys.executable, "train.py", *overrides], cwd=ROOT, capture_output=True, text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        states.append(state_of(run / "checkpoints/last.ckpt"))
        tables.append((run / "results.csv").read_text())
    for name, value in states[0].items():
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(states[1][name], value, rtol=1e-4, atol=1e-6)
    assert tables[0] == tables[1]
