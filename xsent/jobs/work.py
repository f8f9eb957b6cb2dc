"""The folder a long job works in: sealed shards of arrays and a manifest of what they were made from."""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import DTypeLike, NDArray

from xsent.data.store import cached_arrays

log = logging.getLogger(__name__)

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True)
class WorkFolder:
    """Shards by kind and number, each a folder of ``.npy`` files that is there as a whole or not at all.

    A shard is written beside its place and renamed, its SHA-256 in it. What a killed process left half-done
    is swept away; a shard that was cut short or altered is named in the log and made again.
    """

    path: Path

    def make(self, kind: str, number: int, write: Callable[[Path], None]) -> None:
        """Have ``write`` fill the shard's folder, unless that is done and undamaged.

        Raises:
            OSError: the disk is full; names the shard and what is free.
        """
        with naming_a_full_disk(self.path / kind):
            cached_arrays(self.path, kind, _key(number), write)

    def array(self, kind: str, number: int, name: str) -> NDArray[np.generic]:
        """An array of a shard that was made, mapped read-only."""
        file = self.path / kind / _key(number) / f"{name}.npy"
        array: NDArray[np.generic] = np.load(file, mmap_mode="r", allow_pickle=False)
        return array

    def size(self, kind: str = "") -> int:
        """Bytes of the shards of a kind, or of all files."""
        return sum(file.stat().st_size for file in (self.path / kind).rglob("*") if file.is_file())

    def remove(self) -> None:
        """Delete the folder and all that is in it."""
        shutil.rmtree(self.path)


def _key(number: int) -> str:
    return f"{number:06d}"


@contextmanager
def opened(path: Path, manifest: Mapping[str, object]) -> Iterator[WorkFolder]:
    """The work folder of a job, for this process alone: a new one, or one whose manifest says the same.

    Args:
        path: need not exist; its parent must.
        manifest: plain values; everything that decides what the shards hold.

    Raises:
        BlockingIOError: another process works in it.
        ValueError: it was made from something else, named with both values; or it is no work folder.
    """
    path.mkdir(exist_ok=True)
    lock = FileLock(path.with_name(f"{path.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise BlockingIOError(f"{path}: another process works in this folder; wait for it, or name another") from None
    try:
        _same_manifest(path, json.loads(json.dumps(manifest)))
        try:
            yield WorkFolder(path)
        finally:
            # From here on the folder is ours; where nothing was finished there is nothing to come back for.
            if not any(path.glob("*/*/sha256.json")):
                shutil.rmtree(path, ignore_errors=True)
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _same_manifest(path: Path, manifest: dict[str, object]) -> None:
    file = path / "manifest.json"
    if not file.is_file():
        # A manifest cut short by a kill lies beside its place; anything else is somebody's file.
        foreign = [other.name for other in path.iterdir() if other.name != "manifest.json.tmp"]
        if foreign:
            raise ValueError(
                f"{path}: expected a new folder or one of this job, found {foreign[0]} and no manifest.json"
            )
        with naming_a_full_disk(file):
            temporary = file.with_name("manifest.json.tmp")
            temporary.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            temporary.replace(file)
        return
    before = json.loads(file.read_text(encoding="utf-8"))
    names = sorted(before.keys() | manifest.keys())
    changed = [
        f"{name} was {before.get(name)!r}, is {manifest.get(name)!r}"
        for name in names
        if before.get(name) != manifest.get(name)
    ]
    if changed:
        raise ValueError(
            f"{path}: holds the shards of another run: {'; '.join(changed)}. Give the same options to continue"
            " it, another --work-dir to leave it as it is, or delete it"
        )
    log.info("continuing in %s", path)


# ---- arrays larger than memory


def write_array(file: Path, parts: Iterable[NDArray[np.generic]], *, dtype: DTypeLike, shape: tuple[int, ...]) -> None:
    """Write a ``.npy`` file whose rows come part by part.

    Unlike ``numpy.save`` it names the reason when the disk is full, and unlike a mapped file it does not
    crash then.

    Args:
        file: overwritten if there is one.
        parts: rows of the array, in order; together they have its shape.
    """
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    rows = 0
    with file.open("wb") as out:
        np.lib.format.write_array_header_1_0(out, header)
        for part in parts:
            assert part.shape[1:] == shape[1:], f"{file}: a part of shape {part.shape} for {shape}"
            rows += len(part)
            out.write(np.ascontiguousarray(part, dtype=dtype).data)
    assert rows == shape[0], f"{file}: {rows} rows came for {shape}"


# ---- room on the disk


def check_room(path: Path, needed: int) -> None:
    """Raise ``OSError`` if fewer than ``needed`` bytes are free where ``path`` is."""
    free = shutil.disk_usage(path).free
    if free < needed:
        raise OSError(
            errno.ENOSPC, f"not enough room: {needed:,} bytes are needed, {free:,} are free; another disk: --work-dir",
            str(path),
        )  # fmt: skip


@contextmanager
def naming_a_full_disk(path: Path) -> Iterator[None]:
    """Have an error about a full disk name the file or folder and what is free."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM or error.filename is not None:
            raise
        free = shutil.disk_usage(path.parent if not path.exists() else path).free
        reason = (
            f"{os.strerror(error.errno)}: could not be written, {free:,} bytes are free; nothing was left half-done"
        )
        raise OSError(error.errno, reason, str(path)) from error
