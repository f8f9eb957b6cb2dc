"""Batch samplers: the rows of a batch depend only on seed, epoch and position."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Sampler

Rows = NDArray[np.int64]


def epoch_order(stratum: Rows, *, seed: int, epoch: int, temperature: float) -> Rows:
    """Rows of one epoch in training order, as many as there are pairs; only seed and epoch decide the order.

    Args:
        stratum: (N,) number of each pair's language pair.
        seed, epoch: of the random numbers.
        temperature: language pairs are drawn in proportion to n ** (1 / temperature). 1 is a plain permutation;
            larger values repeat small language pairs to give them a larger share.
    """
    rng = np.random.default_rng([seed, epoch])
    if temperature == 1:
        return rng.permutation(len(stratum))
    counts = np.bincount(stratum)
    share = np.where(counts > 0, counts.astype(np.float64) ** (1 / temperature), 0.0)
    sizes = np.floor(share / share.sum() * len(stratum)).astype(np.int64)
    sizes[np.argmax(counts)] += len(stratum) - sizes.sum()
    samples = []
    for number, size in enumerate(sizes):
        rows = np.flatnonzero(stratum == number)
        # Complete passes over the language pair, then part of one: how often two pairs are drawn differs by 1 at most.
        passes = [rng.permutation(rows) for _ in range(-(-int(size) // max(1, len(rows))))]
        samples.append(np.concatenate([*passes, rows[:0]])[:size])
    return rng.permutation(np.concatenate(samples))


@dataclass(kw_only=True, eq=False)
class TrainSampler(Sampler[tuple[Rows, int]]):
    """This rank's slice of every global batch of an epoch, from the current position on, and the epoch."""

    size: int  # number of pairs
    order: Callable[[int], Rows]  # epoch -> pairs in training order
    global_batch_size: int  # pairs of a step over all ranks; an incomplete last batch is dropped
    rank: int  # this and the world size select the slice; the global batches do not depend on them
    world_size: int
    batches_seen: Callable[[], int]  # number of batches consumed in all epochs so far

    def __len__(self) -> int:
        return self.size // self.global_batch_size

    def __iter__(self) -> Iterator[tuple[Rows, int]]:
        epoch, position = divmod(self.batches_seen(), len(self))
        order = self.order(epoch)
        size = self.global_batch_size // self.world_size
        for batch in range(position, len(self)):
            start = batch * self.global_batch_size + self.rank * size
            yield order[start : start + size], epoch


class EvaluationSampler(Sampler[tuple[Rows, int]]):
    """This rank's slice of every batch of rows in order, without padding, repetition or loss, and the epoch 0."""

    def __init__(self, rows: int, *, global_batch_size: int, rank: int, world_size: int) -> None:
        # An incomplete last batch joins the one before, so that each rank has two pairs to compare.
        batches = max(1, rows // global_batch_size)
        starts = np.arange(batches) * global_batch_size
        self.slices = [
            np.array_split(np.arange(start, end), world_size)[rank]
            for start, end in zip(starts, [*starts[1:], rows], strict=True)
        ]

    def __len__(self) -> int:
        return len(self.slices)

    def __iter__(self) -> Iterator[tuple[Rows, int]]:
        return ((rows, 0) for rows in self.slices)
