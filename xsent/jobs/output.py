"""The file of mined pairs: looked at before any work, written as a whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from xsent.data.whole_file import whole_file
from xsent.evaluation.mining import MinedPairs
from xsent.jobs.sentences import Sentences
from xsent.jobs.work import naming_a_full_disk

HEADER = "score\tsource_line\ttarget_line\tsource\ttarget\n"


def check_output(output: Path) -> None:
    """Raise ``OSError`` if a file cannot be written there."""
    folder = output.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder for the output", str(folder))
    if output.is_dir():
        raise IsADirectoryError(errno.EISDIR, "expected a file to write, found a folder", str(output))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "the output's folder cannot be written to", str(folder))


def write_pairs(output: Path, pairs: MinedPairs, source: Sentences, target: Sentences) -> None:
    """Write TSV with a header: score, line numbers from 1, sentences; a tab inside a sentence becomes a space.

    Raises:
        OSError: the disk is full; what was there before stays.
    """
    lines = source.line_numbers(), target.line_numbers()
    with naming_a_full_disk(output), whole_file(output) as out:
        out.write(HEADER)
        for score, i, j in zip(*(column.tolist() for column in pairs), strict=True):
            texts = (text.replace("\t", " ") for text in (source[i], target[j]))
            out.write("\t".join([f"{score:.6f}", str(lines[0][i]), str(lines[1][j]), *texts]) + "\n")
