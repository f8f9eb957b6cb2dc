"""Arrays on disk, keyed by content: made once, memory-mapped, safe for two processes, remade when damaged."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from xsent.paths import sha256

log = logging.getLogger(__name__)

Arrays = dict[str, NDArray[np.generic]]


def digest_of_texts(texts: Iterable[str]) -> str:
    """Hex digest of texts in their order; no two lists share one by joining differently."""
    content = hashlib.sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        content.update(len(raw).to_bytes(8, "little"))
        content.update(raw)
    return content.hexdigest()


def cached_arrays(cache_dir: Path, kind: str, key: str, make: Callable[[Path], None]) -> Arrays:
    """The arrays under ``key``, mapped read-only; made first when they are not there or damaged.

    Args:
        cache_dir: folder of all caches.
        kind: subfolder, one per sort of content.
        key: digest of everything that decides the content.
        make: writes ``NAME.npy`` files into the folder it is given.

    Returns:
        Array by NAME.
    """
    folder = cache_dir / kind / key
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if folder.exists() and not (damage := _damage(folder)):
            return _open(folder)
        if folder.exists():
            log.warning("%s: %s; making it again", folder, damage)
            shutil.rmtree(folder)
        # The lock is ours, so what a killed process left here is swept away too.
        temporary = folder.with_name(f"{folder.name}.tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        try:
            make(temporary)
            _seal(temporary)
            temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return _open(folder)


def _open(folder: Path) -> Arrays:
    return {path.stem: np.load(path, mmap_mode="r", allow_pickle=False) for path in sorted(folder.glob("*.npy"))}


def _seal(folder: Path) -> None:
    digests = {}
    for path in sorted(folder.glob("*.npy")):
        with path.open("rb") as file:
            os.fsync(file.fileno())
        digests[path.name] = sha256(path)
    (folder / "sha256.json").write_text(json.dumps(digests))


def _damage(folder: Path) -> str | None:
    try:
        digests: Mapping[str, str] = json.loads((folder / "sha256.json").read_text())
    except (OSError, ValueError):
        return "sha256.json is missing or damaged"
    for name, expected in digests.items():
        if not (folder / name).is_file() or sha256(folder / name) != expected:
            return f"{name} is missing, truncated or altered"
    return None
