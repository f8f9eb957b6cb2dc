"""Killed at an arbitrary step and resumed, a run ends with the very weights of an uninterrupted one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.helpers import (
    ROOT,
    config,
    state_of,
    tiny_static,
    toy_bert,
    toy_bitext,
    toy_divergences,
    toy_labelled,
    toy_overrides,
    toy_sentences,
)
from xsent.run import train

# Kills its own process, as `kill -9` does, right after so many training batches.
KILLED = """
import os, signal, sys
from pathlib import Path
from tests.helpers import config
from xsent import callbacks
from xsent.run import train
after, tmp_path, *overrides = sys.argv[1:]
original = callbacks.Checkpoints.on_train_batch_end
def and_die(self, trainer, module, *rest):
    original(self, trainer, module, *rest)
    if module.batches_seen == int(after):
        os.kill(os.getpid(), signal.SIGKILL)
callbacks.Checkpoints.on_train_batch_end = and_die
train(config("train", Path(tmp_path), *overrides))
"""

WARM_UP = ["recipe.scheduler={_target_: xsent.recipes.schedules.linear_decay, _partial_: true, warmup_share: 0.2}"]
RECIPES = {
    "labse": ["recipe=labse", *tiny_static(), "recipe.optimizer.lr=0.01"],
    "oracle with meat": ["recipe=oracle", "encoder=mini", "recipe.optimizer.lr=0.001", *WARM_UP],
    "oracle with dream": ["recipe=oracle", "recipe.host=dream", "encoder=mini", "recipe.optimizer.lr=0.001", *WARM_UP],
}
# The word embeddings frozen, dropout, and a mega-batch of five batches that a kill falls into.
PARAPHRASE = [
    "recipe=paraphrase", "data=labelled", "data.global_batch_size=16", "data.valid_share=0.2", "pictures=none",
    "logger=none", "encoder=mbert", "encoder.max_length=null", "recipe.mining.mini_batches=5",
    "recipe.optimizer.lr=0.001", "callbacks.checkpoints.monitor=val/loss", "callbacks.checkpoints.mode=min",
    "callbacks.early_stopping.monitor=val/loss", "callbacks.early_stopping.mode=min",
]  # fmt: skip

# A projection of its own, dropout, and other noise in every epoch.
ROLASER = [
    "recipe=rolaser", "recipe.teacher=mini", "data.global_batch_size=32", "data.valid_share=0.1", "data.redraw=true",
    "pictures=none", "logger=none", "encoder=mbert", "encoder.max_length=null", "recipe.scheduler.warmup_steps=5",
]  # fmt: skip


DIVERGENCE = [
    "recipe=divergence", "data.train_seeds=25", "data.valid_seeds=4", "data.test_seeds=4", "data.global_batch_size=8",
    "logger=none", "encoder=mbert", "encoder.max_length=null", "recipe.max_length=32", "recipe.optimizer.lr=0.001",
]  # fmt: skip


def overrides_of(recipe: str, tmp_path: Path) -> list[str]:
    if recipe == "divergence":
        return [
            *DIVERGENCE,
            f"data.root={toy_divergences(tmp_path / 'd.jsonl')}",
            f"encoder.path={toy_bert(tmp_path / 'bert')}",
        ]
    if recipe == "rolaser":
        return [
            *ROLASER,
            f"data.root={toy_sentences(tmp_path / 'data')}",
            f"encoder.path={toy_bert(tmp_path / 'bert')}",
        ]
    if recipe != "paraphrase":
        return [*toy_overrides(toy_bitext(tmp_path / "data")), *RECIPES[recipe]]
    encoder = toy_bert(tmp_path / "bert")
    return [*PARAPHRASE, f"data.root={toy_labelled(tmp_path / 'data')}", f"encoder.path={encoder}"]


@pytest.mark.parametrize("recipe", [*RECIPES, "paraphrase", "rolaser", "divergence"])
# An epoch has 11 to 13 batches: in the middle of the first, on a saved step and behind it, in the second.
@pytest.mark.parametrize("killed_after", [7, 15])
def test_a_killed_run_resumes_to_bit_equal_weights(tmp_path: Path, recipe: str, killed_after: int) -> None:
    overrides = [
        *overrides_of(recipe, tmp_path), "trainer.max_epochs=3",
        "callbacks.checkpoints.every_n_batches=3", "evaluator=none", "trainer.enable_progress_bar=false",
    ]  # fmt: skip
    train(config("train", tmp_path / "whole", *overrides, f"cache_dir={tmp_path / 'cache'}"))
    expected = state_of(tmp_path / "whole/run/checkpoints/last.ckpt")

    killed = [*overrides, f"cache_dir={tmp_path / 'cache'}"]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(killed_after), str(tmp_path / "killed"), *killed],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    train(config("train", tmp_path / "killed", *killed, "ckpt_path=last"))
    found = state_of(tmp_path / "killed/run/checkpoints/last.ckpt")

    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(found[name], value), name
    moved = [v for v in expected.values() if isinstance(v, torch.Tensor)]
    assert any(v.abs().sum() > 0 for v in moved)


def test_a_run_with_other_options_is_not_resumed(tmp_path: Path) -> None:
    overrides = [
        *toy_overrides(toy_bitext(tmp_path / "data")), *RECIPES["labse"], "trainer.max_epochs=1", "evaluator=none",
    ]  # fmt: skip
    train(config("train", tmp_path, *overrides))
    with pytest.raises(ValueError, match=r"another recipe: recipe\.loss\.margin was 0\.3, is 0\.1"):
        train(config("train", tmp_path, *overrides, "recipe.loss.margin=0.1", "ckpt_path=last"))


def test_resuming_without_a_run_says_where_it_looked(tmp_path: Path) -> None:
    from xsent.run import newest_run_folder

    with pytest.raises(FileNotFoundError, match=r"ckpt_path=last: no .*labse/\*/checkpoints/last\.ckpt"):
        newest_run_folder(str(tmp_path), "labse", "last", "now")
