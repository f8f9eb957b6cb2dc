"""``xsent mine`` from end to end: exact search, inverted file at a million lines, planted translations.

    python -m benchmarks.mining exact|ivf|planted [--rows N] [--bitext FOLDER]

The files come from the bitext (``XSENT_DATA``), in a temporary folder; peak memory is that of the command's process.
"""

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
from xsent.evaluation.search.mining import Threshold, at_threshold, best_threshold
from xsent.jobs.mining.vectors import StoredVectors
from xsent.jobs.work_folder import WorkFolder
from xsent.models.encoders.static import StaticEncoder

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data"))
LANGUAGES = ("de", "fr", "es")  # the largest files
EXACT_LIMIT = 1.5  # times products and encoding
IVF_LIMITS = (20 * 60, 4.0, 0.97)  # seconds, GiB, recall of the exact top-1
QUERIES = 10_000
PAIRS, ALONE = 20_000, 100_000  # planted pairs, and sentences without a partner on either side
THRESHOLD = 1.06  # CCMatrix, Schwenk et al. 2021 (arXiv:1911.04944)


class Cost(NamedTuple):
    """Time and memory of a command."""

    seconds: float
    gib: float  # peak memory


def pairs_of(bitext: Path, lang: str) -> list[tuple[str, str]]:
    """Pairs (other language, English) of a file."""
    with gzip.open(bitext / f"en-{lang}.tsv.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [(columns[1], columns[0]) for line in file if (columns := line.rstrip("\n").split("\t"))]


def shuffled_pairs(bitext: Path, languages: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of several files, without pairs that repeat a sentence."""
    pairs = [pair for lang in languages for pair in pairs_of(bitext, lang)]
    random.Random(0).shuffle(pairs)
    sentences: set[str] = set()
    distinct = []
    for pair in pairs:
        if not sentences.intersection(pair):
            sentences.update(pair)
            distinct.append(pair)
    return distinct


def repeated(pairs: Sequence[tuple[str, str]], rows: int) -> Iterator[tuple[str, str]]:
    """The pairs, then variants of them with one word removed and two swapped, up to ``rows``."""
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


def mine(folder: Path, *options: str) -> Cost:
    """Run the command on ``folder/source.txt`` and ``target.txt``; it writes ``mined.tsv`` there."""
    files = [str(folder / name) for name in ("source.txt", "target.txt")]
    start = time.perf_counter()
    command = [sys.executable, "-m", "xsent.cli", "mine", *files, "-o", str(folder / "mined.tsv"), "--encoder", "micro"]
    process = subprocess.Popen([*command, *options], cwd=ROOT)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"mining failed with status {process.returncode}")
    return Cost(time.perf_counter() - start, usage.ru_maxrss / 2**20)


def write_sides(folder: Path, source: Sequence[str], target: Sequence[str]) -> None:
    """Write one sentence per line."""
    (folder / "source.txt").write_text("\n".join(source) + "\n", encoding="utf-8")
    (folder / "target.txt").write_text("\n".join(target) + "\n", encoding="utf-8")


def exact(bitext: Path, rows: int, folder: Path) -> None:
    """Exact search of ``rows`` x ``rows`` sentences, relative to matrix products and encoding alone."""
    source, target = (list(side) for side in zip(*shuffled_pairs(bitext, LANGUAGES)[:rows], strict=True))
    write_sides(folder, source, target)
    micro = StaticEncoder.load(name="micro", path=None)
    x, y = (torch.empty(0), torch.empty(0))

    def encode() -> None:
        nonlocal x, y
        x, y = micro.encode(source), micro.encode(target)

    encoding = seconds(encode)
    before = seconds(lambda: products(x, y))
    cost = mine(folder, "--search", "exact")
    after = seconds(lambda: products(x, y))
    bare = (before + after) / 2 + encoding
    print(f"xsent mine, exact, {len(source):,} x {len(target):,}, micro, {torch.get_num_threads()} threads")
    print(f"  products alone     {before:8.1f} s before, {after:.1f} s after; encoding alone {encoding:.1f} s")
    print(f"  the whole command  {cost.seconds:8.1f} s, {cost.seconds / bare:.2f} x both (limit {EXACT_LIMIT})")
    print(f"  peak memory        {cost.gib:8.2f} GiB")


def ivf(bitext: Path, rows: int, folder: Path) -> None:
    """Approximate search of ``rows`` x ``rows`` sentences: time, memory, recall."""
    source, target = zip(*repeated(shuffled_pairs(bitext, LANGUAGES), rows), strict=True)
    write_sides(folder, source, target)
    del source, target
    cost = mine(folder, "--search", "ivf", "--keep-work")
    limit_s, limit_gib, limit_recall = IVF_LIMITS
    print(f"xsent mine, ivf, {rows:,} x {rows:,} lines, micro, {torch.get_num_threads()} threads")
    print(f"  the whole command  {cost.seconds:8.1f} s (limit {limit_s})")
    print(f"  peak memory        {cost.gib:8.2f} GiB (limit {limit_gib})")
    work = WorkFolder(folder / "mined.tsv.work")
    for queries, pool, kind in (("source", "target", "search"), ("target", "source", "answer")):
        share = recall(work, queries, pool, kind)
        print(f"  recall of the exact top-1, {queries} to {pool}: {share:.4f} (limit {limit_recall})")


def recall(work: WorkFolder, queries: str, pool: str, kind: str) -> float:
    """Share of sampled queries whose result is as near as the exact nearest neighbour."""
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
    """Precision and recall of ``rows`` pairs among five times as many unpaired sentences on either side."""
    alone = rows * ALONE // PAIRS
    pairs = shuffled_pairs(bitext, ["de"])
    gold = dict(pairs[:rows])
    # English sentences of other German pairs, then of French ones.
    paired = {english for _, english in pairs[: rows + alone]}
    unused = [*pairs[rows + alone :], *shuffled_pairs(bitext, ["fr"])]
    unpaired = dict.fromkeys(english for _, english in unused if english not in paired)
    source = [german for german, _ in pairs[: rows + alone]]
    target = [*gold.values(), *list(unpaired)[:alone]]
    for side in (source, target):
        random.Random(1).shuffle(side)
    write_sides(folder, source, target)
    cost = mine(folder)
    lines = (folder / "mined.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
    mined = [line.split("\t") for line in lines]
    scores = torch.tensor([float(row[0]) for row in mined], dtype=torch.float64)
    is_gold = torch.tensor([gold.get(row[3].replace("\t", " ")) == row[4] for row in mined])
    print(f"xsent mine, {len(gold):,} German-English pairs among {len(source):,} x {len(target):,} sentences, micro")
    print(f"  the whole command  {cost.seconds:.1f} s, {cost.gib:.2f} GiB")
    _print_shares("the given threshold", at_threshold(scores, is_gold, len(gold), THRESHOLD))
    _print_shares("the best threshold (chosen on the same gold)", best_threshold(scores, is_gold, len(gold)))


def _print_shares(name: str, at: Threshold) -> None:
    shares = "   ".join(f"{100 * share:.1f}" for share in (at.precision, at.recall, at.f1))
    print(f"  {name}, {at.threshold:.3f}: P, R, F1 {shares}")


def main() -> None:
    """Write the files, mine them, print the measurements."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = {"exact": (exact, 200_000), "ivf": (ivf, 1_000_000), "planted": (planted, PAIRS)}
    parser.add_argument("command", choices=commands)
    parser.add_argument("--rows", type=int, help="sentences of a side; of planted: pairs")
    parser.add_argument("--bitext", type=Path, default=DATA / "bitext")
    options = parser.parse_args()
    command, rows = commands[options.command]
    with tempfile.TemporaryDirectory() as folder:
        command(options.bitext, options.rows or rows, Path(folder))


if __name__ == "__main__":
    main()
