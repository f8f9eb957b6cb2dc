"""Exact search in both directions relative to its matrix products: time, ratio, peak memory.

``python -m benchmarks.search [--rows 100000]``; the products are timed first and last, to show
changes of the machine's speed.
"""

import argparse
import resource
import time
from collections.abc import Callable

import torch
from torch import Tensor

from xsent.evaluation.search.exact import COLUMNS, ROWS, knn, knn_both

DIM, K = 256, 4
LIMIT, MEMORY_LIMIT = 1.5, 2.0  # times the products; GiB


def products(x: Tensor, y: Tensor) -> None:
    """Compute all products in the tiles of the search; keep none."""
    buffer = torch.empty(ROWS * COLUMNS)
    for column in range(0, len(y), COLUMNS):
        y_tile = y[column : column + COLUMNS]
        for row in range(0, len(x), ROWS):
            x_tile = x[row : row + ROWS]
            torch.mm(x_tile, y_tile.T, out=buffer[: len(x_tile) * len(y_tile)].view(len(x_tile), -1))


def seconds(run: Callable[[], object]) -> float:
    """Duration of a call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    """Print one line per measurement."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    torch.manual_seed(0)
    x, y = (torch.nn.functional.normalize(torch.randn(rows, DIM), dim=1) for _ in range(2))
    before = seconds(lambda: products(x, y))
    both = seconds(lambda: knn_both(x, y, K))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    after = seconds(lambda: products(x, y))
    bare = (before + after) / 2
    print(f"search {rows:,} x {rows:,} x {DIM}, k={K}, both directions, {torch.get_num_threads()} threads")
    print(f"  matrix products alone   {before:7.1f} s before, {after:.1f} s after")
    print(f"  knn_both                {both:7.1f} s, {both / bare:.2f} x the products (limit {LIMIT})")
    two = seconds(lambda: (knn(x, y, K), knn(y, x, K)))
    print(f"  two FAISS searches      {two:7.1f} s, {two / bare:.2f} x the products")
    print(f"  peak memory             {memory:7.2f} GiB (limit {MEMORY_LIMIT})")


if __name__ == "__main__":
    main()
