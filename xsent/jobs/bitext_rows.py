"""The rows of a bitext in columns: a stream of those that hold a pair, and of the others a list on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TextIO

from xsent.data.lines import numbered_lines, open_bytes
from xsent.data.rejects import RejectLedger


class Row(NamedTuple):
    """A line that holds a pair."""

    line: int  # from 1
    columns: list[str]
    source: str
    target: str


class StreamedLedger(RejectLedger):
    """A ledger that keeps counts alone, so that a file may have any number of bad lines.

    Args:
        strict: stop at the first reject instead.
        out: where rejects are written as they come, as TSV with a header; None: nowhere.
    """

    def __init__(self, *, strict: bool, out: TextIO | None = None) -> None:
        super().__init__(strict=strict)
        self.reasons: Counter[str] = Counter()
        self._out = out
        if out:
            out.write("file\tline\treason\tfound\n")

    def add(self, file: str, line: int, reason: str, found: str) -> None:
        """Note a reject; ``found`` has neither tab nor line break.

        Raises:
            ValueError: if strict; names file and line, the reason and what was found.
        """
        if self.strict:
            raise ValueError(f"{file}:{line}: {reason}, found {found} (strict)")
        self.reasons[reason] += 1
        if self._out:
            self._out.write(f"{file}\t{line}\t{reason}\t{found}\n")

    def summary(self) -> str:
        """One line, e.g. ``12 of 848,005 lines rejected (8 empty side, 4 broken UTF-8)``."""
        text = f"{self.reasons.total():,} of {self.lines:,} lines rejected"
        if self.reasons:
            text += f" ({', '.join(f'{count:,} {reason}' for reason, count in self.reasons.most_common())})"
        return text


@dataclass(frozen=True)
class Columns:
    """Where the sentences stand.

    Attributes:
        source, target: numbers of the columns, from 1.
        header: whether the first line names them.

    Raises:
        ValueError: a number below 1, or the same twice.
    """

    source: int
    target: int
    header: bool

    def __post_init__(self) -> None:
        for side, number in (("source", self.source), ("target", self.target)):
            if not isinstance(number, int) or number < 1:
                raise ValueError(f"{side}_column={number}: expected a whole number, at least 1")
        if self.source == self.target:
            raise ValueError(f"source_column and target_column are both {self.source}: expected two columns")

    @property
    def least(self) -> int:
        """How many columns a row needs."""
        return max(self.source, self.target)

    def names(self, path: Path) -> list[str]:
        """Names of the columns of a file; of one without a header ``source``, ``target`` and e.g. ``column3``."""
        for _, columns in _lines_in_columns(path, RejectLedger(strict=False)):
            if self.header or len(columns) >= self.least:
                sides = {self.source: "source", self.target: "target"}
                return columns if self.header else [sides.get(n, f"column{n}") for n in range(1, len(columns) + 1)]
        return []


def read_rows(path: Path, columns: Columns, ledger: RejectLedger) -> Iterator[Row]:
    """The rows of a file of columns by tab, plain or ``.gz``; what holds no pair goes to the ledger.

    The first line with the columns asked for says how many every line has.

    Raises:
        ValueError: a header without these columns, or a damaged archive; at the end, that more than half of the lines
            have another number of columns than the one that says how many: that one is the odd one.
    """
    name, expected = str(path), 0
    told_by = others = lines = 0
    for number, found in _lines_in_columns(path, ledger):
        if columns.header and not expected:
            if number > 1 or len(found) < columns.least:
                had = "a line that is not UTF-8" if number > 1 else f"{len(found)}"
                raise ValueError(f"{name}:1: expected names of at least {columns.least} columns, found {had}")
            expected, told_by = len(found), number
            continue
        if not expected and len(found) >= columns.least:
            expected, told_by = len(found), number
        lines += 1
        if len(found) != expected:
            others += 1
            wanted = expected or f"at least {columns.least}"
            ledger.add(name, number, f"expected {wanted} columns", f"{len(found)}")
            continue
        source, target = found[columns.source - 1], found[columns.target - 1]
        if _says_something(source) and _says_something(target):
            yield Row(number, found, source, target)
        else:
            ledger.add(name, number, "empty side", f"{source[:40]!r} and {target[:40]!r}")
    if expected and 2 * others > lines:
        raise ValueError(
            f"{name}:{told_by}: this line has {expected} columns, {others:,} of {lines:,} have another number: expected"
            " them alike; mend or remove it"
        )


def with_names(columns: Sequence[str], more: Sequence[str]) -> list[str]:
    """All names; of the latter one gets a number behind it where the former have it already."""
    names = list(columns)
    for name in more:
        number = 2
        unused = name
        while unused in names:
            unused = f"{name}_{number}"
            number += 1
        names.append(unused)
    return names


def _lines_in_columns(path: Path, ledger: RejectLedger) -> Iterator[tuple[int, list[str]]]:
    with open_bytes(path) as file:
        for number, text in numbered_lines(file, str(path), ledger):
            yield number, text.split("\t")


def _says_something(text: str) -> bool:
    """Whether there is a sign to be seen; zero-width spaces and byte-order marks are none."""
    return any(sign.isprintable() and sign != " " for sign in text)
