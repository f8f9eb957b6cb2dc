"""Work folder of a resumable job: checksummed shards of arrays, and a manifest of what they depend on."""

import json
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from xsent.data.stores.array_cache import SEAL, Layout, cached_arrays
from xsent.files.atomic import atomic_path
from xsent.files.locking import exclusive
from xsent.files.strict_json import read_json_object
from xsent.jobs.checks import lock_path

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WorkFolder:
    """Shards by kind and number; each is a folder of ``.npy`` files with their SHA-256, written atomically.

    A truncated or altered shard is logged and made again.
    """

    path: Path

    def make(self, kind: str, number: int, write: Callable[[Path], None], *, layout: Layout | None = None) -> None:
        """Call ``write`` with a folder to fill for the shard, unless an undamaged one of this layout exists.

        Raises:
            OSError: the disk is full; names the shard and the free bytes.
        """
        cached_arrays(self.path, kind, _key(number), write, layout=layout)

    def array(self, kind: str, number: int, name: str) -> NDArray[np.generic]:
        """An array of a finished shard, memory-mapped read-only."""
        file = self.path / kind / _key(number) / f"{name}.npy"
        array: NDArray[np.generic] = np.load(file, mmap_mode="r", allow_pickle=False)
        return array

    def size(self, kind: str = "") -> int:
        """Bytes of the shards of a kind, or of all files."""
        return sum(file.stat().st_size for file in (self.path / kind).rglob("*") if file.is_file())


def _key(number: int) -> str:
    return f"{number:06d}"


@contextmanager
def open_work_folder(path: Path, manifest: Mapping[str, object], *, keep: bool = True) -> Iterator[WorkFolder]:
    """Open the work folder of a job for this process alone: a new folder, or one with the same manifest.

    Args:
        path: its parent must exist.
        manifest: plain values; everything that the shards depend on.
        keep: False deletes the folder when the block ends without an error.

    Raises:
        BlockingIOError: another process uses it.
        ValueError: the manifest differs, named with both values; or it is no work folder.
    """
    path.mkdir(exist_ok=True)
    refusal = f"{path}: {{holder}} uses this folder; wait for it, or name another one"
    with exclusive(lock_path(path), refusal):
        _check_manifest(path, json.loads(json.dumps(manifest)))
        try:
            yield WorkFolder(path)
            if not keep:
                shutil.rmtree(path)
        finally:
            # Without a finished shard there is nothing to resume.
            if not any(path.glob(f"*/*/{SEAL}")):
                shutil.rmtree(path, ignore_errors=True)


def _check_manifest(path: Path, manifest: dict[str, object]) -> None:
    file = path / "manifest.json"
    if not file.is_file():
        # The .tmp file is a manifest that a kill cut short; any other file belongs to somebody else.
        foreign = [file.name for file in path.iterdir() if file.name != "manifest.json.tmp"]
        if foreign:
            raise ValueError(
                f"{path}: expected a new folder or one of this job, found {foreign[0]} and no manifest.json"
            )
        with atomic_path(file, unique=False) as temporary:
            temporary.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return
    before = read_json_object(file, allow_nan=True)
    names = sorted(before.keys() | manifest.keys())
    changed = [
        f"{name} was {before.get(name)!r}, is {manifest.get(name)!r}"
        for name in names
        if before.get(name) != manifest.get(name)
    ]
    if changed:
        raise ValueError(
            f"{path}: holds the shards of another run: {'; '.join(changed)}. Give the same options to continue"
            " it, another --work-dir to keep it, or delete it"
        )
    log.info("continuing in %s", path)
