"""Strict reading of text files: a line ends at ``\\n`` and nowhere else, and is UTF-8 or rejected."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from xsent.data.rejects import RejectLedger


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file, unpacking ``.gz`` on the way.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a damaged or truncated archive, found while reading; names the file.
    """
    if path.suffix != ".gz":
        with path.open("rb") as file:
            yield file
        return
    try:
        with gzip.open(path, "rb") as packed:
            yield cast(BinaryIO, packed)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}: expected a complete gzip file, found a damaged one ({error})") from error


def numbered_lines(file: Iterable[bytes], name: str, ledger: RejectLedger) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of each line; a line that is not UTF-8 goes to the ledger.

    Only ``\\n`` ends a line (never U+2028, U+0085 or a form feed, as in ``str.splitlines``); one ``\\r``
    before it is dropped. Quotes mean nothing. A byte-order mark at the start is no text.
    """
    number = 0
    try:
        for number, raw in enumerate(file, start=1):
            if raw.endswith(b"\n"):
                raw = raw[:-2] if raw.endswith(b"\r\n") else raw[:-1]
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                found = f"byte 0x{raw[error.start]:02x} at position {error.start}"
                ledger.add(name, number, "broken UTF-8", found)
            else:
                yield number, text
    finally:
        ledger.lines += number


def read_lines(path: Path) -> list[str]:
    """All lines of a test file, where no line may be left out.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line is not UTF-8; names file and line.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a text file, found none")
    ledger = RejectLedger(strict=False)
    with open_bytes(path) as file:
        lines = [text for _, text in numbered_lines(file, str(path), ledger)]
    if ledger.rejects:
        file_name, line, reason, found = ledger.rejects[0]
        raise ValueError(f"{file_name}:{line}: {reason}, found {found}; no line of this file may be left out")
    return lines
