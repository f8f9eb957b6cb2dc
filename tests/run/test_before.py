"""Figures before training: those of the same evaluator for the start; training does not depend on them."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.helpers import config
from tests.run.test_resume import overrides_of
from xsent.checkpoint import load_checkpoint
from xsent.recipes.encoder_recipe import EncoderRecipe
from xsent.run import train

SLOW = ("rolaser", "divergence")
EACH = [pytest.param(name, marks=pytest.mark.slow if name in SLOW else []) for name in ("paraphrase", *SLOW)]
QUIET = ["trainer.enable_progress_bar=false", "trainer.max_epochs=1"]


def about_of(folder: Path) -> dict[str, Any]:
    about: dict[str, Any] = json.loads((folder / "run/metrics.json").read_text())
    return about


@pytest.mark.parametrize("recipe", EACH)  # with dropout
def test_the_start_is_scored_as_a_run_without_training_is_and_changes_no_weight(tmp_path: Path, recipe: str) -> None:
    overrides = [*overrides_of(recipe, tmp_path), *QUIET, f"cache_dir={tmp_path / 'cache'}"]
    for name, option in {"with": "true", "without": "false"}.items():
        train(config("train", tmp_path / name, *overrides, f"score_before={option}"))
    train(config("train", tmp_path / "start", *overrides, "trainer.max_epochs=0"))
    assert about_of(tmp_path / "with")["before"] == about_of(tmp_path / "start")["metrics"]
    assert about_of(tmp_path / "without")["before"] == {}
    checkpoints = [load_checkpoint(tmp_path / name / "run/checkpoints/last.ckpt") for name in ("with", "without")]
    weights, generators = zip(*((each["state_dict"], each["xsent"]["rng"]["cpu"]) for each in checkpoints), strict=True)
    assert torch.equal(*generators)
    assert weights[0].keys() == weights[1].keys()
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())


def test_a_table_has_the_figures_before_training_which_a_resumed_run_keeps_and_the_next_run_reuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    overrides = [*overrides_of("labse", tmp_path), *QUIET, f"cache_dir={tmp_path / 'cache'}"]
    train(config("train", tmp_path, *overrides))
    first = about_of(tmp_path)
    figures = [about["test/heldout/original/mean/accuracy"] for about in (first["before"], first["metrics"])]
    header, _, *rows = (tmp_path / "run/results.md").read_text().splitlines()
    assert header == "| test | before | trained | gap |"
    assert any(row.startswith("| heldout mean accuracy | {:.2f} | {:.2f} | ".format(*figures)) for row in rows)
    assert "test heldout mean accuracy {:.2f} -> {:.2f}".format(*figures) in caplog.text.splitlines()[-1]

    scored: list[str] = []
    evaluation = EncoderRecipe.evaluation

    def count(self: Any, *args: Any, sharded: bool) -> Any:
        scored.append("validation" if sharded else "test")
        return evaluation(self, *args, sharded=sharded)

    monkeypatch.setattr(EncoderRecipe, "evaluation", count)
    train(config("train", tmp_path, *overrides, "trainer.max_epochs=2", "ckpt_path=last"))
    train(config("train", tmp_path / "next", *overrides))
    assert scored == ["validation", "test"] * 2  # the start is not scored again
    assert about_of(tmp_path)["before"] == about_of(tmp_path / "next")["before"] == first["before"]
    assert "epoch 2 of 2, step" in caplog.text


def test_heads_on_a_frozen_encoder_have_the_figures_of_the_start_beside_theirs(tmp_path: Path) -> None:
    train(config("train", tmp_path, *overrides_of("oracle with dream", tmp_path), *QUIET))
    assert about_of(tmp_path)["before"] == {}
    header = (tmp_path / "run/results.md").read_text().splitlines()[0]
    assert header == "| test | original | gap | meaning | gap | language (lower is better) | gap |"
