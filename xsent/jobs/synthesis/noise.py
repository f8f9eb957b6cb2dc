"""Noise job: one noisy line per line of a text file, streamed, on all cores."""

import logging
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from itertools import islice, tee
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from xsent.data.readers.lines import valid_lines
from xsent.files.atomic import atomic_write_bytes
from xsent.jobs.checks import check_files, check_input
from xsent.text.multiprocess import worker_count
from xsent.text.noise import Noiser
from xsent.text.noise.parallel import CHUNK, Chunk, noise_chunks
from xsent.text.word_lists import load_word_sets

log = logging.getLogger(__name__)

SAMPLE = 1000  # lines, to tell whether the text is English
LEAST_WORDS = 50
# Share of common words: 0.24 of English in FLORES-200 dev, 0.29 in social media (RoCS-MT); at most 0.02 of 15 other
# languages in FLORES-200 dev, and 0.05 of short Dutch or Spanish sentences.
LEAST_COMMON = 0.1
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


class NoiseSummary(NamedTuple):
    """Result of ``noise_file``."""

    output: Path
    sentences: int  # lines with text
    changed: int
    applied: Counter[str]  # by transformation, including those without effect
    seconds: float  # from the first line on, including the start of other processes

    def __str__(self) -> str:
        """One log line."""
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

    The key of a sentence is its 1-based line number. The text is read twice, first to check it; memory holds a few
    thousand lines per process.

    Args:
        source: one sentence per line, UTF-8, plain or ``.gz``.
        output: same format, written atomically.
        noiser: with ``reference_rng`` in one process.
        applied_log: TSV with a header: line number and applied transformations, ``fing,0.025;cont``; None: no log.
        workers: number of processes; None: one per core.

    Raises:
        FileNotFoundError: no such source.
        ValueError: two of the files are the same, a line is not UTF-8, or ``workers`` is below 1.
        OSError: the disk is full, or a file cannot be written.
    """
    check_input(source)
    check_files([source], [output, *([] if applied_log is None else [applied_log])], makes_folder=True)
    workers = worker_count(workers)
    if noiser.reference_rng and workers > 1:
        log.info("reference_rng: one process, as the noise of a line depends on those before it")
    reading = tqdm(_read_lines(source), desc="reading", unit=" lines", delay=2, leave=False)
    sample = list(islice(reading, SAMPLE))
    lines = len(sample) + sum(1 for _ in reading)
    if noiser.has_lexicon:
        warn_unless_english(sample, source)
    counts: Counter[str] = Counter()
    sentences = changed = 0
    start = time.perf_counter()
    with ExitStack() as stack:
        text = stack.enter_context(atomic_write_bytes(output))
        rows = stack.enter_context(atomic_write_bytes(applied_log)) if applied_log else None
        if rows:
            rows.write(b"line\tapplied\n")
        bar = stack.enter_context(tqdm(total=lines, desc="noise", unit=" lines", delay=2, leave=False))
        chunks, noiser_chunks = tee(_chunks(_read_lines(source)))
        # closing() ends the worker processes after Ctrl-C.
        results = stack.enter_context(closing(noise_chunks(noiser, noiser_chunks, workers=workers)))
        for (clean, numbers), noisy in zip(chunks, results, strict=True):
            text.write("".join(f"{sentence.text}\n" for sentence in noisy).encode())
            if rows:
                applied = (";".join(map(str, sentence.applied)) for sentence in noisy)
                rows.write("".join(f"{row[0]}\t{row[1]}\n" for row in zip(numbers, applied, strict=True)).encode())
            counts.update(step.name for sentence in noisy for step in sentence.applied)
            sentences += sum(1 for line in clean if line.strip())
            changed += sum(1 for line, sentence in zip(clean, noisy, strict=True) if line != sentence.text)
            bar.update(len(noisy))
    return NoiseSummary(output, sentences, changed, counts, time.perf_counter() - start)


def warn_unless_english(lines: Iterable[str], source: Path) -> None:
    """Warn if few of the words are common English ones; a few words tell nothing."""
    words = [word for line in lines for word in WORD.findall(line.lower())]
    common = frozenset().union(*load_word_sets("stopwords").values())
    share = sum(len(word) > 1 and word in common for word in words) / max(1, len(words))
    if len(words) >= LEAST_WORDS and share < LEAST_COMMON:
        log.warning(
            "%s: not English? %.0f %% of its first %s words are common English words (in English about 24 %%), and the"
            " noise is made with English word lists",
            source,
            100 * share,
            f"{len(words):,}",
        )


def _read_lines(source: Path) -> Iterator[str]:
    return valid_lines(source, str(source), "every line needs a noisy one, none is skipped")


def _chunks(lines: Iterator[str]) -> Iterator[Chunk]:
    """Sentences and their line numbers."""
    first = 1
    while sentences := list(islice(lines, CHUNK)):
        yield sentences, range(first, first + len(sentences))
        first += len(sentences)
