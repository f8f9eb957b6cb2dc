"""Cache of memory-mapped arrays on disk, keyed by content: locked against other processes, verified by checksum."""

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from xsent.atomic import atomic_folder
from xsent.paths import sha256

log = logging.getLogger(__name__)

Arrays = dict[str, NDArray[np.generic]]


def digest_of_texts(texts: Iterable[str]) -> str:
    """Hex digest of texts in order; lengths are hashed too, so that texts cannot run into each other."""
    content = hashlib.sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        content.update(len(raw).to_bytes(8, "little"))
        content.update(raw)
    return content.hexdigest()


def store_key(digest: str, texts: Iterable[str]) -> str:
    """Key of what a model or tool with this digest makes of the texts."""
    return hashlib.sha256(f"{digest} {digest_of_texts(texts)}".encode()).hexdigest()


def cached_arrays(cache_dir: Path, kind: str, key: str, make: Callable[[Path], None]) -> Arrays:
    """The arrays under ``key``, by name, memory-mapped read-only; made first if they are missing or damaged.

    Args:
        cache_dir: folder of all caches.
        kind: subfolder for one kind of content.
        key: digest of everything that decides the content.
        make: writes ``NAME.npy`` files into the given folder.
    """
    folder = cache_dir / kind / key
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if folder.exists():
            damage = _find_damage(folder)
            if damage is None:
                return _open(folder)
            log.warning("%s: %s; making it again", folder, damage)
            shutil.rmtree(folder)
        with atomic_folder(folder) as temporary:
            make(temporary)
            digests = {path.name: sha256(path) for path in sorted(temporary.glob("*.npy"))}
            (temporary / "sha256.json").write_text(json.dumps(digests))
        return _open(folder)


def _open(folder: Path) -> Arrays:
    return {path.stem: np.load(path, mmap_mode="r", allow_pickle=False) for path in sorted(folder.glob("*.npy"))}


def _find_damage(folder: Path) -> str | None:
    try:
        digests: Mapping[str, str] = json.loads((folder / "sha256.json").read_text())
    except (OSError, ValueError):
        return "sha256.json is missing or damaged"
    for name, expected in digests.items():
        if not (folder / name).is_file() or sha256(folder / name) != expected:
            return f"{name} is missing, truncated or altered"
    return None
