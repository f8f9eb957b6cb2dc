"""``xsent mine`` from end to end: exact against its matrix products, cells at a million lines, planted translations.

    python -m benchmarks.mining exact|cells|planted [--rows N] [--bitext FOLDER]

Files are made from the bitext (``XSENT_DATA``) in a temporary folder; peak memory is that of the command's process.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from benchmarks.search import products, seconds
from xsent.evaluation.mining import Threshold, at_threshold, best_threshold
from xsent.jobs.vectors import StoredVectors
from xsent.jobs.work import WorkFolder
from xsent.models.static_encoder import StaticEncoder

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data"))
LANGUAGES = ("de", "fr", "es")  # the largest files
EXACT_LIMIT = 1.5  # times products and encoding
CELLS_LIMITS = (20 * 60, 4.0, 0.97)  # seconds, GiB, recall of the exact top-1
QUERIES = 10_000
PAIRS, ALONE = 20_000, 100_000  # planted pairs, and sentences without a partner on either side
THRESHOLD = 1.06  # CCMatrix, Schwenk et al. 2021 (arXiv:1911.04944)


class Taken(NamedTuple):
    """What a command took."""

    seconds: float
    gib: float  # peak memory


def pairs_of(bitext: Path, lang: str) -> list[tuple[str, str]]:
    """(other language, English) of one file."""
    with gzip.open(bitext / f"en-{lang}.tsv.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [(columns[1], columns[0]) for line in file if (columns := line.rstrip("\n").split("\t"))]


def shuffled_pairs(bitext: Path, languages: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of some files in which every sentence is in one pair only."""
    pairs = [pair for lang in languages for pair in pairs_of(bitext, lang)]
    random.Random(0).shuffle(pairs)
    seen: set[str] = set()
    kept = []
    for pair in pairs:
        if not seen.intersection(pair):
            seen.update(pair)
            kept.append(pair)
    return kept


def repeated(pairs: Sequence[tuple[str, str]], rows: int) -> Iterator[tuple[str, str]]:
    """The pairs, and then again with a word left out and two others swapped, until there are enough."""
    rng = random.Random(1)
    for row in range(rows):
        pair = pairs[row % len(pairs)]
        yield pair if row < len(pairs) else (_perturbed(pair[0], rng), _perturbed(pair[1], rng))


def _perturbed(sentence: str, rng: random.Random) -> str:
    words = sentence.split(" ")
    if len(words) > 2:
        del words[rng.randrange(len(words))]
        place = rng.randrange(len(words) - 1)
        words[place], words[place + 1] = words[place + 1], words[place]
    return " ".join(words)


def mine(folder: Path, *more: str) -> Taken:
    """Run the command on ``folder/source.txt`` and ``target.txt``; it writes ``mined.tsv`` there."""
    files = [str(folder / name) for name in ("source.txt", "target.txt")]
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "xsent.cli", "mine", *files, "-o", str(folder / "mined.tsv"), *more], cwd=ROOT
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"mining failed with status {process.returncode}")
    return Taken(time.perf_counter() - start, usage.ru_maxrss / 2**20)


def write_sides(folder: Path, source: Sequence[str], target: Sequence[str]) -> None:
    """One sentence a line."""
    (folder / "source.txt").write_text("\n".join(source) + "\n", encoding="utf-8")
    (folder / "target.txt").write_text("\n".join(target) + "\n", encoding="utf-8")


def exact(bitext: Path, rows: int, folder: Path) -> None:
    """All pairs of ``rows`` x ``rows`` sentences, to the time of the products and the encoding alone."""
    source, target = (list(side) for side in zip(*shuffled_pairs(bitext, LANGUAGES)[:rows], strict=True))
    write_sides(folder, source, target)
    mini = StaticEncoder.load(name="mini", path=None)
    x, y = (torch.empty(0), torch.empty(0))

    def encode() -> None:
        nonlocal x, y
        x, y = mini.encode(source), mini.encode(target)

    encoding = seconds(encode)
    before = seconds(lambda: products(x, y))
    taken = mine(folder, "--search", "exact")
    after = seconds(lambda: products(x, y))
    bare = (before + after) / 2 + encoding
    print(f"xsent mine, exact, {len(source):,} x {len(target):,}, mini, {torch.get_num_threads()} threads")
    print(f"  products alone     {before:8.1f} s before, {after:.1f} s after; encoding alone {encoding:.1f} s")
    print(f"  the whole command  {taken.seconds:8.1f} s, {taken.seconds / bare:.2f} x both (limit {EXACT_LIMIT})")
    print(f"  peak memory        {taken.gib:8.2f} GiB")


