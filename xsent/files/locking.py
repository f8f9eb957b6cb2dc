"""One writer at a time: a file lock that the operating system releases when the process ends, however it ends."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout


class InUseError(BlockingIOError):
    """Another process or thread holds the lock."""


@contextmanager
def exclusive(lock_file: Path, refusal: str) -> Iterator[None]:
    """Hold a lock within the block, and remove its file afterwards.

    Args:
        lock_file: in an existing folder; it has the process while the lock is held.
        refusal: message if it is held already, with ``{holder}`` for the process.

    Raises:
        InUseError: it is held already.
    """
    lock = FileLock(lock_file)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise InUseError(refusal.replace("{holder}", _holder(lock_file))) from None
    try:
        with suppress(OSError):
            lock_file.write_text(f"process {os.getpid()} on {socket.gethostname()}", encoding="utf-8")
        yield
    finally:
        lock_file.unlink(missing_ok=True)
        lock.release()


def _holder(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8") or "another process"
    return "another process"
