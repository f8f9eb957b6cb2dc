"""``xsent filter``: pairs per second without a judge, with the bundled one, and with that of a run.

    python -m benchmarks.filter [--rows 200000] [--ckpt RUN --judged 4000]

The pairs are those of the English-French bitext under ``XSENT_DATA``, in random order. A judge that takes no time
replaces the model, so reading, word tokenization, shards, rows and the page are measured. The stages are timed in this
process, then the complete job with one and two processes, and with two the job with the bundled judge. With ``--ckpt``
the judge of the command scores pairs with one torch thread and with all.
"""

import argparse
import gzip
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from xsent.batch import Judgement, PairJudge, WordPair
from xsent.jobs.bitext_reader import BitextReader, StreamedLedger
from xsent.jobs.filtering.filter import FilterOptions, filter_bitext, options_from
from xsent.jobs.filtering.tokenize import tokenize_pairs
from xsent.reporting.pages.filter import write_divergence_page
from xsent.run import load_config, load_judge

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data"))


class Instant:
    """A judge that takes no time: tags by position, scores by length."""

    name = "instant"
    threshold = 0.0
    tags_words = True
    truncated_pairs = 0
    languages: tuple[str, ...] = ()
    scores_are_logits = True

    def judge(self, pairs: Sequence[WordPair], *, progress: bool = False) -> list[Judgement]:
        return [Judgement(len(source) % 7 - 2.5, self._tags(source), self._tags(target)) for source, target in pairs]

    def _tags(self, words: tuple[str, ...]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        return np.arange(len(words), dtype=np.float32) % 4 / 4

    def digest(self) -> str:
        return "instant"


def write_bitext(folder: Path, name: str, rows: int) -> Path:
    """Write a bitext of ``rows`` rows; the shared one is repeated if it has fewer."""
    with gzip.open(DATA / "bitext" / "en-fr.tsv.gz", "rt", encoding="utf-8", newline="\n") as file:
        lines = list(file)
    random.Random(0).shuffle(lines)
    bitext = folder / name
    bitext.write_text("".join(lines[row % len(lines)] for row in range(rows)), encoding="utf-8")
    return bitext


class Duration(NamedTuple):
    """Time of a call."""

    seconds: float
    cpu: float  # seconds of this process and its children; hardly affected by other load


def measure(work: Callable[[], object]) -> Duration:
    """Measure a call."""
    before, start = _cpu(), time.perf_counter()
    work()
    return Duration(time.perf_counter() - start, _cpu() - before)


def _cpu() -> float:
    usages = [resource.getrusage(target) for target in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def format_rate(pairs: int, duration: Duration) -> str:
    """Rate of a number of pairs, as text."""
    return f"{pairs / duration.seconds:10,.0f} pairs/s, {1e6 * duration.cpu / pairs:6.1f} us of CPU each"


def stages(bitext: Path, options: FilterOptions) -> None:
    """Print the rates of reading and of word tokenization in this process."""
    rows = list(BitextReader(bitext, options.columns, StreamedLedger(strict=False)))
    reading = measure(lambda: [0 for _ in BitextReader(bitext, options.columns, StreamedLedger(strict=False))])
    sample = [(row.source, row.target) for row in rows[:20_000]]
    tokenize_pairs(sample[:1], options.languages)
    tokenizing = measure(lambda: tokenize_pairs(sample, options.languages))
    print(f"  reading, one pass:           {format_rate(len(rows), reading)}")
    print(f"  tokenizing, one process:     {format_rate(len(sample), tokenizing)}")


def measure_job(
    bitext: Path, options: FilterOptions, workers: int, load: Callable[[], PairJudge] = Instant
) -> Duration:
    """Measure the complete job, page included."""

    def work() -> None:
        filtered = filter_bitext(
            bitext,
            bitext.with_name("scored.tsv"),
            load=load,
            device="cpu",
            options=replace(options, workers=workers),
            work_dir=None,
            keep_work=False,
        )
        write_divergence_page(bitext.with_name("page.html"), filtered.report, **load_config("filter", [])["page"])

    return measure(work)


def model(bitext: Path, options: FilterOptions, judge: PairJudge, rows: int) -> None:
    """Print the rate of a run's judge."""
    bitext_rows = list(BitextReader(bitext, options.columns, StreamedLedger(strict=False)))[:rows]
    pairs = [
        WordPair(*words)
        for words in tokenize_pairs([(row.source, row.target) for row in bitext_rows], options.languages)
    ]
    for threads in sorted({1, torch.get_num_threads()}):
        torch.set_num_threads(threads)
        judge.judge(pairs[:64])
        print(f"  {judge.name}, {threads} threads: {format_rate(len(pairs), measure(lambda: judge.judge(pairs)))}")


def main() -> None:
    """Print a line for each measurement."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000, help="pairs for the job")
    parser.add_argument("--ckpt", help="a run of recipe=divergence")
    parser.add_argument("--judged", type=int, default=4_000, help="pairs for the run")
    arguments = parser.parse_args()
    options = options_from(load_config("filter", []))
    with tempfile.TemporaryDirectory() as folder:
        bitext, few = write_bitext(Path(folder), "text.tsv", arguments.rows), write_bitext(Path(folder), "few.tsv", 2)
        print(f"filter, {arguments.rows:,} English-French pairs")
        stages(bitext, options)
        jobs: list[tuple[str, int, Callable[[], PairJudge]]] = [
            ("the job, workers=1:          ", 1, Instant),
            ("the job, workers=2:          ", 2, Instant),
            ("the same, the bundled judge: ", 2, load_judge),
        ]
        for name, workers, load in jobs:
            # Two pairs in two shards start as many processes, which load torch here, but not from the command.
            start_up = measure_job(few, replace(options, chunk=1), workers, load)
            total = measure_job(bitext, options, workers, load)
            duration = Duration(total.seconds - start_up.seconds, total.cpu - start_up.cpu)
            print(f"  {name}{format_rate(arguments.rows, duration)}")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        print(f"  peak memory of this process, with torch and the pairs of the stages: {peak / 2**30:.2f} GiB")
        if arguments.ckpt:
            model(bitext, options, load_judge(arguments.ckpt), arguments.judged)


if __name__ == "__main__":
    main()
