"""Work folder: finished shards stay, damaged ones are made again, files of others are not touched."""

import errno
import json
import logging
import os
from pathlib import Path

import numpy as np
import pytest

from tests.jobs.conftest import file_size_limit
from xsent.files.array_file import save_array
from xsent.jobs.checks import check_free_space
from xsent.jobs.work_folder import WorkFolder, open_work_folder
from xsent.paths import sha256

MANIFEST = {"source": "abc", "k": 4}


def save(folder: Path, value: int, *, count: int = 1000) -> None:
    save_array(folder / "numbers.npy", np.full(count, value))


def test_a_finished_shard_is_not_made_again(tmp_path: Path) -> None:
    with open_work_folder(tmp_path / "work", MANIFEST) as work:
        work.make("numbers", 3, lambda folder: save(folder, 7))
    with open_work_folder(tmp_path / "work", MANIFEST) as work:
        work.make("numbers", 3, lambda folder: save(folder, 8))
        assert (work.array("numbers", 3, "numbers") == 7).all()


@pytest.mark.parametrize("damage", ["cut short", "altered", "gone"])
def test_a_damaged_shard_is_named_and_made_again(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    work = WorkFolder(tmp_path)
    work.make("numbers", 0, lambda folder: save(folder, 7))
    file = tmp_path / "numbers" / "000000" / "numbers.npy"
    content = file.read_bytes()
    file.unlink()
    if damage != "gone":
        file.write_bytes(content[:-1] if damage == "cut short" else content[:-1] + b"\x01")
    with caplog.at_level(logging.WARNING):
        work.make("numbers", 0, lambda folder: save(folder, 8))
    assert "numbers/000000: numbers.npy is missing, truncated or altered; making it again" in caplog.text
    assert (work.array("numbers", 0, "numbers") == 8).all()


def test_a_shard_that_failed_leaves_nothing(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        save(folder, 1)
        raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        WorkFolder(tmp_path).make("numbers", 0, fail)
    assert not list(tmp_path.rglob("*.npy"))


def test_a_folder_of_another_job_or_process_is_refused(tmp_path: Path) -> None:
    with open_work_folder(tmp_path / "work", MANIFEST) as work:
        work.make("numbers", 0, lambda folder: save(folder, 1))
        with (
            pytest.raises(BlockingIOError, match=rf"process {os.getpid()} on \S+ uses this folder"),
            open_work_folder(tmp_path / "work", MANIFEST),
        ):
            pass
        assert (tmp_path / "work" / "manifest.json").is_file()
    expected = r"k was 4, is 5; source was 'abc', is 'abd'.*--work-dir"
    with pytest.raises(ValueError, match=expected), open_work_folder(tmp_path / "work", {"source": "abd", "k": 5}):
        pass
    assert (tmp_path / "work" / "numbers").is_dir()


def test_a_folder_of_foreign_files_is_refused_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match=r"found thesis\.tex"), open_work_folder(tmp_path, MANIFEST):
        pass
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_job_that_finished_no_shard_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="early"), open_work_folder(tmp_path / "work", MANIFEST):
        raise RuntimeError("early")
    assert not list(tmp_path.iterdir())


def test_a_manifest_cut_short_by_a_kill_is_written_again(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "manifest.json.tmp").write_text('{"sour')
    with open_work_folder(tmp_path / "work", MANIFEST):
        assert json.loads((tmp_path / "work" / "manifest.json").read_text()) == MANIFEST


def test_sha256_equals_the_standard(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    # FIPS 180-2, appendix B.1.
    assert sha256(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_too_little_disk_space_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"1,000,000,000,000,000,000 bytes are needed, [\d,]+ are free") as caught:
        check_free_space(tmp_path, 10**18)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(tmp_path)


def test_a_shard_that_fills_the_disk_is_named_and_removed(tmp_path: Path) -> None:
    with file_size_limit(2**20), pytest.raises(OSError, match=f"{tmp_path}/numbers") as error:
        WorkFolder(tmp_path).make("numbers", 0, lambda folder: save(folder, 1, count=10**6))
    assert error.value.errno == errno.EFBIG
    assert not list(tmp_path.rglob("*.npy"))
