"""A run that is killed and resumed ends with exactly the weights of an uninterrupted run."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.child_processes import exit_code
from tests.helpers import (
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
from xsent import callbacks
from xsent.run import train


def train_and_kill(after: int, tmp_path: Path, overrides: list[str]) -> None:
    """Train until ``after`` batches, then end this process as ``kill -9`` does."""
    original = callbacks.Checkpoints.on_train_batch_end

    def save_and_die(self: Any, trainer: Any, module: Any, *rest: Any) -> None:
        original(self, trainer, module, *rest)
        if module.batches_seen == after:
            os.kill(os.getpid(), signal.SIGKILL)

    callbacks.Checkpoints.on_train_batch_end = save_and_die  # type: ignore[method-assign]
    train(config("train", tmp_path, *overrides))


WARM_UP = ["recipe.scheduler={_target_: xsent.recipes.schedules.linear_decay, _partial_: true, warmup_share: 0.2}"]
RECIPES = {
    "labse": ["recipe=labse", *tiny_static(), "recipe.optimizer.lr=0.01"],
    "oracle with meat": ["recipe=oracle", "encoder=micro", "recipe.optimizer.lr=0.001", *WARM_UP],
    "oracle with dream": ["recipe=oracle", "recipe.host=dream", "encoder=micro", "recipe.optimizer.lr=0.001", *WARM_UP],
}
TOY_BERT = "encoder=mbert encoder.max_length=null pictures=null logger=none"
# Frozen word embeddings, dropout; the kills are inside mega-batches of five batches.
PARAPHRASE = (
    f"{TOY_BERT} recipe=paraphrase data=labelled data.global_batch_size=16 data.valid_share=0.2"
    " recipe.mining.mini_batches=5 recipe.optimizer.lr=0.001"
    " callbacks.checkpoints.monitor=val/loss callbacks.checkpoints.mode=min"
    " callbacks.early_stopping.monitor=val/loss callbacks.early_stopping.mode=min"
)
# Trained projection, dropout, new noise in every epoch.
ROLASER = (
    f"{TOY_BERT} recipe=rolaser recipe.teacher=micro data.global_batch_size=32 data.valid_share=0.1 data.redraw=true"
    " recipe.scheduler.warmup_steps=5"
)
DIVERGENCE = (
    f"{TOY_BERT} recipe=divergence data.train_seeds=25 data.valid_seeds=4 data.test_seeds=4 data.global_batch_size=8"
    " recipe/divergence/judge=cross_encoder recipe.judge.max_length=32 recipe.optimizer.lr=0.001"
)
# Adapters with a dropout of their own, beside the transformer's.
LORA = f"{TOY_BERT} recipe=labse data=bitext data.global_batch_size=64 recipe.lora.rank=2 recipe.lora.dropout=0.1"
ALIGNMENT = (
    "encoder=micro recipe=divergence data.train_seeds=90 data.valid_seeds=8 data.test_seeds=8 data.global_batch_size=8"
    " pictures=null logger=none"
)
WITH_BERT = {
    "labse with LoRA": (LORA, toy_bitext),
    "paraphrase": (PARAPHRASE, toy_labelled),
    "rolaser": (ROLASER, toy_sentences),
    "divergence": (DIVERGENCE, toy_divergences),
}


def overrides_of(recipe: str, tmp_path: Path) -> list[str]:
    if recipe in RECIPES:
        return [*toy_overrides(toy_bitext(tmp_path / "data")), *RECIPES[recipe]]
    if recipe == "divergence with alignment":
        return [*ALIGNMENT.split(), f"data.root={toy_divergences(tmp_path / 'data')}"]
    options, make_data = WITH_BERT[recipe]
    root, encoder = make_data(tmp_path / "data"), toy_bert(tmp_path / "bert")
    return [*options.split(), f"data.root={root}", f"encoder.path={encoder}"]


# tests/faults/test_training_kills.py has every recipe as it is; here both hosts of ORACLE with a warm-up, the alignment
# judge, and adapters.
EACH = ["oracle with meat", "oracle with dream", "divergence with alignment", "labse with LoRA"]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", EACH)
def test_a_run_killed_twice_ends_with_the_weights_of_an_unbroken_run(tmp_path: Path, recipe: str) -> None:
    options = (
        "trainer.max_epochs=2 callbacks.checkpoints.every_n_batches=3 evaluator=none trainer.enable_progress_bar=false"
    )
    overrides = [*overrides_of(recipe, tmp_path), *options.split(), f"cache_dir={tmp_path / 'cache'}"]
    train(config("train", tmp_path / "unbroken", *overrides))
    expected = state_of(tmp_path / "unbroken/run/checkpoints/last.ckpt")

    killed, resumed = tmp_path / "killed", [*overrides, "ckpt_path=last"]
    # An epoch has 11 to 13 batches: kill in the first between two checkpoints, in the second right after one.
    assert exit_code(train_and_kill, 7, killed, overrides) == -signal.SIGKILL
    assert exit_code(train_and_kill, 15, killed, resumed) == -signal.SIGKILL
    train(config("train", killed, *resumed))
    state = state_of(killed / "run/checkpoints/last.ckpt")

    assert state.keys() == expected.keys()
    tensors = {name: value for name, value in expected.items() if isinstance(value, torch.Tensor)}
    for name, value in tensors.items():
        assert torch.equal(state[name], value), name
    assert any(value.abs().sum() > 0 for value in tensors.values())


def test_a_run_with_other_options_is_not_resumed(tmp_path: Path) -> None:
    overrides = [*overrides_of("labse", tmp_path), "trainer.max_epochs=1", "evaluator=none"]
    train(config("train", tmp_path, *overrides))
    with pytest.raises(ValueError, match=r"another recipe: recipe\.loss\.margin was 0\.3, is 0\.1"):
        train(config("train", tmp_path, *overrides, "recipe.loss.margin=0.1", "ckpt_path=last"))
