"""Ledger of rejected lines, each with its location and reason."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from xsent.files.atomic import write_text

log = logging.getLogger(__name__)

T = TypeVar("T")


class Reject(NamedTuple):
    """A line that is not a sentence pair."""

    file: str
    line: int  # from 1
    reason: str  # what was expected, e.g. "empty side"; the summary counts by it
    found: str


@dataclass(kw_only=True)
class RejectLedger:
    """Collects the rejected lines of one reading, of whole files or of their beginning."""

    strict: bool  # raise an error at the first reject instead
    max_lines: int | None = None  # to read of each file; None: all
    rejects: list[Reject] = field(init=False, default_factory=list)
    lines: int = field(init=False, default=0)  # all lines read, good and bad; the line reader counts them
    files: dict[str, int] = field(init=False, default_factory=dict)  # lines of each file
    _path: Path | None = field(init=False, default=None)

    def limited(self, lines: Iterable[T]) -> Iterator[T]:
        """The lines of a file that are to be read."""
        return islice(lines, self.max_lines)

    def add(self, file: str, line: int, reason: str, found: str) -> None:
        """Record a reject.

        Raises:
            ValueError: if strict; names file and line, the reason and what was found.
        """
        if self.strict:
            raise ValueError(f"{file}:{line}: {reason}, found {found} (data.strict=true)")
        self.rejects.append(Reject(file, line, reason, found))

    def count(self, file: str, lines: int) -> None:
        """Add lines that were read, good and bad."""
        self.lines += lines
        self.files[file] = self.files.get(file, 0) + lines

    def has_both_sides(self, source: str, target: str, file: str, line: int) -> bool:
        """Whether both sides contain text; if not, the line is recorded."""
        if source.strip() and target.strip():
            return True
        self.add(file, line, "empty side", f"{source[:40]!r} and {target[:40]!r}")
        return False

    def summary(self) -> str:
        """One line, e.g. ``12 of 848,005 lines rejected (8 empty side, 4 broken UTF-8): <file>``."""
        reasons = Counter(reject.reason for reject in self.rejects)
        text = f"{len(self.rejects):,} of {self.lines:,} lines rejected"
        if reasons:
            text += f" ({', '.join(f'{count:,} {reason}' for reason, count in reasons.most_common())})"
        return f"{text}: {self._path}" if self._path else text

    def first_reject(self) -> str:
        """The summary, after the first reject with its location, for an error where no line is left."""
        if not self.rejects:
            return self.summary()
        first = self.rejects[0]
        return f"{first.file}:{first.line}: {first.reason}, found {first.found}; {self.summary()}"

    def write(self, path: Path) -> None:
        """Write all rejects atomically as TSV with a header; log the summary if there are any."""
        rows = ["file\tline\treason\tfound"]
        rows += ["\t".join(_escape(str(cell)) for cell in reject) for reject in self.rejects]
        write_text(path, "\n".join(rows) + "\n")  # under DDP every rank writes the same content
        self._path = path
        if self.rejects:
            log.warning("%s", self.summary())


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
