import multiprocessing
import resource
import signal
import time
from pathlib import Path

import pytest

from xsent.files.jsonl_log import AppendOnly


def test_records_are_read_in_the_order_of_adding(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file.jsonl"
    with AppendOnly(path, wait=False) as file:
        assert file.read() == []
        file.add([{"a": 1}, {"b": "ü"}])
        file.add([{"c": None}])
    with AppendOnly(path, wait=False) as file:
        assert file.read() == [{"a": 1}, {"b": "ü"}, {"c": None}]


def test_an_incomplete_last_line_is_ignored_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text('{"a": 1}\n{"b": ')
    with AppendOnly(path, wait=False) as file:
        assert file.read() == [{"a": 1}]
        file.add([{"c": 3}])
        assert file.read() == [{"a": 1}, {"c": 3}]
    assert path.read_text() == '{"a": 1}\n{"c": 3}\n'


def test_a_complete_line_that_is_no_object_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text('{"a": 1}\nnothing\n')
    with (
        AppendOnly(path, wait=False) as file,
        pytest.raises(ValueError, match=r"file\.jsonl:2: expected a JSON object, found 'not"),
    ):
        file.read()


def test_check_finds_a_file_that_cannot_be_written_and_changes_nothing(tmp_path: Path) -> None:
    AppendOnly(tmp_path / "new" / "file.jsonl", wait=False).check()
    assert not list(tmp_path.iterdir())
    existing = tmp_path / "file.jsonl"
    existing.write_text('{"a": 1}\n')
    AppendOnly(existing, wait=False).check()
    assert existing.read_text() == '{"a": 1}\n'
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "file.jsonl")
    for path, kind in (
        (tmp_path, IsADirectoryError),
        (existing / "below.jsonl", NotADirectoryError),
        (tmp_path / "link", FileNotFoundError),
    ):
        with pytest.raises(kind):
            AppendOnly(path, wait=False).check()


def test_one_process_at_a_time_opens_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    with (
        AppendOnly(path, wait=False),
        pytest.raises(BlockingIOError, match="another process writes"),
        AppendOnly(path, wait=False),
    ):
        pass
    with AppendOnly(path, wait=False):
        pass
    assert not list(tmp_path.glob("*.lock"))


def _add(path: Path, number: int) -> None:
    with AppendOnly(path, wait=True) as file:
        count = len(file.read())
        time.sleep(0.2)
        file.add([{"number": number, "seen": count}])


def test_a_waiting_process_reads_what_the_other_one_added(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    spawn = multiprocessing.get_context("spawn")  # this process may have threads
    processes = [spawn.Process(target=_add, args=(path, number)) for number in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    with AppendOnly(path, wait=False) as file:
        assert [record["seen"] for record in file.read()] == [0, 1]


def test_a_full_disk_leaves_no_partial_line_and_the_file_stays_writable(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with AppendOnly(path, wait=False) as file:
            file.add([{"a": 1}])
            resource.setrlimit(resource.RLIMIT_FSIZE, (50, limits[1]))
            with pytest.raises(OSError, match="File too large"):
                file.add([{"b": "x" * 100}])
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            file.add([{"c": 3}])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    with AppendOnly(path, wait=False) as file:
        assert file.read() == [{"a": 1}, {"c": 3}]
