from __future__ import annotations

from pathlib import Path

import pytest

from xsent.append_only import AppendOnly


def test_what_was_added_is_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file.jsonl"
    with AppendOnly(path) as file:
        assert file.read() == []
        file.add([{"a": 1}, {"b": "ü"}])
        file.add([{"c": None}])
    with AppendOnly(path) as file:
        assert file.read() == [{"a": 1}, {"b": "ü"}, {"c": None}]


def test_a_line_that_a_kill_cut_short_is_left_out_and_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text('{"a": 1}\n{"b": ')
    with AppendOnly(path) as file:
        assert file.read() == [{"a": 1}]
        file.add([{"c": 3}])
        assert file.read() == [{"a": 1}, {"c": 3}]
    assert path.read_text() == '{"a": 1}\n{"c": 3}\n'


def test_a_whole_line_that_is_no_object_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text('{"a": 1}\nnothing\n')
    with (
        AppendOnly(path) as file,
        pytest.raises(ValueError, match=r"file\.jsonl:2: expected a JSON object, found 'not"),
    ):
        file.read()


def test_one_process_at_a_time_has_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    with AppendOnly(path), pytest.raises(BlockingIOError, match="another process writes"), AppendOnly(path):
        pass
    with AppendOnly(path):
        pass
    assert not list(tmp_path.glob("*.lock"))
