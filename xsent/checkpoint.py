"""Checkpoints that survive a crash: written beside the target, synced, hashed, the previous one kept."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from lightning_fabric.plugins.io.checkpoint_io import CheckpointIO

from xsent.paths import sha256

log = logging.getLogger(__name__)


def hash_file(path: Path) -> Path:
    """Where the digests that ``path`` may have are written: ``last.ckpt`` -> ``last.ckpt.sha256``."""
    return path.with_name(path.name + ".sha256")


def previous_file(path: Path) -> Path:
    """Where the checkpoint that ``path`` replaced is kept."""
    return path.with_name(path.stem + ".previous" + path.suffix)


def save_checkpoint(checkpoint: dict[str, Any], path: Path) -> None:
    """Write ``checkpoint`` to ``path``; at every moment a complete checkpoint lies there.

    Raises:
        OSError: the disk is full or not writable; what was at ``path`` is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("wb") as file:
            torch.save(checkpoint, file)
            file.flush()
            os.fsync(file.fileno())
        digests = [sha256(temporary)]
        if path.exists():
            digests.append(sha256(path))
            _keep(path, previous_file(path), digests[1])
        # The new digest is added before the file changes place: whenever we are killed, the file
        # that lies there has its digest in the list.
        _write_synced(hash_file(path), "\n".join(digests) + "\n")
        temporary.replace(path)
        _sync_folder(path.parent)
    except (OSError, RuntimeError) as error:  # torch reports a full disk as RuntimeError
        temporary.unlink(missing_ok=True)
        kept = f"the checkpoint that was there is intact: {path}" if path.exists() else "nothing was there before"
        raise OSError(f"could not save a checkpoint to {path}: {error}; {kept}") from error


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint written by ``save_checkpoint``, on the CPU and without unpickling code.

    Raises:
        FileNotFoundError: there is none.
        ValueError: the file is not what was written (truncated, altered), or holds more than tensors
            and plain values.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such checkpoint")
    if hash_file(path).is_file():
        found, accepted = sha256(path), hash_file(path).read_text().split()
        if found not in accepted:
            raise ValueError(
                f"{path}: truncated or altered: expected sha256 {' or '.join(accepted)}, found {found};"
                f" the one before it may be whole: {previous_file(path)}"
            )
    else:
        log.warning("%s: has no %s beside it, its content is not verified", path, hash_file(path).name)
    try:
        checkpoint: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ValueError(f"{path}: not a readable checkpoint of tensors and plain values: {error}") from error
    return checkpoint


class HashedCheckpointIO(CheckpointIO):
    """Lightning's way to ``save_checkpoint`` and ``load_checkpoint``."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | os.PathLike[str], storage_options: object = None
    ) -> None:
        save_checkpoint(checkpoint, Path(path))

    def load_checkpoint(
        self,
        path: str | os.PathLike[str],
        map_location: Callable[..., Any] | None = None,
        weights_only: bool | None = None,
    ) -> dict[str, Any]:
        return load_checkpoint(Path(path))

    def remove_checkpoint(self, path: str | os.PathLike[str]) -> None:
        for file in (Path(path), hash_file(Path(path)), previous_file(Path(path))):
            file.unlink(missing_ok=True)


def _keep(path: Path, copy: Path, digest: str) -> None:
    temporary = copy.with_name(copy.name + ".tmp")
    temporary.unlink(missing_ok=True)
    try:
        # A hard link is a copy that takes no space and no time; the next replace parts the two.
        temporary.hardlink_to(path)
    except OSError:  # a file system without hard links
        shutil.copyfile(path, temporary)
    temporary.replace(copy)
    _write_synced(hash_file(copy), digest + "\n")


def _write_synced(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
