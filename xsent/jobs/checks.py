"""Checks before a job starts: input, output and disk space."""

import errno
import os
import shutil
import stat
from collections.abc import Collection, Iterable
from pathlib import Path

from xsent.files.atomic import check_replaceable


def check_input(path: Path) -> None:
    """Raise ``FileNotFoundError`` unless it is a file."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a text file, found none")


def check_files(
    inputs: Iterable[Path], outputs: Iterable[Path], *, work_dir: Path | None = None, makes_folder: bool = False
) -> None:
    """Check before any work that the outputs can be written, and that none of them is an input.

    Files are compared by resolved path and by inode, so that links do not hide that two names mean one file.

    Args:
        inputs: files to read; of a folder, such as that of a model, no file may be replaced.
        outputs: files to write, with those that the job writes beside its output.
        work_dir: folder of the unfinished job, which is deleted when the job is done; its lock file is beside it.
        makes_folder: the job makes the folder of its output.

    Raises:
        ValueError: an output is an input, two outputs are the same file, or one of them is no regular file or lies in
            the work folder.
        OSError: an output cannot be written.
    """
    sources, written = list(inputs), list(outputs)
    for output in written:
        _check_output(output, makes_folder)
    if work_dir is not None:
        if work_dir.exists() and not work_dir.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "expected a work folder, or none yet, found a file", str(work_dir))
        for path in (*sources, *written):
            if _is_inside(path, work_dir):
                raise ValueError(f"{path}: expected a file outside of the work folder {work_dir}, which is deleted")
        written.append(lock_path(work_dir))
    check_not_read(written, sources)
    for number, output in enumerate(written):
        if any(_is_same_file(path, output) for path in written[:number]):
            raise ValueError(f"{output}: expected different files to read and write, found two outputs of this name")


def check_not_read(outputs: Iterable[Path], inputs: Collection[Path]) -> None:
    """Raise ``ValueError`` if an output is an input, or an existing file in a folder among the inputs."""
    for output in outputs:
        for path in inputs:
            message = f"{output}: expected different files to read and write, found"
            if _is_same_file(path, output):
                raise ValueError(f"{message} the input {path}")
            if path.is_dir() and output.exists() and _is_inside(output, path):
                raise ValueError(f"{message} a file of {path}, which this command reads; it stays")


def lock_path(work_dir: Path) -> Path:
    """Lock file of a work folder."""
    return work_dir.with_name(f"{work_dir.name}.lock")


def check_free_space(path: Path, needed: int) -> None:
    """Raise ``OSError`` if fewer than ``needed`` bytes are free where ``path`` is."""
    free = shutil.disk_usage(path).free
    if free < needed:
        reason = f"not enough space: {needed:,} bytes are needed, {free:,} are free; another disk: --work-dir"
        raise OSError(errno.ENOSPC, reason, str(path))


def _check_output(output: Path, makes_folder: bool) -> None:
    folder = output.absolute().parent
    if makes_folder:
        folder = next(parent for parent in output.absolute().parents if parent.exists())
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder for the output", str(folder))
    if output.is_dir():
        raise IsADirectoryError(errno.EISDIR, "expected a file to write, found a folder", str(output))
    check_replaceable(output)
    if output.exists() and not output.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EACCES, "expected a file to replace, found one that is read-only", str(output))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "the output's folder cannot be written to", str(folder))


def _is_same_file(first: Path, second: Path) -> bool:
    """Whether both names mean one file: equal once links are followed, or hard links of it."""
    if os.path.realpath(first) == os.path.realpath(second):
        return True
    return first.exists() and second.exists() and first.samefile(second)


def _is_inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
