"""Microsoft Research Paraphrase Corpus (MSRP, MRPC) reader: English news pairs with human labels."""

from functools import partial
from pathlib import Path

from xsent.data.readers.labelled import LabelledRow, PartReaders, parse_label, read_rows
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
        raise FileNotFoundError(
            f"{folder}: expected {' and '.join(FILES.values())}, found neither; give the folder with data.root=..."
        )
    return {part: partial(_read_file, ledger, path) for part, path in files.items()}


def _read_file(ledger: RejectLedger, path: Path) -> list[LabelledRow]:
    file, rows = str(path), []
    for number, (label, _, _, source, target) in read_rows(ledger, path, HEADER, width=len(HEADER)):
        row = LabelledRow("", source, target, "eng", "eng", parse_label(label, file, number), file, number)
        if ledger.has_both_sides(source, target, file, number):
            rows.append(row)
    return rows
