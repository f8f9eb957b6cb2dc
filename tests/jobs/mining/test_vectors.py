"""Vectors in shards, indexed like one tensor."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from xsent.files.array_file import save_array
from xsent.jobs.mining.vectors import StoredVectors
from xsent.jobs.work_folder import WorkFolder


@pytest.fixture
def stored(tmp_path: Path) -> tuple[StoredVectors, Tensor]:
    complete = torch.arange(23 * 3, dtype=torch.float32).view(23, 3)
    work = WorkFolder(tmp_path)
    for number, part in enumerate(complete.split(5)):
        rows = part.numpy()
        work.make(
            "vectors",
            number,
            lambda folder, rows=rows: save_array(folder / "vectors.npy", rows),
        )
    return StoredVectors(work, "vectors", 23, 5), complete


@pytest.mark.parametrize("rows", [slice(0, 23), slice(3, 12), slice(5, 10), slice(20, 99), slice(7, 7), slice(9, 3)])
def test_slices(stored: tuple[StoredVectors, Tensor], rows: slice) -> None:
    vectors, complete = stored
    assert torch.equal(vectors[rows], complete[rows])


@pytest.mark.parametrize("rows", [[22, 0, 4, 5, 4], [[3, 17, 3], [0, 21, 9]], []])
def test_rows_in_any_order_and_shape(stored: tuple[StoredVectors, Tensor], rows: list[int]) -> None:
    vectors, complete = stored
    index = torch.tensor(rows, dtype=torch.int64)
    assert torch.equal(vectors[index], complete[index])
    assert len(vectors) == 23
