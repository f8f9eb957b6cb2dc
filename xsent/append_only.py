"""Files of JSON objects that only grow: what cost time or money is kept through a kill, and never paid twice."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout

log = logging.getLogger(__name__)


class AppendOnly:
    """A file of one JSON object a line, appended to and never rewritten; one process at a time has it open.

    A last line that a kill cut short is no object: it is left out when the file is read, and cut off before the next
    one is written.

    Args:
        path: of the file; made, with its folder, when the first object is added.
        wait: while another process has the file, wait for it; otherwise refuse.
    """

    def __init__(self, path: Path, *, wait: bool) -> None:
        self.path = path
        self.wait = wait
        self._lock = FileLock(f"{path}.lock")
        self._file: io.FileIO | None = None

    def __enter__(self) -> Self:
        """Take the file.

        Raises:
            BlockingIOError: another process has it, and is not waited for.
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
        Path(self._lock.lock_file).unlink(missing_ok=True)
        self._lock.release()

    def check(self) -> None:
        """Raise ``OSError`` if nothing can be added, before any work; nothing is made or changed."""
        if self.path.exists():
            self.path.open("ab").close()
            return
        if self.path.is_symlink():
            raise FileNotFoundError(errno.ENOENT, "a link to a file that is not there", str(self.path))
        folder = next(parent for parent in self.path.absolute().parents if parent.exists())
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))

    def read(self) -> list[dict[str, Any]]:
        """All objects, in the order they were added.

        Raises:
            ValueError: a whole line is no JSON object; names the file and the line.
        """
        if not self.path.is_file():
            return []
        *whole, _ = self.path.read_bytes().split(b"\n")  # what follows the last line end is torn, or nothing
        return [self._parsed(line, number) for number, line in enumerate(whole, start=1)]

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            start = line[:60].decode("utf-8", "replace")
            raise ValueError(f"{self.path}:{number}: expected a JSON object, found {start!r}")
        return found

    def add(self, objects: Iterable[Mapping[str, object]]) -> None:
        """Append objects, on disk when this returns, or none of them.

        Raises:
            OSError: the disk is full; what was there before stays.
        """
        if self._file is None:
            self._file = self._opened()
        lines = "".join(json.dumps(one, ensure_ascii=False, sort_keys=True) + "\n" for one in objects)
        end = self._file.tell()
        try:
            # Not buffered: what could not be written is not written later either.
            left = memoryview(lines.encode("utf-8", "surrogatepass"))
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError:
            if self._file.tell() > end:
                self._file.truncate(end)
            raise

    def _opened(self) -> io.FileIO:
        if self.path.is_file():
            content = self.path.read_bytes()
            with self.path.open("r+b") as file:
                file.truncate(content.rfind(b"\n") + 1)
        opened = self.path.open("ab", buffering=0)
        opened.seek(0, os.SEEK_END)
        return opened
