from collections import Counter
from pathlib import Path

import pytest

from tests.helpers import existing
from xsent.data.readers.msrp import read_msrp
from xsent.data.readers.rejects import RejectLedger

HEADER = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"


def test_a_byte_order_mark_windows_line_ends_and_quotes_are_no_text(tmp_path: Path) -> None:
    lines = [HEADER, '1\t10\t11\tHe said "yes\tHe agreed', "0\t12\t13\tA\tB"]
    (tmp_path / "msr_paraphrase_train.txt").write_bytes("\r\n".join(["\ufeff" + lines[0], *lines[1:], ""]).encode())
    parts = read_msrp(RejectLedger(strict=True), str(tmp_path))
    assert list(parts) == ["train"]
    first, second = parts["train"]()
    assert (first.source, first.target, first.label) == ('He said "yes', "He agreed", 1)
    assert (first.source_lang, first.item, first.line) == ("eng", "", 2)
    assert (second.target, second.label) == ("B", 0)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1\t10\t11\tA\tB"], r"train\.txt:1: expected the header"),
        ([HEADER, "1\t10\t11\tA"], r"train\.txt:2: expected 5 columns by TAB, found 4"),
        ([HEADER, "yes\t10\t11\tA\tB"], r"train\.txt:2: expected label 0 .*, found 'yes'"),
    ],
)
def test_what_is_no_msrp_is_an_error_with_file_and_line(tmp_path: Path, lines: list[str], message: str) -> None:
    (tmp_path / "msr_paraphrase_train.txt").write_text("\n".join(lines))
    with pytest.raises(ValueError, match=message):
        read_msrp(RejectLedger(strict=False), str(tmp_path))["train"]()


def test_a_folder_without_the_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"msr_paraphrase_train\.txt and msr_paraphrase_test\.txt"):
        read_msrp(RejectLedger(strict=False), str(tmp_path))


def test_the_real_corpus_has_its_published_sizes(shared_data: Path) -> None:
    folder = existing(shared_data / "msrp")
    parts = read_msrp(RejectLedger(strict=True), str(folder))
    labels = {part: Counter(row.label for row in rows()) for part, rows in parts.items()}
    # Dolan and Brockett 2005: 4,076 and 1,725 pairs, of which 2,753 and 1,147 are paraphrases.
    assert labels == {"train": {1: 2753, 0: 1323}, "test": {1: 1147, 0: 578}}
