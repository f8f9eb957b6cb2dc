"""Microsoft Research Paraphrase Corpus (MSRP, MRPC) reader: English news pairs with human labels."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from xsent.data.readers.labelled import LabelledRow, PartReaders, has_both_sides, parse_label
from xsent.data.readers.lines import read_lines
from xsent.data.readers.rejects import RejectLedger

FILES = {"train": "msr_paraphrase_train.txt", "test": "msr_paraphrase_test.txt"}
HEADER = ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"]


def read_msrp(ledger: RejectLedger, root: str) -> PartReaders:
    """Read ``msr_paraphrase_train.txt`` and ``msr_paraphrase_test.txt``; the corpus has no validation part.

    The ledger gets lines with an empty side.

    Raises:
        FileNotFoundError: the folder has neither file.
        ValueError: another header or number of columns, a label that is neither 0 nor 1.

    Source:
        Dolan and Brockett 2005, Automatically Constructing a Corpus of Sentential Paraphrases.
    """
    folder = Path(root)
    files = {part: folder / name for part, name in FILES.items() if (folder / name).is_file()}
    if not files:
        raise FileNotFoundError(f"{folder}: expected {' and '.join(FILES.values())}, found neither")
    return {part: partial(_read_file, ledger, path) for part, path in files.items()}


def _read_file(ledger: RejectLedger, path: Path) -> list[LabelledRow]:
    name, rows = str(path), []
    lines = read_lines(path)
    ledger.lines += len(lines)
    for number, line in enumerate(lines, start=1):
        columns = line.split("\t")
        if number == 1:
            if columns != HEADER:
                raise ValueError(f"{name}:1: expected the header {' '.join(HEADER)!r}, found {line[:80]!r}")
            continue
        if len(columns) != len(HEADER):
            raise ValueError(f"{name}:{number}: expected {len(HEADER)} columns by TAB, found {len(columns)}")
        label, _, _, source, target = columns
        row = LabelledRow("", source, target, "eng", "eng", parse_label(label, name, number), name, number)
        if has_both_sides(row, ledger):
            rows.append(row)
    return rows
