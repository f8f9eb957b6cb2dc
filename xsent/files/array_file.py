"""Write ``.npy`` files, also those larger than memory; the space is allocated before the first row.

A full disk is thus an ``OSError`` before any work; a write through a memory map would kill the process (SIGBUS).
"""

import errno
import math
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class ArrayFile:
    """A new ``.npy`` file of zeros, whose rows are written in any order by assignment, as those of an array.

    Args:
        file: overwritten if it exists.
        dtype: of the array.
        shape: of the array; at least one dimension.

    Raises:
        OSError: the disk is full.
    """

    def __init__(self, file: Path, *, dtype: DTypeLike, shape: tuple[int, ...]) -> None:
        self.file, self.dtype, self.shape = file, np.dtype(dtype), shape
        self._row_bytes = math.prod(shape[1:]) * self.dtype.itemsize
        header = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        with file.open("wb") as out:
            np.lib.format.write_array_header_1_0(out, header)
            out.flush()
            self.start = out.tell()  # position of the first row
            _allocate(out.fileno(), self.start + shape[0] * self._row_bytes)

    def __setitem__(self, rows: slice | NDArray[np.int64], values: NDArray[np.generic]) -> None:
        """Write ``values`` (N, ...) at N rows: a slice without a step, or row numbers (N,)."""
        content = np.ascontiguousarray(values, dtype=self.dtype).reshape(-1).view(np.uint8).data
        if isinstance(rows, slice):
            first, end, step = rows.indices(self.shape[0])
            assert step == 1, f"{self.file}: a step of {step}"
            count, size, positions = end - first, len(content), [self.start + first * self._row_bytes]
        else:
            count, size, positions = len(rows), self._row_bytes, (self.start + rows * self._row_bytes).tolist()
        assert values.shape == (count, *self.shape[1:]), f"{self.file}: {values.shape} for {count} of {self.shape}"
        with self.file.open("r+b", buffering=0) as out:
            descriptor = out.fileno()
            for number, position in enumerate(positions):
                _write_at(descriptor, content[number * size : (number + 1) * size], position)


def write_array(file: Path, parts: Iterable[NDArray[np.generic]], *, dtype: DTypeLike, shape: tuple[int, ...]) -> None:
    """Write an array part by part; ``parts`` are its rows in order, together of the shape.

    Raises:
        OSError: the disk is full.
    """
    array, rows = ArrayFile(file, dtype=dtype, shape=shape), 0
    with file.open("r+b") as out:
        out.seek(array.start)
        for part in parts:
            assert part.shape[1:] == shape[1:], f"{file}: a part of shape {part.shape} for {shape}"
            rows += len(part)
            out.write(np.ascontiguousarray(part, dtype=dtype).data)
    assert rows == shape[0], f"{file}: {rows} rows came for {shape}"


def save_array(file: Path, array: NDArray[Any]) -> None:
    """Write an array; errors as in ``write_array``, while ``numpy.save`` hides the reason."""
    write_array(file, [array], dtype=array.dtype, shape=array.shape)


def _allocate(descriptor: int, size: int) -> None:
    try:
        os.posix_fallocate(descriptor, 0, size)
    except (AttributeError, OSError) as error:  # macOS has no such function
        code = getattr(error, "errno", errno.EOPNOTSUPP)
        if code in (errno.EOPNOTSUPP, errno.EINVAL):  # nor have some file systems
            code = errno.ENOSPC if shutil.disk_usage(descriptor).free < size else 0
        if code:
            raise OSError(code, f"{os.strerror(code)}: {size:,} bytes are needed") from error
        os.truncate(descriptor, size)


def _write_at(descriptor: int, content: memoryview, position: int) -> None:
    while (written := os.pwrite(descriptor, content, position)) < len(content):
        content, position = content[written:], position + written  # a disk that is full now raises
