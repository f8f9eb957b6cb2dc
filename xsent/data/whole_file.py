"""Text files that are there as a whole or not at all, however long it takes to write them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 file for writing, and its folder if need be.

    It appears under its name when the block ends; when the block raises, an earlier file stays and
    nothing is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Several processes may write the same content at once.
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
