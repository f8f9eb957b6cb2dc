"""A whole run with ``trainer=ddp_cpu`` ends where one process ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.helpers import state_of, toy_bitext, toy_labelled, toy_overrides, toy_sentences, train_as_command

SGD = "recipe.optimizer={_target_: torch.optim.SGD, lr: 0.1, weight_decay: 0}"
RECIPES = {
    "oracle": ["recipe=oracle", "encoder=tiny", "recipe.optimizer.lr=0.001"],
    "dream": ["recipe=dream", "encoder=tiny", "recipe.optimizer.lr=0.001"],
    "labse": ["recipe=labse", "encoder=tiny", SGD],
    # Mined from the whole mega-batch; every hard negative is one of every anchor, whichever device has it.
    "paraphrase": [
        "recipe=paraphrase", "loss=ams_all", "encoder=tiny", "recipe.freeze.embeddings=none", SGD,
        "recipe.mining.mini_batches=3", "recipe.mining.both_sides=true",
        "callbacks.checkpoints.monitor=val/loss", "callbacks.checkpoints.mode=min",
    ],
    # The contrast alone looks at other devices' sentences.
    "rolaser": [
        "recipe=rolaser", "distillation=contrast", "encoder=tiny", "encoder.dim=256", "recipe.teacher=mini",
        "recipe.projection=null", "recipe.preprocessing=none", "recipe.weights.clean=0.5", "recipe.optimizer.lr=0.001",
        "recipe.scheduler.warmup_steps=1",
    ],
}  # fmt: skip


def data_of(recipe: str, tmp_path: Path) -> list[str]:
    if recipe == "rolaser":
        return [
            f"data.root={toy_sentences(tmp_path / 'data')}", "data.global_batch_size=32", "data.valid_share=0.1",
            "data.test_share=0.1", "pictures=none", "logger=none",
        ]  # fmt: skip
    if recipe != "paraphrase":
        return toy_overrides(toy_bitext(tmp_path / "data", pairs=150))
    return [
        "data=labelled", f"data.root={toy_labelled(tmp_path / 'data')}", "data.global_batch_size=16",
        "data.valid_share=0.2", "data.test_share=0.2", "pictures=none", "logger=none",
    ]  # fmt: skip


# DREAM is the recipe of MEAT with other terms: one of the two is enough every time.
SLOW = {"dream"}


@pytest.mark.parametrize(
    "recipe", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in RECIPES]
)
def test_two_processes_train_and_measure_as_one(tmp_path: Path, recipe: str) -> None:
    data = data_of(recipe, tmp_path)
    states, tables = [], []
    for trainer in ("cpu", "ddp_cpu"):
        run = tmp_path / trainer
        overrides = [
            *data, *RECIPES[recipe], f"trainer={trainer}", "trainer.max_epochs=2",
            "trainer.enable_progress_bar=false", f"hydra.run.dir={run}", f"cache_dir={tmp_path / 'cache'}",
        ]  # fmt: skip
        train_as_command(overrides)
        states.append(state_of(run / "checkpoints/last.ckpt"))
        about = json.loads((run / "metrics.json").read_text())
        tables.append({**about["metrics"], "best": about["best"]})
    for name, value in states[0].items():
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(states[1][name], value, rtol=1e-4, atol=1e-6)
    assert tables[1] == pytest.approx(tables[0], rel=1e-5)
