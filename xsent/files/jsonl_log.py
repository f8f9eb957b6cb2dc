"""Append-only JSON Lines files that survive a kill: caches of expensive results."""

import errno
import io
import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

log = logging.getLogger(__name__)


class AppendOnly:
    """File of one JSON object per line that is only appended to; one process at a time opens it.

    A killed process may leave an incomplete last line: ``read`` ignores it, ``add`` removes it first.

    Args:
        path: created, with its folder, when the first object is added.
        wait: wait while another process has the file open; otherwise raise.
    """

    def __init__(self, path: Path, *, wait: bool) -> None:
        self.path = path
        self.wait = wait
        self._lock = FileLock(f"{path}.lock")
        self._file: io.FileIO | None = None

    def __enter__(self) -> Self:
        """Lock the file.

        Raises:
            BlockingIOError: another process has it open and ``wait`` is false.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            if not self.wait:
                raise BlockingIOError(f"{self.path}: another process writes to this file; wait for it") from None
            log.info("%s: another process writes to this file; waiting for it", self.path)
            self._lock.acquire()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        Path(self._lock.lock_file).unlink(missing_ok=True)
        self._lock.release()

    def check(self) -> None:
        """Raise ``OSError`` if the file cannot be written; creates and changes nothing."""
        if self.path.exists():
            self.path.open("ab").close()
            return
        if self.path.is_symlink():
            raise FileNotFoundError(errno.ENOENT, "a link to a missing file", str(self.path))
        folder = next(parent for parent in self.path.absolute().parents if parent.exists())
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))

    def read(self) -> list[dict[str, Any]]:
        """All objects in order.

        Raises:
            ValueError: a complete line is no JSON object; names the file and the line.
        """
        if not self.path.is_file():
            return []
        *lines, _ = self.path.read_bytes().split(b"\n")  # the last part is an incomplete line or empty
        records = []
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict):
                start = line[:60].decode("utf-8", "replace")
                raise ValueError(f"{self.path}:{number}: expected a JSON object, found {start!r}")
            records.append(record)
        return records

    def add(self, objects: Iterable[Mapping[str, object]]) -> None:
        """Append all objects and flush them to disk.

        Raises:
            OSError: the disk is full; none of the objects is added.
        """
        if self._file is None:
            if self.path.is_file():
                os.truncate(self.path, self.path.read_bytes().rfind(b"\n") + 1)
            self._file = self.path.open("ab", buffering=0)
            self._file.seek(0, os.SEEK_END)
        lines = "".join(json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n" for record in objects)
        end = self._file.tell()
        try:
            # Unbuffered, so that a failed write is not repeated later.
            remaining = memoryview(lines.encode("utf-8", "surrogatepass"))
            while remaining:
                remaining = remaining[self._file.write(remaining) :]
            os.fsync(self._file.fileno())
        except OSError:
            if self._file.tell() > end:
                self._file.truncate(end)
            raise
