"""Noise of a text file: a line in, a line out, in bounded memory, on all cores."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import islice, tee
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from xsent.data.lines import numbered_lines, open_bytes
from xsent.data.rejects import RejectLedger
from xsent.jobs.packed import writing_bytes
from xsent.text.noise import Noiser
from xsent.text.noise.parallel import CHUNK, Chunk, noised_chunks
from xsent.text.processes import processes

log = logging.getLogger(__name__)

LOG_HEADER = "line\tapplied\n"


class NoiseSummary(NamedTuple):
    """What ``noise_file`` did."""

    output: Path
    sentences: int  # lines with text
    changed: int
    applied: Counter[str]  # by transformation, whether it found something to change or not
    seconds: float  # from the first line read, other processes started within them

    def __str__(self) -> str:
        """A line: how many of what, how fast, and where."""
        share = self.changed / max(1, self.sentences)
        applied = ", ".join(f"{name} {count:,}" for name, count in sorted(self.applied.items())) or "nothing"
        return (
            f"{self.sentences:,} sentences, {self.changed:,} changed ({share:.1%}), {self.seconds:.1f} s,"
            f" {self.sentences / self.seconds:,.0f} sentences/s: {self.output}; applied {applied}"
        )


def noise_file(
    source: Path, output: Path, noiser: Noiser, *, applied_log: Path | None, workers: int | None
) -> NoiseSummary:
    """Write the noisy form of each line; blank lines stay blank.

    The key of a sentence is the number of its line, from 1. The text is read twice, first to know that it is
    whole; in memory are a few thousand lines for each process.

    Args:
        source: a sentence a line, UTF-8, plain or ``.gz``.
        output: likewise; there as a whole or not at all.
        noiser: with ``reference_rng`` one process does all.
        applied_log: TSV with a header: the number of each line, and what was applied, ``fing,0.025;cont``; None: none.
        workers: processes; None is one on each core.

    Raises:
        FileNotFoundError: no such source.
        ValueError: two of the files are one, a line is not UTF-8, or ``workers`` is below 1.
        OSError: the disk is full, or a file cannot be written.
    """
    _check_files(source, output, applied_log)
    workers = processes(workers)
    if noiser.reference_rng and workers > 1:
        log.info("reference_rng: one process, as the noise of a line depends on those before it")
    lines = sum(1 for _ in tqdm(_lines(source), desc="reading", unit=" lines", delay=2, leave=False))
    counts: Counter[str] = Counter()
    sentences = changed = 0
    start = time.perf_counter()
    with ExitStack() as stack:
        text = stack.enter_context(writing_bytes(output))
        rows = stack.enter_context(writing_bytes(applied_log)) if applied_log else None
        if rows:
            rows.write(LOG_HEADER.encode())
        bar = stack.enter_context(tqdm(total=lines, desc="noise", unit=" lines", delay=2, leave=False))
        chunks, again = tee(_chunks(_lines(source)))
        # Closed with the rest: after Ctrl-C no process goes on.
        all_made = stack.enter_context(closing(noised_chunks(noiser, chunks, workers=workers)))
        for (clean, numbers), made in zip(again, all_made, strict=True):
            text.write("".join(f"{one.text}\n" for one in made).encode())
            if rows:
                applied = (";".join(map(str, one.applied)) for one in made)
                rows.write("".join(f"{row[0]}\t{row[1]}\n" for row in zip(numbers, applied, strict=True)).encode())
            counts.update(step.name for one in made for step in one.applied)
            sentences += sum(1 for line in clean if line.strip())
            changed += sum(1 for line, one in zip(clean, made, strict=True) if line != one.text)
            bar.update(len(made))
    return NoiseSummary(output, sentences, changed, counts, time.perf_counter() - start)


def _check_files(source: Path, output: Path, applied_log: Path | None) -> None:
    """Raise before any work what would only come out at its end."""
    if not source.is_file():
        raise FileNotFoundError(f"{source}: expected a text file, found none")
    written = [path for path in (output, applied_log) if path is not None]
    for path in written:
        if path.is_dir():
            raise IsADirectoryError(f"{path}: expected a file to write, found a folder")
    files = [path.resolve() for path in (source, *written)]
    if len(set(files)) < len(files):
        raise ValueError(f"{source}, {', '.join(map(str, written))}: expected different files, found one of them twice")


def _lines(source: Path) -> Iterator[str]:
    ledger = RejectLedger(strict=False)
    with open_bytes(source) as file:
        for _, line in numbered_lines(file, str(source), ledger):
            if ledger.rejects:
                break
            yield line
    if ledger.rejects:
        name, number, reason, found = ledger.rejects[0]
        raise ValueError(f"{name}:{number}: {reason}, found {found}; each line needs its noisy one, none is left out")


def _chunks(lines: Iterator[str]) -> Iterator[Chunk]:
    """Sentences and the numbers of their lines, some at a time."""
    first = 1
    while some := list(islice(lines, CHUNK)):
        yield some, range(first, first + len(some))
        first += len(some)
