"""Checkpoints are whole or refused."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from xsent.checkpoint import hash_file, load_checkpoint, previous_file, save_checkpoint


def test_what_is_saved_is_loaded_and_the_previous_checkpoint_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "last.ckpt"
    save_checkpoint({"x": torch.arange(3), "name": "a"}, path)
    save_checkpoint({"step": 2}, path)
    assert load_checkpoint(path) == {"step": 2}
    previous = load_checkpoint(previous_file(path))
    assert (previous["name"], previous["x"].tolist()) == ("a", [0, 1, 2])


@pytest.mark.parametrize("damage", ["truncated", "altered"])
def test_a_damaged_checkpoint_is_refused_with_both_hashes(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "last.ckpt"
    save_checkpoint({"x": torch.zeros(100)}, path)
    content = path.read_bytes()
    half, rest = content[: len(content) // 2], content[len(content) // 2 :]
    content = half if damage == "truncated" else half + bytes([rest[0] ^ 1]) + rest[1:]
    path.unlink()
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"last\.ckpt: truncated or altered: expected sha256 .* found"):
        load_checkpoint(path)


def test_a_full_disk_leaves_the_previous_checkpoint_intact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "last.ckpt"
    save_checkpoint({"step": 1}, path)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device.*unchanged"):
        save_checkpoint({"step": 2}, path)
    monkeypatch.undo()
    assert load_checkpoint(path) == {"step": 1}
    assert not list(tmp_path.glob("*.tmp"))


def test_killed_between_writing_the_hash_and_the_file_the_old_one_is_still_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "last.ckpt"
    save_checkpoint({"step": 1}, path)
    replace = Path.replace

    def killed(self: Path, target: Path) -> Path:
        if target == path:
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint({"step": 2}, path)
    monkeypatch.undo()
    assert len(hash_file(path).read_text().split()) == 2
    assert load_checkpoint(path) == {"step": 1}


def test_code_in_a_checkpoint_is_refused_and_a_missing_one_is_named(tmp_path: Path) -> None:
    torch.save({"x": os.system}, tmp_path / "foreign.ckpt")
    with pytest.raises(ValueError, match="not a readable checkpoint of tensors and plain values"):
        load_checkpoint(tmp_path / "foreign.ckpt")
    with pytest.raises(FileNotFoundError, match=r"no\.ckpt: no such checkpoint"):
        load_checkpoint(tmp_path / "no.ckpt")
