"""Atomic writes: files and folders appear under their name only when they are complete.

Each is written under a temporary name beside the target, flushed to the disk and renamed. After an exception or a kill
the target holds what it held before.
"""

import errno
import gzip
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
EARLIER = "earlier"  # in a temporary folder: the folder that is being replaced
KERNEL_FOLDERS = (Path("/proc"), Path("/sys"))  # and /dev itself: their files are no files on a disk


@contextmanager
def atomic_path(path: Path, *, unique: bool = True) -> Iterator[Path]:
    """Give a temporary path to write to; the file there replaces ``path`` when the block ends.

    Args:
        path: the target; its folder is made if needed.
        unique: several processes may write this file at the same time. Pass False where only one can: the temporary
            file that a killed process left is then overwritten.

    Raises:
        ValueError: ``path`` is no regular file, such as a folder or a device.
        OSError: the disk is full; names the file and the free bytes.
    """
    check_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp" if unique else f"{path.name}.tmp")
    try:
        with explain_disk_error(path):
            temporary.unlink(missing_ok=True)
            yield temporary
            _sync(temporary)
            temporary.replace(path)
            _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def check_replaceable(path: Path) -> None:
    """Raise ``ValueError`` unless the path is a regular file, or free for one.

    ``/dev/stdout`` and ``/proc/self/fd/1`` can be links to a regular file; then the link itself would be replaced.
    """
    folder = Path(os.path.realpath(path.absolute().parent))
    is_kernel = folder == Path("/dev") or any(folder.is_relative_to(kernel) for kernel in KERNEL_FOLDERS)
    if is_kernel or (path.exists() and not path.is_file()):
        raise ValueError(
            f"{path}: expected a file to write, or none yet, found something else (a folder, device, pipe or socket)"
        )


@contextmanager
def atomic_write_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file for writing, compressed if its name ends in ``.gz``; errors as in ``atomic_path``."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        if path.suffix != ".gz":
            yield file
            return
        # Neither a name nor a time in the header: equal text gives equal bytes.
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as compressed:
            yield cast(BinaryIO, compressed)


@contextmanager
def atomic_write(path: Path) -> Iterator[TextIO]:
    """``atomic_write_bytes`` for UTF-8 text; line ends are written as they are."""
    with atomic_write_bytes(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield text
        text.detach()  # flushes; atomic_write_bytes closes the file


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file in one call; errors as in ``atomic_path``."""
    with atomic_write(path) as file:
        file.write(text)


@contextmanager
def atomic_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Give an empty temporary folder of the same name; it is moved to ``path`` when the block ends.

    The caller makes sure that no other process writes this folder. What a killed process left is deleted first.

    Args:
        path: the target.
        replace: whether a folder there is replaced. A kill between its two renames leaves none; the next call moves
            the earlier folder back.

    Raises:
        OSError: ``path`` exists and is not an empty folder, unless it is replaced; or the disk is full.
    """
    beside = path.with_name(f"{path.name}.tmp")
    folder, earlier = beside / path.name, beside / EARLIER
    _move_back(earlier, path)
    shutil.rmtree(beside, ignore_errors=True)
    try:
        with explain_disk_error(path):
            folder.mkdir(parents=True)
            yield folder
            for entry in (*folder.rglob("*"), folder):
                _sync(entry)
            if replace and path.exists():
                path.rename(earlier)
            folder.rename(path)
            _sync(path.parent)
    finally:
        _move_back(earlier, path)
        shutil.rmtree(beside, ignore_errors=True)


def check_temporary_folder(path: Path) -> None:
    """Raise ``FileExistsError`` if the folder that ``atomic_folder`` would delete first holds files of others."""
    beside = path.with_name(f"{path.name}.tmp")
    foreign = [entry.name for entry in beside.glob("*") if entry.name not in (path.name, EARLIER)]
    if foreign:
        reason = f"expected no such folder: it is needed to write {path}; found {foreign[0]} in it, nothing is deleted"
        raise FileExistsError(errno.EEXIST, reason, str(beside))


@contextmanager
def explain_disk_error(path: Path) -> Iterator[None]:
    """Add the free bytes, and the path if it names no file, to an error about a full or broken disk."""
    try:
        yield
    except OSError as error:
        is_explained = "bytes are free" in str(error.strerror)
        if is_explained or not (error.errno in FULL_DISK or (error.errno == errno.EIO and error.filename is None)):
            raise
        existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
        free = shutil.disk_usage(existing).free
        reason = f"{error.strerror} while it was written, {free:,} bytes are free; no partial file was left"
        raise OSError(error.errno, reason, error.filename or str(path)) from error


def _move_back(earlier: Path, path: Path) -> None:
    if earlier.exists() and not path.exists():
        earlier.rename(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
