"""Checkpoint files: atomic writes, SHA-256 check, previous checkpoint kept."""

import logging
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import torch
from lightning_fabric.plugins.io.checkpoint_io import CheckpointIO

from xsent.files.atomic import atomic_path, write_text
from xsent.paths import sha256

log = logging.getLogger(__name__)


def hash_file(path: Path) -> Path:
    """File with the valid digests of ``path``: ``last.ckpt`` -> ``last.ckpt.sha256``."""
    return path.with_name(path.name + ".sha256")


def previous_file(path: Path) -> Path:
    """File with the checkpoint that ``path`` replaced."""
    return path.with_name(path.stem + ".previous" + path.suffix)


def save_checkpoint(checkpoint: dict[str, Any], path: Path) -> None:
    """Write ``checkpoint`` to ``path``; a complete checkpoint exists there at every moment.

    Raises:
        OSError: the disk is full or not writable; the file at ``path`` is unchanged.
    """
    try:
        with atomic_path(path, unique=False) as temporary:
            with temporary.open("wb") as file:
                _write(checkpoint, file)
            digests = [sha256(temporary)]
            if path.exists() and (digest := _intact_digest(path)) is not None:
                digests.append(digest)
                _copy_previous(path, digest)
            # The list of digests is written before the rename: a kill in between leaves a file whose digest it has.
            write_text(hash_file(path), "\n".join(digests) + "\n")
    except OSError as error:
        previous = f"the earlier checkpoint is unchanged: {path}" if path.exists() else "there was no earlier one"
        raise OSError(f"could not save a checkpoint to {path}: {error}; {previous}") from error


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint written by ``save_checkpoint``, on the CPU and without unpickling code.

    Raises:
        FileNotFoundError: there is none.
        ValueError: the file is truncated or altered, or holds more than tensors and plain values.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such checkpoint")
    if hash_file(path).is_file():
        digest, accepted = sha256(path), _recorded_digests(path)
        if digest not in accepted:
            expected = " or ".join(accepted) or f"none in {hash_file(path).name}"
            raise ValueError(
                f"{path}: truncated or altered: expected sha256 {expected}, found {digest}; {_advice(path)}"
            )
    else:
        log.warning("%s: no %s beside it; its checksums tell of accidents only", path, hash_file(path).name)
        _check_crc(path)
    try:
        checkpoint: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        # torch's own message advises to unpickle any code.
        reason = f"{type(error).__name__}: {str(error).partition('.')[0]}"
        raise ValueError(
            f"{path}: not a readable checkpoint of tensors and plain values ({reason}); {_advice(path)}"
        ) from error
    return checkpoint


class HashedCheckpointIO(CheckpointIO):
    """Lightning plugin for ``save_checkpoint`` and ``load_checkpoint``."""

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
        for file in (Path(path), previous_file(Path(path))):
            file.unlink(missing_ok=True)
            hash_file(file).unlink(missing_ok=True)


def _write(checkpoint: dict[str, Any], file: BinaryIO) -> None:
    try:
        torch.save(checkpoint, file)
    except RuntimeError as error:
        if isinstance(error.__context__, OSError):  # torch replaces the error of a full disk
            raise error.__context__ from None
        raise


def _recorded_digests(path: Path) -> list[str]:
    return hash_file(path).read_text(encoding="ascii", errors="replace").split() if hash_file(path).is_file() else []


def _intact_digest(path: Path) -> str | None:
    """Digest of a checkpoint that is about to be replaced; None if it is damaged, so not worth keeping."""
    digest, accepted = sha256(path), _recorded_digests(path)
    if hash_file(path).is_file() and digest not in accepted:
        log.warning("%s: truncated or altered, so it is not kept as %s", path, previous_file(path).name)
        return None
    return digest


def _copy_previous(path: Path, digest: str) -> None:
    copy = previous_file(path)
    with atomic_path(copy, unique=False) as temporary:
        try:
            temporary.hardlink_to(path)  # takes no space; the next rename separates the two
        except OSError:  # a file system without hard links
            shutil.copyfile(path, temporary)
        # Written before the rename, with the digest of the copy there, as in `save_checkpoint`.
        digests = dict.fromkeys([digest, *_recorded_digests(copy)[:1]])
        write_text(hash_file(copy), "\n".join(digests) + "\n")


def _check_crc(path: Path) -> None:
    """Raise ``ValueError`` if the content does not have the checksums inside the file, which torch does not compare."""
    if not zipfile.is_zipfile(path):
        return  # torch tells
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except Exception as error:  # of any type, from a damaged file
        damaged = str(error)
    if damaged is not None:
        raise ValueError(f"{path}: truncated or altered: wrong checksum ({damaged}); {_advice(path)}")


def _advice(path: Path) -> str:
    previous = previous_file(path)
    return f"the previous checkpoint may be intact: {previous}" if previous.is_file() else "there is no previous one"
