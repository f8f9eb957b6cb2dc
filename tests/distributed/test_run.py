"""A whole run with ``trainer=ddp_cpu`` ends where one process ends."""

import json
from pathlib import Path

import pytest
import torch

from tests.child_processes import run_ranks
from tests.distributed.test_gradient_cache import without_dropout
from tests.helpers import config, state_of, toy_bitext, toy_labelled, toy_overrides, toy_sentences, train_as_command
from xsent.run import train

SGD = "recipe.optimizer={_target_: torch.optim.SGD, lr: 0.1, weight_decay: 0}"
RECIPES = {
    "oracle": "recipe=oracle encoder=tiny recipe.optimizer.lr=0.001",
    "dream": "recipe=dream encoder=tiny recipe.optimizer.lr=0.001",
    "labse": "recipe=labse encoder=tiny",
    "labse with LoRA": "recipe=labse encoder=mbert encoder.max_length=null recipe.lora.rank=2",
    # Mined from the whole mega-batch; every hard negative is one of every anchor, whichever device has it.
    "paraphrase": (
        "recipe=paraphrase recipe/paraphrase/loss=ams_all encoder=tiny recipe.freeze.embeddings=none"
        " recipe.mining.mini_batches=3 recipe.mining.both_sides=true"
        " callbacks.checkpoints.monitor=val/loss callbacks.checkpoints.mode=min"
    ),
    # The contrast and the ranking look at other devices' teacher vectors.
    "rolaser": (
        "recipe=rolaser recipe/rolaser/distillation=contrast encoder=tiny encoder.dim=256 recipe.teacher=micro"
        " recipe.projection=null recipe.preprocessing=none recipe.weights.clean=0.5 recipe.weights.ranking=0.5"
        " recipe.optimizer.lr=0.001 recipe.scheduler.warmup_steps=1"
    ),
    # The ranking looks at other devices' teacher vectors; word embeddings alone for three of eight steps.
    "transfer": (
        "recipe=transfer recipe.teacher=micro encoder=mbert encoder.max_length=null encoder.projection=256"
        " recipe.weights.ranking=0.5 recipe.unfreeze_step=3 recipe.embedding_lr=0.5 recipe.loss.distance=cos"
        " ~recipe.optimizer.eps"
    ),
}
DATA = {
    "rolaser": "data.global_batch_size=32 data.valid_share=0.1 data.test_share=0.1 pictures=null logger=none",
    "paraphrase": (
        "data=labelled data.global_batch_size=16 data.valid_share=0.2 data.test_share=0.2 pictures=null logger=none"
    ),
}


def overrides_of(recipe: str, trainer: str, tmp_path: Path) -> list[str]:
    if recipe in DATA:
        root = (toy_sentences if recipe == "rolaser" else toy_labelled)(tmp_path / "data")
        data = [f"data.root={root}", *DATA[recipe].split()]
    else:
        data = toy_overrides(toy_bitext(tmp_path / "data", pairs=150))
    options = [f"trainer={trainer}", "trainer.max_epochs=2", "trainer.enable_progress_bar=false"]
    optimizer = [SGD] if recipe in ("labse", "labse with LoRA", "paraphrase", "transfer") else []
    if "encoder=mbert" in RECIPES[recipe]:
        data.append(f"encoder.path={without_dropout(tmp_path / 'bert')}")
    return [*data, *RECIPES[recipe].split(), *optimizer, *options, f"cache_dir={tmp_path / 'cache'}"]


def train_once(folder: Path, overrides: list[str]) -> None:
    train(config("train", folder, *overrides))


def assert_equal_runs(expected: Path, run: Path) -> None:
    """Equal weights and figures of two run folders."""
    tables = []
    for folder in (expected, run):
        metrics = json.loads((folder / "metrics.json").read_text())
        tables.append({**metrics["metrics"], "best": metrics["best"]})
    # Margin gaps near 0 are differences of float32 scores, so their rounding is absolute.
    assert tables[1] == pytest.approx(tables[0], rel=1e-5, abs=1e-5)
    state = state_of(run / "checkpoints/last.ckpt")
    for name, value in state_of(expected / "checkpoints/last.ckpt").items():
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(state[name], value, rtol=1e-4, atol=1e-6)


QUICK = "labse"  # the others only in the slow set


@pytest.mark.parametrize(
    "recipe", [pytest.param(name, marks=[] if name == QUICK else pytest.mark.slow) for name in RECIPES]
)
def test_two_processes_train_and_measure_as_one(tmp_path: Path, recipe: str) -> None:
    train_once(tmp_path / "cpu", overrides_of(recipe, "cpu", tmp_path))
    run_ranks(2, train_once, tmp_path / "ddp", overrides_of(recipe, "ddp_cpu", tmp_path))
    assert_equal_runs(tmp_path / "cpu/run", tmp_path / "ddp/run")


@pytest.mark.slow
def test_the_command_starts_its_second_process_itself(tmp_path: Path) -> None:
    train_once(tmp_path / "cpu", overrides_of("oracle", "cpu", tmp_path))
    train_as_command([*overrides_of("oracle", "ddp_cpu", tmp_path), f"runs_dir={tmp_path}", "name=ddp"])
    assert_equal_runs(tmp_path / "cpu/run", tmp_path / "ddp")
