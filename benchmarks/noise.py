"""``xsent noise``: sentences a second of each transformation, of the mixture, and of the whole command.

    python -m benchmarks.noise [--rows 200000] [--resources DIR]

Sentences are a sample of the English ones under ``XSENT_DATA``. Single transformations run in this process; the command
reads and writes files, with one process and with two, and its start-up is measured on a file of one line.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from xsent.run import build, load_config
from xsent.text.noise import MIX_ALL, TRANSFORMATIONS, Noiser

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data"))
TARGET = 20_000  # sentences a second of mix_all with two processes on two cores
SAMPLE = 4_000  # sentences for each transformation


def sample(rows: int) -> list[str]:
    """Some English sentences, in random order."""
    with gzip.open(DATA / "english" / "english.tsv.gz", "rt", encoding="utf-8", newline="\n") as file:
        sentences = [line.split("\t", maxsplit=1)[0] for line in file]
    random.Random(0).shuffle(sentences)
    return sentences[:rows]


def rate(noiser: Noiser, sentences: Sequence[str]) -> float:
    """Sentences a second in this process; the best of three rounds, word lists built before."""
    noiser(sentences[0], 0)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        for _ in noiser.noised(sentences, range(len(sentences))):
            pass
        seconds.append(time.perf_counter() - start)
    return len(sentences) / min(seconds)


class Taken(NamedTuple):
    """What a command took."""

    seconds: float
    cpu: float  # seconds of all its processes together: what a busy machine does not stretch much


def command(source: Path, workers: int, resources: str | None) -> Taken:
    """Run the whole command, its log included."""
    output = source.with_name("noisy.txt")
    options = ["-o", str(output), "--log", str(source.with_name("log.tsv")), "--workers", str(workers)]
    options += ["--resources", resources] if resources else []
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "xsent.cli", "noise", str(source), *options],
        cwd=ROOT,
        check=True,
        stderr=subprocess.PIPE,
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Taken(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> None:
    """Print a line per measurement."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000, help="sentences for the command")
    parser.add_argument("--resources", type=os.path.abspath, help="NL-Augmenter's lexicons instead of the bundled ones")
    options = parser.parse_args()
    sentences = sample(options.rows)
    words = sum(len(sentence.split()) for sentence in sentences) / len(sentences)
    noiser: Noiser = build(load_config("noise", [])["noise"] | {"resources": options.resources})
    print(
        f"noise, {len(sentences):,} English sentences of {words:.1f} words, {options.resources or 'bundled lexicons'}"
    )
    for transform in (*TRANSFORMATIONS, MIX_ALL):
        print(f"  {transform:7} {rate(noiser.with_transform(transform), sentences[:SAMPLE]):10,.0f} sentences/s")
    with tempfile.TemporaryDirectory() as folder:
        one, whole = Path(folder) / "one.txt", Path(folder) / "whole.txt"
        one.write_text(sentences[0] + "\n", encoding="utf-8")
        whole.write_text("".join(sentence + "\n" for sentence in sentences), encoding="utf-8")
        for workers in (1, 2):
            start_up = command(one, workers, options.resources)
            taken = command(whole, workers, options.resources)
            reached = len(sentences) / (taken.seconds - start_up.seconds)
            each = 1e6 * (taken.cpu - start_up.cpu) / len(sentences)
            limit = f", {reached / TARGET:.2f} x the target of {TARGET:,}" if workers == 2 else ""
            print(
                f"  the command, workers={workers}: {reached:,.0f} sentences/s{limit}; {each:.0f} us of CPU each;"
                f" {taken.seconds:.1f} s, {start_up.seconds:.1f} of them start-up"
            )


if __name__ == "__main__":
    main()
