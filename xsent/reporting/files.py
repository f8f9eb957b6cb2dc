"""Files that are there as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

from xsent.data.whole_file import whole_file


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text, and the folder if need be; a file that was there stays until the new one is complete."""
    with whole_file(path) as file:
        file.write(text)
