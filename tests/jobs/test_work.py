"""The work folder: what is finished stays, what is damaged is made again, what is not ours is left alone."""

from __future__ import annotations

import errno
import json
import logging
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from xsent.jobs.work import WorkFolder, check_room, naming_a_full_disk, opened, write_array
from xsent.paths import sha256

MANIFEST = {"source": "abc", "k": 4}


def save(folder: Path, value: int) -> None:
    write_array(folder / "numbers.npy", [np.full(1000, value)], dtype=np.int64, shape=(1000,))


def test_a_finished_shard_is_not_made_again(tmp_path: Path) -> None:
    with opened(tmp_path / "work", MANIFEST) as work:
        work.make("numbers", 3, lambda folder: save(folder, 7))
    with opened(tmp_path / "work", MANIFEST) as work:
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


def test_a_folder_of_another_job_is_refused_with_what_differs(tmp_path: Path) -> None:
    with opened(tmp_path / "work", MANIFEST) as work:
        work.make("numbers", 0, lambda folder: save(folder, 1))
    expected = r"k was 4, is 5; source was 'abc', is 'abd'.*--work-dir"
    with pytest.raises(ValueError, match=expected), opened(tmp_path / "work", {"source": "abd", "k": 5}):
        pass
    assert (tmp_path / "work" / "numbers").is_dir()


def test_a_folder_of_somebody_elses_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match=r"found thesis\.tex"), opened(tmp_path, MANIFEST):
        pass
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_two_processes_never_share_a_folder(tmp_path: Path) -> None:
    with opened(tmp_path / "work", MANIFEST):
        with pytest.raises(BlockingIOError, match="another process"), opened(tmp_path / "work", MANIFEST):
            pass
        assert (tmp_path / "work" / "manifest.json").is_file()


def test_a_job_that_finished_no_shard_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="early"), opened(tmp_path / "work", MANIFEST):
        raise RuntimeError("early")
    assert not list(tmp_path.iterdir())


def test_a_manifest_cut_short_by_a_kill_is_written_again(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "manifest.json.tmp").write_text('{"sour')
    with opened(tmp_path / "work", MANIFEST):
        assert json.loads((tmp_path / "work" / "manifest.json").read_text()) == MANIFEST


def test_a_digest_is_that_of_the_standard(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    # FIPS 180-2, appendix B.1.
    assert sha256(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_an_array_written_in_parts_reads_as_one(tmp_path: Path) -> None:
    whole = np.arange(60, dtype=np.float32).reshape(20, 3)
    write_array(tmp_path / "a.npy", [whole[:7], whole[7:7], whole[7:]], dtype=np.float32, shape=(20, 3))
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy", allow_pickle=False), whole)


def test_too_little_room_is_said_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"1,000,000,000,000,000,000 bytes are needed, [\d,]+ are free") as caught:
        check_room(tmp_path, 10**18)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_named_while_writing() -> None:
    with pytest.raises(OSError, match=r"/dev/full") as caught, naming_a_full_disk(Path("/dev/full")):
        write_array(Path("/dev/full"), [np.zeros(10**6)], dtype=np.float64, shape=(10**6,))
    assert caught.value.errno == errno.ENOSPC


LIMITED = """
import sys
from pathlib import Path
import numpy as np
from xsent.jobs.work import WorkFolder, write_array
rows = np.zeros(10**6)
WorkFolder(Path(sys.argv[1])).make("numbers", 0, lambda folder: write_array(
    folder / "numbers.npy", [rows], dtype=rows.dtype, shape=rows.shape))
"""


def test_a_shard_that_outgrows_the_disk_is_named_and_swept_away(tmp_path: Path) -> None:
    # No file of this process may grow beyond 1 MB: the kernel's answer is that of a full disk.
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20)),
    )  # fmt: skip
    assert done.returncode == 1
    assert os.strerror(errno.EFBIG) in done.stderr
    assert f"{tmp_path}/numbers" in done.stderr
    assert not list(tmp_path.rglob("*.npy"))
