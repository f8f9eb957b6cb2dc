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

    Raises:
        ValueError: there is something else than a file under the name, such as a folder or a device.
    """
    if path.exists() and not path.is_file():
        # Renamed onto, /dev/null would be a plain file from then on.
        raise ValueError(f"{path}: expected a file to write, or none yet, found something else (a folder or device)")
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
