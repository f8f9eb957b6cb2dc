"""Text, JSON and TSV files whose lines must all be valid; plain or gzipped, and errors name file and line."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from xsent.data.readers.rejects import RejectLedger
from xsent.files.archives import open_gzip
from xsent.files.strict_json import parse_json
from xsent.languages import to_iso639_3
from xsent.text.text_lines import numbered_lines


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file; ``.gz`` is decompressed.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a damaged or truncated archive, or a decompression bomb, found while reading; names the file.
    """
    if path.suffix != ".gz":
        with path.open("rb") as file:
            yield file
        return
    with open_gzip(path) as unpacked:
        yield unpacked


def read_lines(path: Path) -> list[str]:
    """All lines of a test file, which must all be valid.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line is not UTF-8; names file and line.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a text file, found {'a folder' if path.is_dir() else 'none'}")
    return list(valid_lines(path, str(path), "no line of this file may be left out"))


def valid_lines(path: Path, name: str, why: str) -> Iterator[str]:
    """Lines of a file that must all be valid, streamed.

    Args:
        path: the file.
        name: of the file in messages.
        why: end of the message, such as "every line needs a vector".

    Raises:
        ValueError: a line is not UTF-8; names file and line.
    """
    ledger = RejectLedger(strict=False)
    with open_bytes(path) as file:
        for _, text in numbered_lines(file, name, ledger):
            if ledger.rejects:
                break
            yield text
    if ledger.rejects:
        name, line, reason, value = ledger.rejects[0]
        raise ValueError(f"{name}:{line}: {reason}, found {value}; {why}")


def read_json(path: Path) -> Any:
    """Content of a JSON file.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it is not UTF-8 or not JSON; names the file and, where known, the line.
    """
    lines = read_lines(path)
    try:
        return parse_json("\n".join(lines))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: expected JSON, found {error.msg}") from error
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON, found {error}") from error


def read_columns(path: Path, *widths: int) -> list[tuple[str, list[str]]]:
    """Location (``file:line``) and TAB-separated columns of each line.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line is not UTF-8 or has another number of columns, or the file is empty.
    """
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) not in widths:
            expected = " or ".join(map(str, widths))
            raise ValueError(f"{path}:{number}: expected {expected} columns by TAB, found {len(columns)}")
        rows.append((f"{path}:{number}", columns))
    if not rows:
        raise ValueError(f"{path}: expected at least 1 line, found an empty file")
    return rows


def check_aligned(path: Path, lines: int, reference: Path, reference_lines: int) -> None:
    """Raise ``ValueError`` if two files have different numbers of lines."""
    if lines != reference_lines:
        raise ValueError(f"{path} has {lines} lines, {reference} has {reference_lines}: they must be line-aligned")


def existing_folder(root: str, option: str) -> Path:
    """The folder; raise ``FileNotFoundError`` with the option that sets it."""
    folder = Path(root)
    if not folder.is_dir():
        problem = "expected a folder, found a file" if folder.is_file() else "no such folder"
        raise FileNotFoundError(f"{folder}: {problem}; give one with {option}=...")
    return folder


def select_available(
    requested: Sequence[str] | None,
    available: Iterable[str],
    folder: Path,
    kind: str,
    normalize: Callable[[str], str] = to_iso639_3,
) -> list[str]:
    """The requested names, normalised, or all; raise ``FileNotFoundError`` if one is not available, or none is."""
    names = list(available)
    selected = names if requested is None else [normalize(name) for name in requested]
    missing = [name for name in selected if name not in names]
    if missing or not selected:
        raise FileNotFoundError(
            f"{folder}: no {kind} for {', '.join(missing) or 'any language'}; there are"
            f" {', '.join(sorted(names)) or 'none'}"
        )
    return selected
