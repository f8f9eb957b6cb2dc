"""Checkpoints and run folders by strangers: a load builds encoder and heads, runs no code and writes no file."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import xsent
from tests.helpers import toy_bert
from xsent.checkpoint import save_checkpoint
from xsent.models.encoders.disentangled import DisentanglingHeads
from xsent.run import load_config

SENTENCE = "A dog sleeps."


# Subclasses, because transformers marks the classes that it loads.
OWN_CODE = """
from transformers import BertConfig, BertModel
open({marker!r}, "w").close()

class Settings(BertConfig):
    model_type = "own"

class Model(BertModel):
    config_class = Settings
"""


@pytest.fixture(scope="module")
def honest() -> dict[str, Any]:
    """A checkpoint of ``recipe=oracle`` on ``mini``."""
    options = ["recipe=oracle", "encoder=mini", "data=cldr", "run_dir=run"]
    encoder = xsent.load_encoder("mini")
    heads = {f"heads.{name}": value for name, value in DisentanglingHeads(256, []).state_dict().items()}
    state = {"config": load_config("train", options), "frozen_encoder": encoder.digest()}
    return {"state_dict": heads, "xsent": state}


@pytest.fixture
def checkpoint(honest: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(honest)


def saved(checkpoint: dict[str, Any], folder: Path) -> Path:
    save_checkpoint(checkpoint, folder / "run/checkpoints/best.ckpt")
    return folder / "run"


def own_code(folder: Path) -> Path:
    """A transformer with Python code of its own, which leaves the file ``marker`` beside it."""
    toy_bert(folder)
    settings = json.loads((folder / "config.json").read_text())
    settings |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Settings", "AutoModel": "own.Model"}}
    (folder / "config.json").write_text(json.dumps(settings))
    marker = folder.parent / "marker"
    (folder / "own.py").write_text(OWN_CODE.format(marker=str(marker)))
    return folder


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    """A folder that no load may change, beside which no load may leave the file ``marker``."""
    folder = tmp_path / "canary/folder"
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("all of it")
    yield folder
    assert [path.name for path in folder.parent.rglob("*")] == ["folder", "thesis.txt"]
    assert (folder / "thesis.txt").read_text() == "all of it"
    assert not (tmp_path / "marker").exists()


def transformer_config(folder: Path, **options: Any) -> dict[str, Any]:
    config = load_config("train", ["recipe=labse", "encoder=mbert", "data=cldr", "run_dir=run"])["encoder"]
    return {**config, "name": "own", "path": str(folder), "revision": None, "max_length": 32, **options}


@pytest.mark.parametrize("trusts", [True, False])
def test_what_a_run_says_never_allows_code_of_its_own(
    checkpoint: dict[str, Any], tmp_path: Path, canary: Path, trusts: bool
) -> None:
    folder = own_code(tmp_path / "own")
    checkpoint["xsent"]["config"]["encoder"] = transformer_config(folder, trust_remote_code=trusts)
    checkpoint["xsent"]["config"]["trust_remote_code"] = trusts
    with pytest.raises(
        ValueError, match=r"^encoder own needs Python code of its own .* allow it: trust_remote_code=tr"
    ):
        xsent.load_encoder(saved(checkpoint, tmp_path))


def test_the_caller_may_allow_it(checkpoint: dict[str, Any], tmp_path: Path) -> None:
    checkpoint["xsent"]["config"]["encoder"] = transformer_config(own_code(tmp_path / "own"), trust_remote_code=False)
    with pytest.raises(ValueError, match="the heads were trained on an encoder with"):
        xsent.load_encoder(saved(checkpoint, tmp_path), trust_remote_code=True)
    assert (tmp_path / "marker").exists()


def test_a_function_that_empties_a_folder_is_no_encoder(
    checkpoint: dict[str, Any], tmp_path: Path, canary: Path
) -> None:
    path: dict[str, Any] = {"_target_": "xsent.models.model_files.model_folder", "name": "x", "path": str(tmp_path)}
    path |= {"revision": None, "trust_remote_code": None, "own_architecture": True}
    target = {"_target_": "xsent.data.stores.array_cache.cached_arrays", "cache_dir": path, "make": None}
    checkpoint["xsent"]["config"]["encoder"] = target | {"kind": "canary", "key": "folder"}
    with pytest.raises(ValueError, match=r"encoder\._target_: .*cached_arrays may not be built from a config here"):
        xsent.load_encoder(saved(checkpoint, tmp_path))
