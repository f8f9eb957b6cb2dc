"""The distinct sentences of a file: read as a stream, kept on disk, found again by row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from xsent.data.lines import numbered_lines, open_bytes
from xsent.data.rejects import RejectLedger
from xsent.jobs.work import WorkFolder, write_array

# What is kept of a line until it is known which are distinct.
LINE = np.dtype([("digest", "<u8", 2), ("number", "<i8"), ("size", "<i8")])
AT_ONCE = 2**16  # lines that wait for being written
PART = 2**22  # digests that are sorted at a time: 64 MB


class Counts(NamedTuple):
    """What became of the lines of a file."""

    lines: int
    rejected: int  # not UTF-8
    empty: int  # nothing but white space
    repeated: int  # an earlier line says the same
    distinct: int

    def __str__(self) -> str:
        return (
            f"{self.lines:,} lines, {self.distinct:,} distinct sentences ({self.repeated:,} repeated,"
            f" {self.empty:,} empty, {self.rejected:,} not UTF-8)"
        )


class Sentences:
    """N distinct sentences of one file, by row, in the order of their first lines.

    Sentences are equal that differ in white space at their ends alone; it is not kept.

    Args:
        work: where they lie.
        kind: shard of this file, e.g. ``source``.
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
        """(N,) number in the file, from 1, of the line that each sentence stands in first."""
        numbers: NDArray[np.int64] = np.array(self.work.array(self.kind, 0, "numbers"), dtype=np.int64)
        return numbers

    def counts(self) -> Counts:
        """What became of the lines of the file."""
        return Counts(*(int(count) for count in self.work.array(self.kind, 0, "counts")))


def read_sentences(path: Path, work: WorkFolder, kind: str, *, rejects: Path) -> Sentences:
    """Read a file of one sentence a line, plain or ``.gz``, twice: first for digests, then for the text.

    Memory: some 80 bytes a line, whatever the text.

    Args:
        path: the file.
        work, kind: the shard to make, unless it is there.
        rejects: where lines that are not UTF-8 are listed, if there are any.

    Raises:
        ValueError: no line holds a sentence; says what the lines are.
        OSError: the disk is full.
    """
    work.make(kind, 0, lambda folder: _write(path, folder, rejects))
    return Sentences(work, kind)


def _write(path: Path, folder: Path, rejects: Path) -> None:
    ledger = RejectLedger(strict=False)
    lines = folder / "lines.tmp"
    with lines.open("wb") as out:
        for some in _digests(path, ledger):
            out.write(some.data)
    known = np.fromfile(lines, dtype=LINE)
    lines.unlink()
    kept = known[_is_first(known["digest"])]
    empty = ledger.lines - len(ledger.rejects) - len(known)
    counts = Counts(ledger.lines, len(ledger.rejects), empty, len(known) - len(kept), len(kept))
    if ledger.rejects:
        ledger.write(rejects)
    if not len(kept):
        raise ValueError(f"{path}: expected a sentence a line, found {counts}")
    for name, values in [("numbers", kept["number"]), ("ends", kept["size"].cumsum()), ("counts", np.array(counts))]:
        write_array(folder / f"{name}.npy", [values], dtype=np.int64, shape=values.shape)
    size = int(kept["size"].sum())
    write_array(folder / "text.npy", _texts(path, kept["number"], counts.lines), dtype=np.uint8, shape=(size,))


def _digests(path: Path, ledger: RejectLedger) -> Iterator[NDArray[np.void]]:
    rows: list[tuple[tuple[int, int], int, int]] = []
    with open_bytes(path) as file:
        bar = tqdm(numbered_lines(file, str(path), ledger), desc=f"reading {path.name}", unit=" lines", delay=2)
        for number, text in bar:
            raw = text.strip().encode()
            if raw:
                digest = hashlib.blake2b(raw, digest_size=16).digest()
                rows.append(
                    ((int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")), number, len(raw))
                )
            if len(rows) == AT_ONCE:
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
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        first[order[new]] = True
    return first


def _texts(path: Path, numbers: NDArray[np.int64], lines: int) -> Iterator[NDArray[np.uint8]]:
    wanted = np.zeros(lines + 1, dtype=np.bool_)
    wanted[numbers] = True
    text = bytearray()
    with open_bytes(path) as file:
        for number, line in numbered_lines(file, str(path), RejectLedger(strict=False)):
            if wanted[number]:
                text += line.strip().encode()
            if len(text) > 2**24:
                yield np.frombuffer(bytes(text), dtype=np.uint8)
                text.clear()
    yield np.frombuffer(bytes(text), dtype=np.uint8)
