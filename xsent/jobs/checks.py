"""Checks before a job starts: input, output and disk space."""

import errno
import os
import shutil
from pathlib import Path


def check_input(path: Path) -> None:
    """Raise ``FileNotFoundError`` unless it is a file."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a text file, found none")


def check_output(output: Path) -> None:
    """Raise ``OSError`` if a file cannot be written there."""
    folder = output.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder for the output", str(folder))
    if output.is_dir():
        raise IsADirectoryError(errno.EISDIR, "expected a file to write, found a folder", str(output))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "the output's folder cannot be written to", str(folder))


def check_different(*paths: Path) -> None:
    """Raise ``ValueError`` if two of the files to read and write are the same."""
    resolved = [path.resolve() for path in paths]
    for path in paths:
        if resolved.count(path.resolve()) > 1:
            raise ValueError(f"{path}: expected different files to read and write, found one of them twice")


def check_free_space(path: Path, needed: int) -> None:
    """Raise ``OSError`` if fewer than ``needed`` bytes are free where ``path`` is."""
    free = shutil.disk_usage(path).free
    if free < needed:
        reason = f"not enough space: {needed:,} bytes are needed, {free:,} are free; another disk: --work-dir"
        raise OSError(errno.ENOSPC, reason, str(path))
