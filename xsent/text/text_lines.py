"""Numbered lines of a UTF-8 file; errors name file and line."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path


def numbered_lines(path: Path, expected: str = "a text file") -> Iterator[tuple[int, str]]:
    """Stream lines with their 1-based numbers, without line ends; only line feeds separate them.

    Raises:
        FileNotFoundError: no such file; the message names what was ``expected``.
        ValueError: invalid UTF-8.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected {expected}, found none")
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            text = raw.removeprefix(BOM_UTF8) if number == 1 else raw
            try:
                yield number, text.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise ValueError(f"{path}:{number}: expected UTF-8, found byte 0x{text[error.start]:02x}") from error
