"""Cache of memory-mapped arrays on disk, keyed by content: locked against other processes, verified by checksum."""

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

from xsent.files.atomic import atomic_folder
from xsent.files.strict_json import read_json_object
from xsent.paths import sha256

log = logging.getLogger(__name__)

Arrays = dict[str, NDArray[np.generic]]

Layout = Mapping[str, tuple[type[np.generic], tuple[int | None, ...]]]  # dtype and shape by name; None: any size

SEAL = "sha256.json"  # digest of each array of a folder, by file name


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


def cached_arrays(
    cache_dir: Path, kind: str, key: str, make: Callable[[Path], None], *, layout: Layout | None = None
) -> Arrays:
    """The arrays under ``key``, by name, memory-mapped read-only; made first if they are missing or damaged.

    Args:
        cache_dir: folder of all caches.
        kind: subfolder for one kind of content.
        key: digest of everything that decides the content.
        make: writes ``NAME.npy`` files into the given folder.
        layout: of the arrays; others count as damage. None: any.
    """
    folder = cache_dir / kind / key
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if os.path.lexists(folder):
            try:
                return _verified_arrays(folder, layout)
            except (OSError, ValueError) as damage:
                log.warning("%s: %s; making it again", folder, damage)
            if folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder)
            else:
                folder.unlink()
        with atomic_folder(folder) as temporary:
            make(temporary)
            digests = {path.name: sha256(path) for path in sorted(temporary.glob("*.npy"))}
            (temporary / SEAL).write_text(json.dumps(digests))
        return _open(folder)


def _open(folder: Path) -> Arrays:
    # Neither pickled objects nor archives, which `numpy.load` would open under any name.
    return {path.stem: np.lib.format.open_memmap(path, mode="r") for path in sorted(folder.glob("*.npy"))}


def _verified_arrays(folder: Path, layout: Layout | None) -> Arrays:
    """The arrays of a folder; raise ``ValueError`` or ``OSError`` unless they are those of the seal and the layout."""
    try:
        digests = read_json_object(folder / SEAL)
    except (OSError, ValueError):
        digests = {}
    if not digests:
        raise ValueError(f"{SEAL} is missing or damaged")
    names = {path.name for path in folder.glob("*.npy")}
    for name in sorted(names | digests.keys()):
        if name not in digests:
            raise ValueError(f"{name} is not in {SEAL}")
        if name not in names or sha256(folder / name) != digests[name]:
            raise ValueError(f"{name} is missing, truncated or altered")
    try:
        arrays = _open(folder)
    except Exception as error:  # of any type, from a file that is no array
        raise ValueError(f"a file is not an array ({error})") from error
    if layout is not None:
        for name in sorted(arrays.keys() | layout.keys()):
            if name not in arrays or name not in layout or not _fits(arrays[name], *layout[name]):
                raise ValueError(f"{name}.npy is not the array that belongs here")
    return arrays


def _fits(array: NDArray[np.generic], dtype: type[np.generic], shape: tuple[int | None, ...]) -> bool:
    return (
        array.dtype == dtype
        and len(array.shape) == len(shape)
        and all(size in (None, found) for size, found in zip(shape, array.shape, strict=True))
    )
