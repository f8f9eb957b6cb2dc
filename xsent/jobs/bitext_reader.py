"""Bitext reader: the rows of a tab-separated file that hold a sentence pair; other lines go to a ledger."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path
from typing import NamedTuple, TextIO

from xsent.config_checks import check_integer
from xsent.data.readers.lines import open_bytes
from xsent.data.readers.rejects import RejectLedger
from xsent.data.readers.tables import HEAD
from xsent.text.text_lines import numbered_lines


class Row(NamedTuple):
    """A line with a sentence pair."""

    line: int  # from 1
    columns: list[str]
    source: str
    target: str


class StreamedLedger(RejectLedger):
    """Reject ledger with bounded memory: it counts the reasons and writes each reject at once.

    With ``strict`` it raises at the first reject. ``out`` receives the rejects as TSV with a header.
    """

    def __init__(self, *, strict: bool, out: TextIO | None = None) -> None:
        super().__init__(strict=strict)
        self.reasons: Counter[str] = Counter()
        self._out = out
        if out:
            out.write("file\tline\treason\tfound\n")

    def add(self, file: str, line: int, reason: str, found: str) -> None:
        """Record a reject; ``found`` has neither tabs nor line breaks.

        Raises:
            ValueError: if strict; names file, line and reason.
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
    """Columns of the two sentences; ``ValueError`` for a number below 1, or two equal ones."""

    source: int  # from 1
    target: int
    header: bool  # whether the first line has the column names

    def __post_init__(self) -> None:
        check_integer("source_column", self.source, minimum=1)
        check_integer("target_column", self.target, minimum=1)
        if self.source == self.target:
            raise ValueError(f"source_column and target_column are both {self.source}: expected two columns")


class BitextReader:
    """One pass over a tab-separated file, plain or ``.gz``; iterate over it for the rows.

    The header, or most of the first lines with enough columns, sets the number of columns of all lines.

    Attributes, complete after the pass:
        names: of the columns: the header, or ``source``, ``target`` and e.g. ``column3``.
        sha256: of the uncompressed bytes.

    Raises:
        ValueError: while reading: a header without these columns or a damaged archive; at the end: more than half of
            the lines have another number of columns than the line that set it.
    """

    def __init__(self, path: Path, columns: Columns, ledger: RejectLedger) -> None:
        self.path, self.columns, self.ledger = path, columns, ledger
        self.names: list[str] = []
        self.sha256 = ""
        self._width: int | None = None

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows with a pair, in order."""
        name, columns = str(self.path), self.columns
        minimum = max(columns.source, columns.target)
        reference_line = mismatches = lines = 0
        for number, cells in self._lines():
            if not self.names and columns.header:
                if number > 1 or len(cells) < minimum:
                    actual = "a line that is not UTF-8" if number > 1 else f"{len(cells)}"
                    raise ValueError(f"{name}:1: expected names of at least {minimum} columns, found {actual}")
                self.names, reference_line = cells, number
                continue
            if not self.names and len(cells) >= minimum and self._width in (None, len(cells)):
                sides = {columns.source: "source", columns.target: "target"}
                self.names = [sides.get(column, f"column{column}") for column in range(1, len(cells) + 1)]
                reference_line = number
            lines += 1
            if len(cells) != len(self.names):
                mismatches += 1
                expected = len(self.names) or self._width or f"at least {minimum}"
                self.ledger.add(name, number, f"expected {expected} columns", f"{len(cells)}")
                continue
            source, target = cells[columns.source - 1], cells[columns.target - 1]
            if _has_visible_text(source) and _has_visible_text(target):
                yield Row(number, cells, source, target)
            else:
                self.ledger.add(name, number, "empty side", f"{source[:40]!r} and {target[:40]!r}")
        if self.names and 2 * mismatches > lines:
            raise ValueError(
                f"{name}:{reference_line}: this line has {len(self.names)} columns, {mismatches:,} of {lines:,} have"
                " another number: expected the same number in all; correct or remove it"
            )

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        digest = hashlib.sha256()

        def hashed(file: Iterable[bytes]) -> Iterator[bytes]:
            for line in file:
                digest.update(line)
                yield line

        with open_bytes(self.path) as file:
            head = list(islice(file, HEAD))
            self._width = self._common_width(head)
            for number, text in numbered_lines(hashed(chain(head, file)), str(self.path), self.ledger):
                yield number, text.split("\t")
        self.sha256 = digest.hexdigest()

    def _common_width(self, head: Iterable[bytes]) -> int | None:
        """Number of columns that most of the first lines have, of those with enough columns; None if none has."""
        lines = numbered_lines(head, str(self.path), RejectLedger(strict=False))
        widths = Counter(text.count("\t") + 1 for _, text in lines)
        minimum = max(self.columns.source, self.columns.target)
        return max((width for width in widths if width >= minimum), key=widths.__getitem__, default=None)


def extend_names(columns: Sequence[str], new_columns: Sequence[str]) -> list[str]:
    """Column names with new ones appended; a name that exists gets a number, e.g. ``score_2``."""
    names = list(columns)
    for name in new_columns:
        variants = chain([name], (f"{name}_{number}" for number in count(2)))
        names.append(next(variant for variant in variants if variant not in names))
    return names


def _has_visible_text(text: str) -> bool:
    """Whether a character is visible; zero-width spaces and byte-order marks are not."""
    return any(character.isprintable() and character != " " for character in text)