def cells(bitext: Path, rows: int, folder: Path) -> None:
    """Approximate search among ``rows`` x ``rows`` sentences: time, memory, and what it misses."""
    source, target = zip(*repeated(shuffled_pairs(bitext, LANGUAGES), rows), strict=True)
    write_sides(folder, source, target)
    del source, target
    taken = mine(folder, "--search", "cells", "--keep-work")
    limit_s, limit_gib, limit_recall = CELLS_LIMITS
    print(f"xsent mine, cells, {rows:,} x {rows:,} lines, mini, {torch.get_num_threads()} threads")
    print(f"  the whole command  {taken.seconds:8.1f} s (limit {limit_s})")
    print(f"  peak memory        {taken.gib:8.2f} GiB (limit {limit_gib})")
    work = WorkFolder(folder / "mined.tsv.work")
    for queries, pool, kind in (("source", "target", "search"), ("target", "source", "answer")):
        share = recall(work, queries, pool, kind)
        print(f"  recall of the exact top-1, {queries} to {pool}: {share:.4f} (limit {limit_recall})")


def recall(work: WorkFolder, queries: str, pool: str, kind: str) -> float:
    """Share of some queries whose best neighbour is as near as the nearest of all."""
    vectors = {side: _vectors(work, side) for side in (queries, pool)}
    scores = np.concatenate([work.array(kind, number, "scores")[:, 0] for number in range(_shards(work, kind))])
    chosen = np.sort(np.random.default_rng(0).choice(len(scores), min(QUERIES, len(scores)), replace=False))
    x = vectors[queries][torch.from_numpy(chosen)]
    best = torch.full((len(x),), -2.0)
    for start in range(0, len(vectors[pool]), 2**14):
        best = torch.maximum(best, (x @ vectors[pool][start : start + 2**14].T).amax(dim=1))
    return float((torch.from_numpy(scores[chosen]) > best.double() - 1e-6).double().mean())


def _vectors(work: WorkFolder, side: str) -> StoredVectors:
    kind = f"{side}-vectors"
    sizes = [work.array(kind, number, "vectors").shape[0] for number in range(_shards(work, kind))]
    return StoredVectors(work, kind, sum(sizes), sizes[0])


def _shards(work: WorkFolder, kind: str) -> int:
    return len(list((work.path / kind).glob("*/sha256.json")))


def planted(bitext: Path, rows: int, folder: Path) -> None:
    """How many of ``rows`` pairs are found among five times as many sentences without a partner, on either side."""
    alone = rows * ALONE // PAIRS
    pairs = shuffled_pairs(bitext, ["de"])
    gold = dict(pairs[:rows])
    # English of other pairs, and of French ones where the German file cannot fill both sides.
    known = {english for _, english in pairs[: rows + alone]}
    others = [*pairs[rows + alone :], *shuffled_pairs(bitext, ["fr"])]
    lonely = dict.fromkeys(english for _, english in others if english not in known)
    source = [german for german, _ in pairs[: rows + alone]]
    target = [*gold.values(), *list(lonely)[:alone]]
    for side in (source, target):
        random.Random(1).shuffle(side)
    write_sides(folder, source, target)
    taken = mine(folder)
    lines = (folder / "mined.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
    found = [line.split("\t") for line in lines]
    scores = torch.tensor([float(row[0]) for row in found], dtype=torch.float64)
    is_gold = torch.tensor([gold.get(row[3].replace("\t", " ")) == row[4] for row in found])
    print(f"xsent mine, {len(gold):,} German-English pairs among {len(source):,} x {len(target):,} sentences, mini")
    print(f"  the whole command  {taken.seconds:.1f} s, {taken.gib:.2f} GiB")
    _print_shares("the given threshold", at_threshold(scores, is_gold, len(gold), THRESHOLD))
    _print_shares("the best threshold (chosen on the same gold)", best_threshold(scores, is_gold, len(gold)))


def _print_shares(name: str, at: Threshold) -> None:
    shares = "   ".join(f"{100 * share:.1f}" for share in (at.precision, at.recall, at.f1))
    print(f"  {name}, {at.threshold:.3f}: P, R, F1 {shares}")


def main() -> None:
    """Make the files, mine them, print what it took and found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    ways = {"exact": (exact, 200_000), "cells": (cells, 1_000_000), "planted": (planted, PAIRS)}
    parser.add_argument("way", choices=ways)
    parser.add_argument("--rows", type=int, help="sentences of a side; of planted: pairs")
    parser.add_argument("--bitext", type=Path, default=DATA / "bitext")
    options = parser.parse_args()
    way, rows = ways[options.way]
    with tempfile.TemporaryDirectory() as folder:
        way(options.bitext, options.rows or rows, Path(folder))


if __name__ == "__main__":
    main()
