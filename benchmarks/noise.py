"""Throughput of noise: sentences per second of each transformation, the mixture, and the command ``xsent noise``.

    python -m benchmarks.noise [--rows 200000] [--resources DIR]

Sentences are sampled from the English ones of ``XSENT_DATA``. Transformations run in this process; the command runs
with one and two processes, and a file of one line measures its start-up.
"""

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
TARGET = 20_000  # sentences per second of mix_all with two processes on two cores
SAMPLE = 4_000  # sentences for each transformation


def sample(rows: int) -> list[str]:
    """Random English sentences."""
    with gzip.open(DATA / "english" / "english.tsv.gz", "rt", encoding="utf-8", newline="\n") as file:
        sentences = [line.split("\t", maxsplit=1)[0] for line in file]
    random.Random(0).shuffle(sentences)
    return sentences[:rows]


def rate(noiser: Noiser, sentences: Sequence[str]) -> float:
    """Sentences per second in this process; the best of three rounds, after loading the word lists."""
    noiser(sentences[0], 0)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        for _ in noiser.apply(sentences, range(len(sentences))):
            pass
        seconds.append(time.perf_counter() - start)
    return len(sentences) / min(seconds)


class Cost(NamedTuple):
    """Time of a command."""

    seconds: float
    cpu: float  # seconds of all its processes, less affected by a busy machine


def command(source: Path, workers: int, resources: str | None) -> Cost:
    """Run the command with its log."""
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
    return Cost(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> None:
    """Print a line per measurement."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000, help="sentences for the command")
    parser.add_argument("--resources", type=os.path.abspath, help="NL-Augmenter's lexicons instead of the bundled ones")
    options = parser.parse_args()
    sentences = sample(options.rows)
    words = sum(len(sentence.split()) for sentence in sentences) / len(sentences)
    noiser: Noiser = build(load_config("noise", [])["noise"] | {"resources": options.resources}, "noise")
    print(
        f"noise, {len(sentences):,} English sentences of {words:.1f} words, {options.resources or 'bundled lexicons'}"
    )
    for transform in (*TRANSFORMATIONS, MIX_ALL):
        print(f"  {transform:7} {rate(noiser.with_transform(transform), sentences[:SAMPLE]):10,.0f} sentences/s")
    with tempfile.TemporaryDirectory() as folder:
        line, corpus = Path(folder) / "line.txt", Path(folder) / "corpus.txt"
        line.write_text(sentences[0] + "\n", encoding="utf-8")
        corpus.write_text("".join(sentence + "\n" for sentence in sentences), encoding="utf-8")
        for workers in (1, 2):
            start_up = command(line, workers, options.resources)
            cost = command(corpus, workers, options.resources)
            speed = len(sentences) / (cost.seconds - start_up.seconds)
            cpu_time = 1e6 * (cost.cpu - start_up.cpu) / len(sentences)
            limit = f", {speed / TARGET:.2f} x the target of {TARGET:,}" if workers == 2 else ""
            print(
                f"  the command, workers={workers}: {speed:,.0f} sentences/s{limit}; {cpu_time:.0f} us of CPU each;"
                f" {cost.seconds:.1f} s, {start_up.seconds:.1f} of them start-up"
            )


if __name__ == "__main__":
    main()
