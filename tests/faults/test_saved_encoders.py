"""Folders for ``save_encoder``: what is in them, and kills between the renames. Expected: no foreign file changes."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.child_processes import exit_code
from tests.faults.inject import contents
from tests.helpers import config, tiny_static, toy_bitext, toy_overrides
from tests.models.encoders.characters.test_static_characters import encoder_of
from xsent.config_checks import UsageError
from xsent.models.encoders.characters.static_characters import StaticCharacterEncoder
from xsent.recipes.encoder_folder import LIST, check_encoder_folder, save_encoder
from xsent.run import train


def digest_at(folder: Path) -> str:
    options: dict[str, Any] = {"dim": 1, "sizes": [1], "buckets": 1, "max_length": 1, "std": 1.0, "seed": 0}
    return StaticCharacterEncoder.load(name="characters", path=str(folder), **options).digest()


FOREIGN: dict[str, Callable[[Path], object]] = {
    "a file": lambda folder: (folder / "thesis.tex").write_text("years of work"),
    "a hidden file": lambda folder: (folder / ".env").write_text("years of work"),
    "a file deep below": lambda folder: write(folder / "a" / "b" / "thesis.tex"),
    "a repository": lambda folder: write(folder / ".git" / "HEAD"),
    "a run": lambda folder: write(folder / "checkpoints" / "last.ckpt"),
    "a model of others": lambda folder: write(folder / "model.safetensors"),
    "the config of others": lambda folder: write(folder / "config.json"),
    "a link to a file": lambda folder: (folder / "link").symlink_to("/etc/hostname"),
    "a link to a folder": lambda folder: (folder / "link").symlink_to("/etc"),
    "a dangling link": lambda folder: (folder / "link").symlink_to("nowhere"),
    "a list of files": lambda folder: (folder / LIST).write_text('["config.json"]'),
    "a list of nothing": lambda folder: (folder / LIST).write_text("[]"),
    "a list that is none": lambda folder: (folder / LIST).write_text('{"config.json": 1}'),
    "a deep list": lambda folder: (folder / LIST).write_text("[" * 100_000),
    "a list without text": lambda folder: (folder / LIST).write_bytes(b"\xff\xfe"),
}


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("years of work")


ROWS = [(kind, with_encoder) for kind in FOREIGN for with_encoder in (False, True)]
ROWS.remove(("the config of others", True))  # an encoder has one of its own


@pytest.mark.parametrize(("kind", "with_encoder"), ROWS)
def test_a_folder_with_something_else_is_refused_and_unchanged(kind: str, with_encoder: bool, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    if with_encoder:
        save_encoder(encoder_of(), folder)
    folder.mkdir(exist_ok=True)
    FOREIGN[kind](folder)
    before = contents(tmp_path)
    for attempt in (check_encoder_folder, partial(save_encoder, encoder_of(seed=1))):
        with pytest.raises(UsageError, match=f"{folder}: expected no folder, an empty one or an encoder") as error:
            attempt(folder)
        assert "\n" not in str(error.value)
        assert contents(tmp_path) == before


@pytest.mark.parametrize("kind", ["a file", "a link to a file", "a dangling link"])
def test_a_file_under_the_name_is_refused_and_unchanged(kind: str, tmp_path: Path) -> None:
    folder, file = tmp_path / "model", tmp_path / "thesis.tex"
    file.write_text("years of work")
    if kind == "a file":
        file.rename(folder)
    else:
        folder.symlink_to(file if kind == "a link to a file" else tmp_path / "nowhere")
    before = contents(tmp_path)
    with pytest.raises(UsageError, match=f"{folder}: expected a folder"):
        save_encoder(encoder_of(), folder)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("kind", ["none", "empty", "earlier encoder", "earlier encoder with fewer files", "link"])
def test_a_folder_for_an_encoder_gets_exactly_its_files(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "model"
    if kind == "empty":
        folder.mkdir(parents=True)
    elif kind == "link":
        (tmp_path / "target").mkdir()
        folder.parent.mkdir()
        folder.symlink_to(tmp_path / "target")
    elif kind != "none":
        save_encoder(encoder_of(seed=5), folder)
        if kind.endswith("fewer files"):
            (folder / "config.json").unlink()
    save_encoder(encoder_of(seed=1), folder)
    reference = tmp_path / "reference"
    encoder_of(seed=1).save(reference)
    assert digest_at(folder) == digest_at(reference)
    names = {path.name for path in folder.iterdir()}
    assert names == {path.name for path in reference.iterdir()} | {LIST} == set(json.loads((folder / LIST).read_text()))
    assert not list(tmp_path.rglob("*.tmp"))


def save_and_die(folder: Path, renames: int) -> None:
    """Save over an encoder and end as ``kill -9`` does before a rename."""
    calls, rename = 0, os.rename

    def dying_rename(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == renames:
            os.kill(os.getpid(), signal.SIGKILL)
        rename(*arguments)

    vars(os)["rename"] = dying_rename
    save_encoder(encoder_of(seed=2), folder)


@pytest.mark.parametrize("renames", [1, 2])
def test_after_a_kill_the_next_call_has_the_earlier_encoder_or_writes_the_new_one(renames: int, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_encoder(encoder_of(seed=1), folder)
    earlier = digest_at(folder)
    assert exit_code(save_and_die, folder, renames) == -signal.SIGKILL
    kept = folder if renames == 1 else tmp_path / "model.tmp" / "earlier"
    assert digest_at(kept) == earlier
    save_encoder(encoder_of(seed=2), folder)
    encoder_of(seed=2).save(tmp_path / "reference")
    assert digest_at(folder) == digest_at(tmp_path / "reference")
    shutil.rmtree(tmp_path / "reference")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_training_is_refused_before_it_starts(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    write(folder / "mine" / "vectors.safetensors")
    before = contents(folder)
    overrides = [*toy_overrides(toy_bitext(tmp_path / "data")), "recipe=labse", *tiny_static(), "trainer.max_epochs=1"]
    with pytest.raises(UsageError, match=f"{folder}: expected no folder, an empty one or an encoder"):
        train(config("train", tmp_path, *overrides, f"save_encoder={folder}"))
    assert contents(folder) == before
    assert not (tmp_path / "run" / "checkpoints").exists()
    assert not (tmp_path / "cache").exists()
