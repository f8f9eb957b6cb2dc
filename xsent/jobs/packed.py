"""What a job writes line by line: packed if the name says so, there as a whole or not at all."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from xsent.data.whole_file import whole_file
from xsent.jobs.work import naming_a_full_disk


@contextmanager
def writing_bytes(path: Path) -> Iterator[BinaryIO]:
    """A file for writing bytes, packed if its name ends in ``.gz``; there as a whole or not at all."""
    with naming_a_full_disk(path), whole_file(path) as file:
        if path.suffix != ".gz":
            yield file.buffer
            return
        # Without a name and a time in it, the same text gives the same bytes.
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file.buffer, mtime=0) as packed:
            yield cast(BinaryIO, packed)


@contextmanager
def writing_text(path: Path) -> Iterator[TextIO]:
    """``writing_bytes`` of a text in UTF-8, its line ends as they are."""
    with writing_bytes(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield text
        text.detach()  # writes what is left; whoever opened the file closes it
