"""Damaged checkpoints, with and without their digests.

Expected: the values of the undamaged checkpoint, or one line that names the file and the previous checkpoint, which
loads; never other values, and no file changes.
"""

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.faults.inject import KINDS, Damage, contents, damages, outcome
from tests.faults.test_disks import command
from tests.helpers import config, state_of, tiny_static, toy_bitext, toy_overrides
from xsent.checkpoint import HashedCheckpointIO, hash_file, load_checkpoint, previous_file, save_checkpoint
from xsent.paths import sha256
from xsent.run import train

FILES = ("last.ckpt", "last.ckpt.sha256", "last.previous.ckpt", "last.previous.ckpt.sha256")


def state(step: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(step)
    weights = {f"layer{number}": torch.randn(40, 30, generator=generator) for number in range(4)}
    config = {"recipe": {"name": "labse", "values": [1, 2.5, None]}, "step": step}
    return {"state_dict": weights, "xsent": {"config": config, "text": "äöü" * 20}}


def are_equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(are_equal(a[key], b[key]) for key in a)
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else bool(a == b)


@pytest.fixture(scope="module")
def folder_of_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    for step in (1, 2):
        save_checkpoint(state(step), folder / "last.ckpt")
    return folder


@pytest.fixture
def last(folder_of_two: Path, tmp_path: Path) -> Path:
    """``last.ckpt`` of step 2, its previous one of step 1, and the digests of both."""
    for name in FILES:
        shutil.copy(folder_of_two / name, tmp_path / name)
    return tmp_path / "last.ckpt"


def check_refusal(error: object, path: Path) -> None:
    assert isinstance(error, ValueError)
    assert str(error).startswith(f"{path}: ")
    assert "\n" not in str(error)


def check_previous_is_offered(error: object, path: Path) -> None:
    check_refusal(error, path)
    assert str(previous_file(path)) in str(error)
    assert are_equal(load_checkpoint(previous_file(path)), state(1))


# ---- bytes


@pytest.mark.parametrize("damage", damages(240, seed=5))
def test_a_damaged_checkpoint_is_refused_and_the_previous_one_loads(damage: Damage, last: Path) -> None:
    damage.apply(last)
    before = contents(last.parent)
    error = outcome(lambda: load_checkpoint(last), ValueError)
    check_previous_is_offered(error, last)
    assert f"expected sha256 {hash_file(last).read_text().split()[0]}" in str(error)
    assert f"found {sha256(last)}" in str(error)
    assert contents(last.parent) == before


@pytest.mark.parametrize("damage", damages(240, seed=6))
def test_without_its_digest_a_damaged_checkpoint_never_loads_other_values(damage: Damage, last: Path) -> None:
    hash_file(last).unlink()
    damage.apply(last)
    found = outcome(lambda: load_checkpoint(last), ValueError)
    if isinstance(found, ValueError):
        check_previous_is_offered(found, last)
    else:  # bytes between and behind the records
        assert are_equal(found, state(2))


@pytest.mark.parametrize("damage", damages(60, seed=7))
def test_damaged_digests_refuse_the_checkpoint_or_name_it_still(damage: Damage, last: Path) -> None:
    damage.apply(hash_file(last))
    found = outcome(lambda: load_checkpoint(last), ValueError)
    if isinstance(found, ValueError):
        check_previous_is_offered(found, last)
        assert sha256(last) in str(found)
    else:  # the second digest, of the previous file, has no part in it
        assert are_equal(found, state(2))


@pytest.mark.parametrize("damage", damages(60, seed=8))
def test_a_damaged_previous_checkpoint_is_refused_too(damage: Damage, last: Path) -> None:
    previous = previous_file(last)
    damage.apply(previous)
    error = outcome(lambda: load_checkpoint(previous), ValueError)
    check_refusal(error, previous)
    assert "there is no previous one" in str(error)
    assert are_equal(load_checkpoint(last), state(2))


@pytest.mark.parametrize("damage", damages(30, seed=9))
def test_a_damaged_checkpoint_never_becomes_the_previous_one(
    damage: Damage, last: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damage.apply(last)
    with caplog.at_level(logging.WARNING):
        save_checkpoint(state(3), last)
    assert f"{last}: truncated or altered, so it is not kept as last.previous.ckpt" in caplog.text
    assert are_equal(load_checkpoint(last), state(3))
    assert are_equal(load_checkpoint(previous_file(last)), state(1))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("other", FILES)
def test_a_checkpoint_with_the_content_of_another_file_is_refused(name: str, other: str, last: Path) -> None:
    if name != other:
        shutil.copy(last.parent / other, last.parent / name)
    path = last if name.startswith("last.ckpt") else previous_file(last)
    found = outcome(lambda: load_checkpoint(path), ValueError)
    # The digests of `last.ckpt` cover the previous file, too: a kill between two writes may leave it under this name.
    is_known = name == other or (name, other) in (
        ("last.ckpt", "last.previous.ckpt"),
        ("last.previous.ckpt.sha256", "last.ckpt.sha256"),
    )
    if is_known:
        assert are_equal(found, state(2 if name == other and path == last else 1))
    else:
        check_refusal(found, path)


# ---- other content


def write_code(path: Path) -> None:
    torch.save({"xsent": os.system}, path)


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


OTHER: dict[str, tuple[Callable[[Path], object], str]] = {
    "gone": (Path.unlink, "no such checkpoint"),
    "a folder": (make_folder, "no such checkpoint"),
    "a dangling link": (make_link, "no such checkpoint"),
    "no bytes": (lambda path: path.write_bytes(b""), "not a readable checkpoint"),
    "text": (lambda path: path.write_text("weights"), "not a readable checkpoint"),
    "zeros": (lambda path: path.write_bytes(bytes(10_000)), "not a readable checkpoint"),
    "code": (write_code, "not a readable checkpoint of tensors and plain values"),
    "code in an old format": (
        lambda path: torch.save({"xsent": os.system}, path, _use_new_zipfile_serialization=False),
        "not a readable checkpoint of tensors and plain values",
    ),
}


@pytest.mark.parametrize("kind", OTHER)
@pytest.mark.parametrize("has_digest", [True, False])
def test_what_is_no_checkpoint_is_named(kind: str, has_digest: bool, last: Path) -> None:
    make, message = OTHER[kind]
    make(last)
    if not has_digest:
        hash_file(last).unlink()
    is_file = last.is_file()
    expected = r"truncated or altered: expected sha256" if has_digest and is_file else message
    with pytest.raises(ValueError if is_file else FileNotFoundError, match=f"{last}: {expected}"):
        load_checkpoint(last)
    assert are_equal(load_checkpoint(previous_file(last)), state(1))


def test_removing_a_checkpoint_leaves_no_file_of_it(last: Path) -> None:
    HashedCheckpointIO().remove_checkpoint(last)
    assert not list(last.parent.iterdir())


# ---- every command that reads a run


class Run:
    """A short training: ``last.ckpt`` and ``last.previous.ckpt`` are of two batches, ``best.ckpt`` is beside them."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.overrides = [
            *toy_overrides(toy_bitext(folder / "data")),
            "recipe=labse",
            *tiny_static(),
            "trainer.max_epochs=2",
            "evaluator=none",
            "callbacks.checkpoints.every_n_batches=2",
        ]
        (folder / "text.txt").write_text("a sentence\n")
        train(config("train", folder, *self.overrides))

    @property
    def folder(self) -> Path:
        return self.home / "run"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("trained"))


def resume(run: Run, home: Path, name: str) -> None:
    train(config("train", home, *run.overrides, f"ckpt_path={home / 'run' / 'checkpoints' / name}"))


def load(run: Run, home: Path, name: str) -> None:
    import xsent

    xsent.load_encoder(home / "run" / "checkpoints" / name)


def encode(run: Run, home: Path, name: str) -> None:
    words = ["-o", str(home / "vectors.npy"), "--encoder", str(home / "run" / "checkpoints" / name)]
    command("encode", str(run.home / "text.txt"), *words)


def export(run: Run, home: Path, name: str) -> None:
    command("export", str(home / "run" / "checkpoints" / name), "-o", str(home / "exported"))


def mine(run: Run, home: Path, name: str) -> None:
    sides = [str(run.home / "data" / f"en-{lang}.tsv") for lang in ("de", "fr")]
    command("mine", *sides, "-o", str(home / "mined.tsv"), "--encoder", str(home / "run" / "checkpoints" / name))


CONSUMERS = {function.__name__: function for function in (resume, load, encode, export, mine)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["last.ckpt", "best.ckpt"])
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_every_reader_of_a_run_refuses_a_damaged_checkpoint_and_writes_nothing(
    consumer: str, name: str, kind: str, trained: Run, tmp_path: Path
) -> None:
    shutil.copytree(trained.folder, tmp_path / "run")
    path = tmp_path / "run" / "checkpoints" / name
    Damage(kind, 0.6, 1).apply(path)
    before = contents(tmp_path)
    error = outcome(lambda: CONSUMERS[consumer](trained, tmp_path, name), ValueError)
    check_refusal(error, path)
    assert contents(tmp_path) == before


def test_a_run_goes_on_from_the_previous_checkpoint_and_ends_with_the_same_weights(
    trained: Run, tmp_path: Path
) -> None:
    shutil.copytree(trained.folder, tmp_path / "run")
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    Damage("random block", 0.5, 1).apply(last)
    error = outcome(lambda: resume(trained, tmp_path, "last.ckpt"), ValueError)
    check_refusal(error, last)
    assert str(previous_file(last)) in str(error)
    resume(trained, tmp_path, "last.previous.ckpt")
    expected = state_of(trained.folder / "checkpoints" / "last.ckpt")
    assert are_equal(state_of(last), expected)
