"""Frozen layers in training. Training with LoRA: what a checkpoint holds, the saved encoder, another base model."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import xsent
from tests.helpers import config, state_of, toy_bert, toy_bitext, toy_overrides
from tests.models.small import load_encoder
from xsent.checkpoint import load_checkpoint
from xsent.recipes.labse import LabseRecipe
from xsent.run import train

pytest.importorskip("peft", reason="needs peft: pip install 'xsent[lora]'")

TEXTS = ["eak ebl", "dcm ddn dep", "fak"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with adapters, in ``run``; its encoder before training in ``bert``, and saved in ``saved``."""
    folder = tmp_path_factory.mktemp("lora")
    bitext, bert = toy_bitext(folder / "data", pairs=60), toy_bert(folder / "bert")
    encoder = ["encoder=mbert", f"encoder.path={bert}", "encoder.max_length=null"]
    options = ["recipe=labse", "recipe.lora.rank=2", "recipe.optimizer.lr=0.01", "recipe.micro_batch_size=8"]
    saved = f"save_encoder={folder / 'saved'}"
    train(config("train", folder, *toy_overrides(bitext), *encoder, *options, saved, "trainer.max_epochs=1"))
    return folder


def test_a_checkpoint_holds_adapters_alone(folder: Path) -> None:
    names = state_of(folder / "run/checkpoints/last.ckpt")
    assert len(names) == 2 * 6 * 2  # layers, linear layers of each, A and B
    assert all(".lora_A." in name or ".lora_B." in name for name in names)
    optimizer = load_checkpoint(folder / "run/checkpoints/last.ckpt")["optimizer_states"][0]
    assert len(optimizer["state"]) == len(names)


def test_the_saved_encoder_and_the_loaded_run_are_plain_encoders_with_the_trained_vectors(folder: Path) -> None:
    trained: Any = xsent.load_encoder(folder / "run/checkpoints/last.ckpt")
    saved, start = load_encoder(folder / "saved"), load_encoder(folder / "bert", pooling="mean", normalize=False)
    assert trained.state_dict().keys() == saved.state_dict().keys() == start.state_dict().keys()
    torch.testing.assert_close(saved.encode(TEXTS), xsent.load_encoder(folder / "run").encode(TEXTS))
    assert not torch.allclose(trained.encode(TEXTS), start.encode(TEXTS), atol=1e-3)
    assert not [path for path in (folder / "saved").iterdir() if "adapter" in path.name]


def test_adapters_are_refused_by_another_base_model(folder: Path) -> None:
    checkpoint = load_checkpoint(folder / "run/checkpoints/last.ckpt")
    encoder = load_encoder(folder / "bert", pooling="mean", normalize=False)
    with torch.no_grad():
        encoder.get_parameter("transformer.encoder.layer.0.attention.self.key.weight")[0, 0] += 1e-3
    with pytest.raises(ValueError, match=r"trained on top of frozen weights with digest .* another base model"):
        LabseRecipe.trained_model(encoder, checkpoint)


def test_an_encoder_without_a_transformer_is_named_before_data_are_read(tmp_path: Path) -> None:
    options = toy_overrides(tmp_path / "no such folder", "recipe=labse", "encoder=static", "recipe.lora.rank=2")
    with pytest.raises(ValueError, match=r"recipe\.lora\.rank=2: encoder static is no transformer"):
        train(config("train", tmp_path, *options))


def test_frozen_layers_train_in_evaluation_mode_and_nobody_warns_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: dict[str, bool] = {}
    step = LabseRecipe.training_step

    def training_step(recipe: LabseRecipe, batch: Any, batch_idx: int) -> torch.Tensor:
        modes.update((name, module.training) for name, module in recipe.encoder.named_modules())
        return step(recipe, batch, batch_idx)

    monkeypatch.setattr(LabseRecipe, "training_step", training_step)
    encoder = ["encoder=mbert", f"encoder.path={toy_bert(tmp_path / 'bert')}", "encoder.max_length=null"]
    options = ["recipe=labse", "recipe.freeze.layers=1", "trainer.max_steps=1", "evaluator=none", *encoder]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*eval mode.*")
        train(config("train", tmp_path, *toy_overrides(toy_bitext(tmp_path / "data", pairs=60)), *options))
    layers = "transformer.encoder.layer."
    assert not any(is_on for name, is_on in modes.items() if name.startswith((layers + "0", "transformer.embeddings")))
    assert all(is_on for name, is_on in modes.items() if name.startswith(layers + "1"))
