import gzip
import io
from pathlib import Path

import pytest

from xsent.data.readers.lines import open_bytes, read_lines
from xsent.data.readers.rejects import RejectLedger
from xsent.text.text_lines import numbered_lines


def lines_of(raw: bytes, ledger: RejectLedger | None = None) -> list[tuple[int, str]]:
    return list(numbered_lines(io.BytesIO(raw), "f", ledger or RejectLedger(strict=False)))


def test_only_a_newline_ends_a_line(tmp_path: Path) -> None:
    text = "a\u2028b\u0085c\x0bd\x0ce \"quote\n'second\n"
    (tmp_path / "f").write_bytes(text.encode())
    assert read_lines(tmp_path / "f") == ['a\u2028b\u0085c\x0bd\x0ce "quote', "'second"]


def test_a_carriage_return_in_the_middle_is_text_and_one_before_the_newline_is_not(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\rb\r\nc\r\r\nlast\r")
    assert read_lines(tmp_path / "f") == ["a\rb", "c\r", "last\r"]


def test_a_byte_order_mark_is_no_text() -> None:
    assert lines_of(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n") == [(1, "a"), (2, "\ufeffb")]


def test_a_file_in_utf16_is_an_error_with_the_remedy() -> None:
    with pytest.raises(ValueError, match="f:1: expected UTF-8, found UTF-16; save the file as UTF-8"):
        lines_of("a\tb\n".encode("utf-16"))


def test_broken_utf8_goes_to_the_ledger_and_the_other_lines_keep_their_numbers() -> None:
    ledger = RejectLedger(strict=False)
    assert lines_of(b"a\n\xff\xfe\nb\n", ledger) == [(1, "a"), (3, "b")]
    assert [(r.file, r.line, r.reason, r.found) for r in ledger.rejects] == [
        ("f", 2, "broken UTF-8", "byte 0xff at position 0")
    ]
    assert ledger.lines == 3


def test_broken_utf8_in_a_test_file_is_not_put_down_to_an_option_nobody_set(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\n\xff\n")
    with pytest.raises(ValueError, match="f:2: broken UTF-8, found byte 0xff at position 0; no line of this file may"):
        read_lines(tmp_path / "f")


@pytest.mark.parametrize("damage", ["truncated", "not gzip"])
def test_a_damaged_archive_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "f.gz"
    complete = gzip.compress(b"line\n" * 1000)
    path.write_bytes(complete[: len(complete) // 2] if damage == "truncated" else b"plain text")
    with pytest.raises(ValueError, match=r"f\.gz: expected a complete gzip file"), open_bytes(path) as file:
        file.read()


def test_strict_stops_at_the_first_reject_with_all_that_is_known() -> None:
    with pytest.raises(ValueError, match=r"f:7: empty side, found 'x' and ''"):
        RejectLedger(strict=True).add("f", 7, "empty side", "'x' and ''")


def test_the_summary_counts_reasons_in_one_line(tmp_path: Path) -> None:
    ledger = RejectLedger(strict=False)
    ledger.lines = 848_005
    for line in range(3):
        ledger.add("f", line, "empty side", "")
    ledger.add("f", 9, "broken UTF-8", "")
    ledger.write(tmp_path / "run" / "rejects.tsv")
    assert ledger.summary() == (
        f"4 of 848,005 lines rejected (3 empty side, 1 broken UTF-8): {tmp_path}/run/rejects.tsv"
    )


def test_the_ledger_on_disk_has_a_row_per_reject_even_with_tabs_in_them(tmp_path: Path) -> None:
    ledger = RejectLedger(strict=False)
    ledger.add("f", 1, "empty side", "a\tb\nc")
    ledger.write(tmp_path / "rejects.tsv")
    assert (tmp_path / "rejects.tsv").read_text() == ("file\tline\treason\tfound\nf\t1\tempty side\ta\\tb\\nc\n")
