"""``trainer.max_steps`` ends a run anywhere with validation and checkpoint; ``max_epochs=0`` tests the start."""

import csv
import json
from pathlib import Path

import pytest
import torch

from tests.helpers import config, state_of
from tests.run.test_resume import RECIPES, WITH_BERT, overrides_of
from xsent.checkpoint import load_checkpoint, save_checkpoint
from xsent.config_checks import UsageError
from xsent.run import train

QUIET = "trainer.enable_progress_bar=false logger=csv"
EACH = [pytest.param(name, marks=[] if name == "labse" else pytest.mark.slow) for name in (*RECIPES, *WITH_BERT)]


def options(recipe: str, tmp_path: Path, *more: str) -> list[str]:
    return [*overrides_of(recipe, tmp_path), *QUIET.split(), f"cache_dir={tmp_path / 'cache'}", *more]


def epochs_with_validation(run: Path) -> list[tuple[int, int]]:
    """Step and epoch (from 0) of each ``val/loss`` in ``metrics.csv``."""
    with (run / "metrics.csv").open(newline="") as file:
        return [(int(row["step"]), int(row["epoch"])) for row in csv.DictReader(file) if row["name"] == "val/loss"]


def same_weights(first: Path, second: Path) -> bool:
    states = [state_of(path / "run/checkpoints/last.ckpt") for path in (first, second)]
    return states[0].keys() == states[1].keys() and all(
        torch.equal(value, states[1][name]) for name, value in states[0].items() if isinstance(value, torch.Tensor)
    )


@pytest.mark.parametrize("recipe", EACH)
def test_a_run_of_some_steps_is_validated_saved_and_goes_on_as_if_it_had_not_ended(tmp_path: Path, recipe: str) -> None:
    # A schedule depends on the number of steps, so the learning rate is constant here.
    overrides = options(recipe, tmp_path, "recipe.scheduler=null", "trainer.max_epochs=2", "evaluator=none")
    train(config("train", tmp_path / "whole", *overrides))
    per_epoch = json.loads((tmp_path / "whole/run/metrics.json").read_text())["batches"] // 2
    for steps in (5, per_epoch, per_epoch + 3):
        folder = tmp_path / str(steps)
        best = train(config("train", folder, *overrides, f"trainer.max_steps={steps}"))
        validated = epochs_with_validation(folder / "run")
        assert [epoch for _, epoch in validated] == list(range(1 + (steps > per_epoch)))
        assert validated[-1][0] == steps - 1  # the index of the last step
        about = json.loads((folder / "run/metrics.json").read_text())
        assert (about["batches"], about["epochs"], about["best"]) == (steps, len(validated), best)
        assert load_checkpoint(folder / "run/checkpoints/last.ckpt")["xsent"]["batches_seen"] == steps
        # Once more: nothing is left to train, and the result is the same.
        resumed = [*overrides, "ckpt_path=last"]
        assert train(config("train", folder, *resumed, f"trainer.max_steps={steps}")) == best
        train(config("train", folder, *resumed))
        assert same_weights(folder, tmp_path / "whole")


@pytest.mark.parametrize(
    ("recipe", "limit"),
    [
        ("labse", "trainer.max_epochs=0"),
        ("oracle with meat", "trainer.max_steps=0"),
        *(pytest.param(name, "trainer.max_epochs=0", marks=pytest.mark.slow) for name in (*RECIPES, *WITH_BERT)),
    ],
)
def test_a_run_without_training_tests_the_start(tmp_path: Path, recipe: str, limit: str) -> None:
    assert train(config("train", tmp_path, *options(recipe, tmp_path), "trainer.max_epochs=1", limit)) is None
    about = json.loads((tmp_path / "run/metrics.json").read_text())
    assert (about["batches"], about["epochs"], about["best"]) == (0, 0, None)
    assert about["metrics"]
    assert not about["before"]  # the figures are those before training
    assert (tmp_path / "run/report.html").is_file()
    header = (tmp_path / "run/results.md").read_text().splitlines()[0]
    assert header.startswith("| test | ")
    assert ("before training" in header) == (not recipe.startswith("oracle"))


def test_a_schedule_with_accumulated_gradients_ends_with_the_run(tmp_path: Path) -> None:
    accumulated = ["trainer.accumulate_grad_batches=5", "trainer.max_epochs=2", "evaluator=none"]
    schedule = "recipe.scheduler={_target_: xsent.recipes.schedules.linear_decay, _partial_: true, warmup_share: 0}"
    train(config("train", tmp_path, *options("labse", tmp_path, *accumulated, schedule)))
    (optimizer,) = load_checkpoint(tmp_path / "run/checkpoints/last.ckpt")["optimizer_states"]
    assert [group["lr"] for group in optimizer["param_groups"]] == [0]


def test_a_checkpoint_of_an_earlier_version_is_not_resumed(tmp_path: Path) -> None:
    overrides = options("labse", tmp_path, "trainer.max_epochs=1", "evaluator=none")
    train(config("train", tmp_path, *overrides))
    file = tmp_path / "run/checkpoints/last.ckpt"
    checkpoint = load_checkpoint(file)
    del checkpoint["xsent"]["start_digest"]
    save_checkpoint(checkpoint, file)
    with pytest.raises(UsageError, match="of an earlier version of xsent"):
        train(config("train", tmp_path, *overrides, "ckpt_path=last"))
