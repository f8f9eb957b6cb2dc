"""The lines that were not used, each with its reason: nothing is lost without a word."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from xsent.data.whole_file import whole_file

log = logging.getLogger(__name__)


class Reject(NamedTuple):
    """A line that is no sentence pair."""

    file: str
    line: int  # from 1
    reason: str  # what was expected and is counted by, e.g. "empty side"
    found: str


class RejectLedger:
    """Collects rejected lines; one ledger accompanies one reading.

    Args:
        strict: stop at the first reject instead.
    """

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        self.rejects: list[Reject] = []
        self.lines = 0  # all lines read, good and bad; the line reader counts them
        self._path: Path | None = None

    def add(self, file: str, line: int, reason: str, found: str) -> None:
        """Note a reject.

        Raises:
            ValueError: if strict; names file and line, the reason and what was found.
        """
        if self.strict:
            raise ValueError(f"{file}:{line}: {reason}, found {found} (data.strict=true)")
        self.rejects.append(Reject(file, line, reason, found))

    def summary(self) -> str:
        """One line, e.g. ``12 of 848,005 lines rejected (8 empty side, 4 broken UTF-8): <file>``."""
        reasons = Counter(reject.reason for reject in self.rejects)
        text = f"{len(self.rejects):,} of {self.lines:,} lines rejected"
        if reasons:
            text += f" ({', '.join(f'{count:,} {reason}' for reason, count in reasons.most_common())})"
        return f"{text}: {self._path}" if self._path else text

    def write(self, path: Path) -> None:
        """Write all rejects as TSV with a header, in one step, and log the summary if there are any."""
        rows = ["file\tline\treason\tfound"]
        rows += ["\t".join(_one_cell(str(cell)) for cell in reject) for reject in self.rejects]
        with whole_file(path) as file:  # under DDP every rank writes the same content
            file.write("\n".join(rows) + "\n")
        self._path = path
        if self.rejects:
            log.warning("%s", self.summary())


def _one_cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
