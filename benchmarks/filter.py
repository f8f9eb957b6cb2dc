"""``xsent filter``: pairs a second of everything but the model, and what a run of yours adds to that.

    python -m benchmarks.filter [--rows 200000] [--ckpt RUN --judged 4000]

Pairs are those of the English-French bitext under ``XSENT_DATA``, in random order. A judge that says the same of every
pair at once stands in for the model: what is left is reading, cutting words, shards, rows and the page. The stages are
timed alone in this process, then the whole job with one process and with two. With ``--ckpt`` the same judge that the
command loads scores some pairs, with one torch thread and with all.
"""

from __future__ import annotations

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
from xsent.jobs.bitext_rows import StreamedLedger, read_rows
from xsent.jobs.filter import FilterOptions, filter_bitext, options_from
from xsent.jobs.words import words_of
from xsent.reporting.divergence_page import write_divergence_page
from xsent.run import load_config, load_judge

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data"))


class Instant:
    """Tags every fourth word and draws a score from the length: no time at all."""

    name = "instant"
    threshold = 0.0
    tags_words = True
    cut_pairs = 0

    def judge(self, pairs: Sequence[WordPair], *, progress: bool = False) -> list[Judgement]:
        return [Judgement(len(source) % 7 - 2.5, self._tags(source), self._tags(target)) for source, target in pairs]

    def _tags(self, words: tuple[str, ...]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        return np.arange(len(words), dtype=np.float32) % 4 / 4

    def digest(self) -> str:
        return "instant"


def written(folder: Path, name: str, rows: int) -> Path:
    """A bitext of so many rows; the shared one is repeated if it has fewer."""
    with gzip.open(DATA / "bitext" / "en-fr.tsv.gz", "rt", encoding="utf-8", newline="\n") as file:
        lines = list(file)
    random.Random(0).shuffle(lines)
    bitext = folder / name
    bitext.write_text("".join(lines[row % len(lines)] for row in range(rows)), encoding="utf-8")
    return bitext


class Taken(NamedTuple):
    """What a call took."""

    seconds: float
    cpu: float  # seconds of this process and those it started: what a busy machine does not stretch much


def taken(work: Callable[[], object]) -> Taken:
    """Do some work and say what it took."""
    before, start = _cpu(), time.perf_counter()
    work()
    return Taken(time.perf_counter() - start, _cpu() - before)


def _cpu() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def said(pairs: int, took: Taken) -> str:
    """How fast so many pairs went."""
    return f"{pairs / took.seconds:10,.0f} pairs/s, {1e6 * took.cpu / pairs:6.1f} us of CPU each"


def stages(bitext: Path, options: FilterOptions) -> None:
    """Print what reading and cutting words take in this process."""
    found = list(read_rows(bitext, options.columns, StreamedLedger(strict=False)))
    reading = taken(lambda: [0 for _ in read_rows(bitext, options.columns, StreamedLedger(strict=False))])
    some = [(row.source, row.target) for row in found[:20_000]]
    words_of(some[:1], options.languages)
    cutting = taken(lambda: words_of(some, options.languages))
    print(f"  reading, each of four times: {said(len(found), reading)}")
    print(f"  cutting words, one process:  {said(len(some), cutting)}")


def whole_job(bitext: Path, options: FilterOptions, workers: int) -> Taken:
    """What the job takes, page included."""

    def work() -> None:
        filtered = filter_bitext(
            bitext, bitext.with_name("scored.tsv"), load=Instant, device="cpu",
            options=replace(options, workers=workers), work_dir=None, keep_work=False,
        )  # fmt: skip
        write_divergence_page(bitext.with_name("page.html"), filtered.report, **load_config("filter", [])["page"])

    return taken(work)


def model(bitext: Path, options: FilterOptions, judge: PairJudge, rows: int) -> None:
    """Print how fast a run judges."""
    found = list(read_rows(bitext, options.columns, StreamedLedger(strict=False)))[:rows]
    pairs = [WordPair(*words) for words in words_of([(row.source, row.target) for row in found], options.languages)]
    for threads in sorted({1, torch.get_num_threads()}):
        torch.set_num_threads(threads)
        judge.judge(pairs[:64])
        print(f"  {judge.name}, {threads} threads: {said(len(pairs), taken(lambda: judge.judge(pairs)))}")


def main() -> None:
    """Print a line per measurement."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000, help="pairs for the job")
    parser.add_argument("--ckpt", help="a run of recipe=divergence")
    parser.add_argument("--judged", type=int, default=4_000, help="pairs for the run")
    given = parser.parse_args()
    options = options_from(load_config("filter", []))
    with tempfile.TemporaryDirectory() as folder:
        bitext, few = written(Path(folder), "text.tsv", given.rows), written(Path(folder), "few.tsv", 2)
        print(f"filter, {given.rows:,} English-French pairs")
        stages(bitext, options)
        for workers in (1, 2):
            # Two pairs in two shards: as many processes start, which here load torch and from the command do not.
            start_up = whole_job(few, replace(options, chunk=1), workers)
            whole = whole_job(bitext, options, workers)
            took = Taken(whole.seconds - start_up.seconds, whole.cpu - start_up.cpu)
            print(f"  the job, workers={workers}:           {said(given.rows, took)}")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        print(
            f"  peak memory of this process, torch and the pairs read for the stages included: {peak / 2**30:.2f} GiB"
        )
        if given.ckpt:
            model(bitext, options, load_judge(given.ckpt), given.judged)


if __name__ == "__main__":
    main()
