"""Atomic writes of files and folders."""

import errno
import gzip
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from xsent.files.atomic import (
    atomic_folder,
    atomic_path,
    atomic_write,
    atomic_write_bytes,
    explain_disk_error,
    write_text,
)


@pytest.mark.parametrize("open_target", [atomic_write, atomic_write_bytes, atomic_path])
def test_a_block_that_raises_leaves_the_earlier_file_and_no_other(
    tmp_path: Path, open_target: Callable[[Path], AbstractContextManager[Any]]
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before\n")

    def fail_half_way() -> None:
        with open_target(path) as target:
            if isinstance(target, Path):
                target.write_text("half")
            else:
                target.write("half" if target.__class__.__name__ == "TextIOWrapper" else b"half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_half_way()
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "before\n"
    write_text(path, "after\n")
    assert path.read_text() == "after\n"


def test_a_name_ending_in_gz_is_compressed_and_equal_text_gives_equal_bytes(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        write_text(tmp_path / "new" / name, "Füße\n")
    assert gzip.decompress((tmp_path / "new" / "a.gz").read_bytes()) == "Füße\n".encode()
    assert (tmp_path / "new" / "a.gz").read_bytes() == (tmp_path / "new" / "b.gz").read_bytes()


def test_only_a_regular_file_is_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(ValueError, match="expected a file to write, or none yet"), atomic_write(path):
            pass
    assert pipe.is_fifo()


def test_a_folder_appears_when_its_block_ends_without_an_error(tmp_path: Path) -> None:
    path = tmp_path / "new" / "model"
    (tmp_path / "new" / "model.tmp" / "model" / "left by a kill").mkdir(parents=True)

    def fail() -> None:
        with atomic_folder(path) as folder:
            (folder / "a").write_text("a")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert not list((tmp_path / "new").iterdir())
    with atomic_folder(path) as folder:
        (folder / "b").write_text("b")
        assert not path.exists()
    assert [file.name for file in (tmp_path / "new").rglob("*")] == ["model", "b"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_an_error_about_a_full_disk_names_the_file_and_the_free_bytes() -> None:
    full = Path("/dev/full")
    with pytest.raises(OSError, match=r"[\d,]+ bytes are free.*/dev/full") as caught, explain_disk_error(full):
        full.write_text("x" * 10**6)
    assert caught.value.errno == errno.ENOSPC


def test_a_folder_is_replaced_as_a_whole_and_comes_back_after_a_kill_between_the_renames(tmp_path: Path) -> None:
    path = tmp_path / "model"
    for name in ("a", "b"):
        with atomic_folder(path, replace=True) as folder:
            (folder / name).write_text(name)
    assert [file.name for file in path.iterdir()] == ["b"]
    (tmp_path / "model.tmp").mkdir()
    path.rename(tmp_path / "model.tmp" / "earlier")

    def fail() -> None:
        with atomic_folder(path, replace=True):
            assert (path / "b").read_text() == "b"
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert [file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*")] == ["model", "model/b"]
