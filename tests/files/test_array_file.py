"""Arrays written to files: in parts, or row by row in any order."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from xsent.files.array_file import ArrayFile, write_array


def test_an_array_written_in_parts_reads_as_one(tmp_path: Path) -> None:
    complete = np.arange(60, dtype=np.float32).reshape(20, 3)
    write_array(tmp_path / "a.npy", [complete[:7], complete[7:7], complete[7:]], dtype=np.float32, shape=(20, 3))
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy", allow_pickle=False), complete)


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_rows_written_in_any_order_give_the_same_bytes_as_numpy(tmp_path: Path, dtype: type) -> None:
    rows: NDArray[Any] = np.arange(60).reshape(20, 3).astype(dtype)
    array = ArrayFile(tmp_path / "a.npy", dtype=dtype, shape=(20, 3))
    order = np.random.default_rng(0).permutation(15)
    for numbers in (order[:4], order[4:4], order[4:]):
        array[numbers] = rows[numbers]
    array[15:] = rows[15:]
    np.save(tmp_path / "expected.npy", rows)
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "expected.npy").read_bytes()


def test_rows_that_are_not_written_are_zeros(tmp_path: Path) -> None:
    ArrayFile(tmp_path / "a.npy", dtype=np.float32, shape=(3, 2))[np.array([1])] = np.ones((1, 2))
    assert np.load(tmp_path / "a.npy").tolist() == [[0, 0], [1, 1], [0, 0]]


@pytest.mark.parametrize("shape", [(0, 4), (0,), (5,)])
def test_arrays_without_rows_or_with_one_dimension_are_files_too(tmp_path: Path, shape: tuple[int, ...]) -> None:
    ArrayFile(tmp_path / "a.npy", dtype=np.int64, shape=shape)[:] = np.zeros(shape, np.int64)
    assert np.load(tmp_path / "a.npy").shape == shape
