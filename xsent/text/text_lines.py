r"""Numbered lines of UTF-8 text: only ``\n`` ends a line; UTF-16 and UTF-32 are refused."""

import codecs
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NoReturn, Protocol


class Rejects(Protocol):
    """Receives the lines that are not UTF-8, and at the end the number of all lines."""

    def add(self, file: str, line: int, reason: str, found: str) -> None: ...

    def count(self, file: str, lines: int) -> None: ...


class _Refusal:
    """Raises ``ValueError`` at the first reject."""

    def add(self, file: str, line: int, reason: str, found: str) -> NoReturn:
        raise ValueError(f"{file}:{line}: expected UTF-8, found {found}")

    def count(self, file: str, lines: int) -> None: ...


def numbered_lines(file: Iterable[bytes], name: str, rejects: Rejects) -> Iterator[tuple[int, str]]:
    r"""Number (from 1) and text of each line; lines that are not UTF-8 go to the rejects.

    Only ``\n`` ends a line; U+2028, U+0085 and form feeds, at which ``str.splitlines`` splits, do not. One ``\r``
    before it is removed, and so is a byte-order mark at the start. Quotes have no meaning.

    Raises:
        ValueError: the file is UTF-16 or UTF-32.
    """
    number = 0
    lines = iter(file)
    try:
        start = list(islice(lines, 2))
        check_encoding(start, name)
        for number, raw in enumerate(chain(start, lines), start=1):
            if number == 1:
                raw = raw.removeprefix(codecs.BOM_UTF8)
            if raw.endswith(b"\n"):
                raw = raw[:-2] if raw.endswith(b"\r\n") else raw[:-1]
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                rejects.add(name, number, "broken UTF-8", f"byte 0x{raw[error.start]:02x} at position {error.start}")
            else:
                yield number, text
    finally:
        rejects.count(name, number)


def check_encoding(lines: Sequence[bytes], name: str) -> None:
    """Raise ``ValueError`` if the first two lines of a file are UTF-16 (as spreadsheets save text) or UTF-32.

    Their byte-order mark tells, or NUL bytes: one beside the first line feed, or in a third of the first line.
    """
    first, second = (*lines, b"", b"")[:2]
    if first.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        found = "UTF-32"
    elif first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        found = "UTF-16"
    elif first.endswith(b"\0\n") or second.startswith(b"\0") or 0 < len(first) <= 3 * first.count(0):
        found = "NUL bytes, as UTF-16 and UTF-32 have them"
    else:
        return
    raise ValueError(f"{name}:1: expected UTF-8, found {found}; save the file as UTF-8")


def read_numbered(path: Path, expected: str = "a text file") -> Iterator[tuple[int, str]]:
    """Stream the lines of a file that must all be UTF-8, as ``numbered_lines`` does.

    Raises:
        FileNotFoundError: no such file; the message names what was ``expected``.
        ValueError: not UTF-8; names file and line.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected {expected}, found none")
    with path.open("rb") as file:
        yield from numbered_lines(file, str(path), _Refusal())
