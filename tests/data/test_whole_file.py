"""A text file is there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from xsent.data.whole_file import whole_file


def test_a_block_that_raises_leaves_the_earlier_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before\n")

    def half() -> None:
        with whole_file(path) as file:
            file.write("half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        half()
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "before\n"
    with whole_file(path) as file:
        file.write("after\n")
    assert path.read_text() == "after\n"


def test_nothing_but_a_file_is_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(ValueError, match="expected a file to write, or none yet"), whole_file(path):
            pass
    assert pipe.is_fifo()
