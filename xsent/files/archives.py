"""Files inside gzip and zip archives, unpacked while they are read and up to a limit.

No file is written, so names with ``..`` and links inside an archive lead nowhere.
"""

import gzip
import io
import lzma
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

# An archive may unpack to a GiB, or to 100 times its size: text has a ratio of 2 to 10, repetitive text of 30, a
# decompression bomb of up to 1,032 for each layer.
FREE_BYTES = 2**30
LARGEST_RATIO = 100
BUFFER = 2**18  # bytes
DAMAGE = (EOFError, gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, lzma.LZMAError)


class UnpackLimit:
    """Counts the bytes that an archive unpacks to.

    Args:
        path: of the archive.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.packed = path, path.stat().st_size
        self.limit = max(FREE_BYTES, LARGEST_RATIO * self.packed)
        self.unpacked = 0

    def add(self, size: int) -> None:
        """Count further bytes; raise ``ValueError`` if there are too many."""
        self.unpacked += size
        if self.unpacked > self.limit:
            raise ValueError(
                f"{self.path}: {self.packed:,} bytes unpack to more than {self.limit:,}, as a decompression bomb does;"
                " if you trust the file, unpack it first"
            )


class _UnpackedFile(io.RawIOBase):
    """Content of a packed file, counted towards a limit; ``name`` is for messages."""

    def __init__(self, packed: IO[bytes], name: str, limit: UnpackLimit) -> None:
        self.packed, self.name, self.limit = packed, name, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        try:
            content = self.packed.read(len(buffer))
        except DAMAGE as error:
            raise _damage(self.name, error) from error
        self.limit.add(len(content))
        buffer[: len(content)] = content
        return len(content)


@contextmanager
def open_gzip(path: Path) -> Iterator[BinaryIO]:
    """Unpack a ``.gz`` file while it is read.

    Raises:
        FileNotFoundError: no such file.
        ValueError: damaged or truncated, found while reading, or beyond the limit; names the file.
    """
    limit = UnpackLimit(path)
    if not limit.packed:
        raise _damage(str(path), EOFError("it has no bytes"))
    with gzip.open(path, "rb") as packed:
        yield _unpacked(cast(BinaryIO, packed), str(path), limit)


class ZipMembers:
    """The files of a zip archive.

    Raises:
        ValueError: no zip file, or a damaged one; names the file.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._limit = path, UnpackLimit(path)
        try:
            self._archive = zipfile.ZipFile(path)
        except Exception as error:
            raise _damage(str(path), error) from error
        self.names = self._archive.namelist()
        repeated = [name for name, count in Counter(self.names).items() if count > 1]
        if repeated:
            raise ValueError(f"{path}: expected one file of each name, found two named {repeated[0]}")

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Unpack a file while it is read, twice if it is itself a ``.gz``.

        Raises:
            ValueError: damaged, truncated, encrypted or beyond the limit; names archive and file.
        """
        location = f"{self.path}:{name}"
        try:
            member = self._archive.open(name)
        except Exception as error:  # encrypted, another compression, or a position outside the file
            raise _damage(location, error) from error
        with member:
            file = _unpacked(member, location, self._limit)
            if not name.endswith(".gz"):
                yield file
                return
            with gzip.GzipFile(fileobj=file) as packed:
                yield _unpacked(cast(BinaryIO, packed), location, self._limit)


def _unpacked(packed: IO[bytes], name: str, limit: UnpackLimit) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(_UnpackedFile(packed, name, limit), BUFFER))


def _damage(name: str, error: Exception) -> ValueError:
    kind = "gzip" if name.endswith(".gz") else "zip"
    return ValueError(f"{name}: expected a complete {kind} file, found a damaged one ({error})")
