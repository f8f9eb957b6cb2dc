"""Distinct sentences of a text file, deduplicated in bounded memory and stored on disk by row."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from xsent.data.readers.lines import open_bytes
from xsent.data.readers.rejects import RejectLedger
from xsent.files.array_file import save_array, write_array
from xsent.jobs.work_folder import WorkFolder
from xsent.text.text_lines import numbered_lines

# Record of a line, for deduplication.
LINE = np.dtype([("digest", "<u8", 2), ("number", "<i8"), ("size", "<i8")])
BUFFER = 2**16  # lines per write
PART = 2**22  # digests sorted at a time: 64 MB


class Counts(NamedTuple):
    """Counts of the lines of a file."""

    lines: int
    rejected: int  # not UTF-8
    empty: int  # only white space
    repeated: int  # equal to an earlier line
    distinct: int

    def __str__(self) -> str:
        return (
            f"{self.lines:,} lines, {self.distinct:,} distinct sentences ({self.repeated:,} repeated,"
            f" {self.empty:,} empty, {self.rejected:,} not UTF-8)"
        )


class Sentences:
    """N distinct sentences of a file by row, in the order of their first lines.

    White space at both ends is removed before the comparison.

    ``kind`` is the shard of the file, e.g. ``source``.
    """

    def __init__(self, work: WorkFolder, kind: str) -> None:
        self.work, self.kind = work, kind
        self._ends = work.array(kind, 0, "ends")
        self._text = work.array(kind, 0, "text")

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, row: int) -> str:
        start = int(self._ends[row - 1]) if row else 0
        return self._text[start : int(self._ends[row])].tobytes().decode("utf-8")

    def texts(self, first: int, last: int) -> list[str]:
        """The sentences of rows ``first`` to ``last``."""
        return [self[row] for row in range(first, min(last, len(self)))]

    def line_numbers(self) -> NDArray[np.int64]:
        """(N,) number of the first line of each sentence, from 1."""
        numbers: NDArray[np.int64] = np.array(self.work.array(self.kind, 0, "numbers"), dtype=np.int64)
        return numbers

    def counts(self) -> Counts:
        """Counts of the lines of the file."""
        return Counts(*(int(count) for count in self.work.array(self.kind, 0, "counts")))


def read_sentences(path: Path, work: WorkFolder, kind: str, *, rejects: Path) -> Sentences:
    """Store the distinct sentences of a file; reads it twice, first for digests, then for the text.

    Memory: about 80 bytes per line. ``rejects`` lists the lines that are not UTF-8, if there are any.

    Raises:
        ValueError: no line has a sentence; gives the counts.
        OSError: the disk is full.
    """
    work.make(kind, 0, lambda folder: _write(path, folder, rejects))
    return Sentences(work, kind)


def _write(path: Path, folder: Path, rejects: Path) -> None:
    ledger = RejectLedger(strict=False)
    lines = folder / "lines.tmp"
    with lines.open("wb") as out:
        for records in _digests(path, ledger):
            out.write(records.data)
    records = np.fromfile(lines, dtype=LINE)
    lines.unlink()
    distinct = records[_is_first(records["digest"])]
    empty = ledger.lines - len(ledger.rejects) - len(records)
    counts = Counts(ledger.lines, len(ledger.rejects), empty, len(records) - len(distinct), len(distinct))
    if ledger.rejects:
        ledger.write(rejects)
    if not len(distinct):
        raise ValueError(f"{path}: expected one sentence per line, found {counts}")
    numbers, ends = distinct["number"], distinct["size"].cumsum()
    for name, values in [("numbers", numbers), ("ends", ends), ("counts", np.array(counts))]:
        save_array(folder / f"{name}.npy", values.astype(np.int64, copy=False))
    write_array(folder / "text.npy", _texts(path, numbers, counts.lines), dtype=np.uint8, shape=(int(ends[-1]),))


def _digests(path: Path, ledger: RejectLedger) -> Iterator[NDArray[np.void]]:
    rows: list[tuple[tuple[int, int], int, int]] = []
    with open_bytes(path) as file:
        bar = tqdm(numbered_lines(file, str(path), ledger), desc=f"reading {path.name}", unit=" lines", delay=2)
        for number, text in bar:
            raw = text.strip().encode()
            if raw:
                digest = hashlib.blake2b(raw, digest_size=16).digest()
                halves = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
                rows.append((halves, number, len(raw)))
            if len(rows) == BUFFER:
                yield np.array(rows, dtype=LINE)
                rows.clear()
    yield np.array(rows, dtype=LINE)


def _is_first(digests: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether no earlier row has the same digest: (N, 2) -> (N,)."""
    first = np.zeros(len(digests), dtype=np.bool_)
    parts = len(digests) // PART + 1
    for part in range(parts):  # equal digests are in one part
        rows = np.flatnonzero(digests[:, 0] % np.uint64(parts) == part)
        order = rows[np.lexsort((rows, digests[rows, 1], digests[rows, 0]))]
        ordered = digests[order]
        differs = np.ones(len(order), dtype=np.bool_)
        differs[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        first[order[differs]] = True
    return first


def _texts(path: Path, numbers: NDArray[np.int64], lines: int) -> Iterator[NDArray[np.uint8]]:
    is_distinct = np.zeros(lines + 1, dtype=np.bool_)
    is_distinct[numbers] = True
    text = bytearray()
    with open_bytes(path) as file:
        for number, line in numbered_lines(file, str(path), RejectLedger(strict=False)):
            if is_distinct[number]:
                text += line.strip().encode()
            if len(text) > 2**24:
                yield np.frombuffer(bytes(text), dtype=np.uint8)
                text.clear()
    yield np.frombuffer(bytes(text), dtype=np.uint8)
