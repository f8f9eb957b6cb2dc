"""Which pairs are in which batch: a pure function of seed, epoch and position."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Sampler

Rows = NDArray[np.int64]


def epoch_order(stratum: Rows, *, seed: int, epoch: int, temperature: float) -> Rows:
    """Rows of one epoch in their order, as many as there are pairs.

    Args:
        stratum: (N,) number of each pair's language pair.
        seed, epoch: decide the order, and nothing else does.
        temperature: language pairs are drawn in proportion to n ** (1 / temperature); 1 is a plain
            permutation, larger ones give small language pairs a larger share, by repeating them.
    """
    rng = np.random.default_rng([seed, epoch])
    if temperature == 1:
        return rng.permutation(len(stratum))
    counts = np.bincount(stratum)
    share = np.where(counts > 0, counts.astype(np.float64) ** (1 / temperature), 0.0)
    wanted = np.floor(share / share.sum() * len(stratum)).astype(np.int64)
    wanted[np.argmax(counts)] += len(stratum) - wanted.sum()
    drawn = []
    for number, n in enumerate(wanted):
        rows = np.flatnonzero(stratum == number)
        # Whole passes over the language pair, then part of one: no pair is twice ahead of another.
        passes = [rng.permutation(rows) for _ in range(-(-int(n) // max(1, len(rows))))]
        drawn.append(np.concatenate([*passes, rows[:0]])[:n])
    return rng.permutation(np.concatenate(drawn))


class TrainSampler(Sampler[Rows]):
    """This rank's slice of every global batch of an epoch, from the current position on.

    Args:
        stratum: (N,) number of each pair's language pair.
        global_batch_size: pairs of a step over all ranks; the rest of an epoch is dropped.
        seed, temperature: as in ``epoch_order``.
        rank, world_size: which slice; the global batches are the same for any number of ranks.
        batches_seen: gives the number of batches consumed in all epochs so far.
    """

    def __init__(
        self,
        stratum: Rows,
        *,
        global_batch_size: int,
        seed: int,
        temperature: float,
        rank: int,
        world_size: int,
        batches_seen: Callable[[], int],
    ) -> None:
        self.stratum = stratum
        self.global_batch_size = global_batch_size
        self.seed = seed
        self.temperature = temperature
        self.rank = rank
        self.world_size = world_size
        self.batches_seen = batches_seen

    def __len__(self) -> int:
        return len(self.stratum) // self.global_batch_size

    def __iter__(self) -> Iterator[Rows]:
        epoch, done = divmod(self.batches_seen(), len(self))
        order = epoch_order(self.stratum, seed=self.seed, epoch=epoch, temperature=self.temperature)
        size = self.global_batch_size // self.world_size
        for batch in range(done, len(self)):
            start = batch * self.global_batch_size + self.rank * size
            yield order[start : start + size]


class EvaluationSampler(Sampler[Rows]):
    """This rank's slice of every batch of rows in their order; nothing padded, repeated or dropped."""

    def __init__(self, rows: int, *, global_batch_size: int, rank: int, world_size: int) -> None:
        # A small rest joins the batch before it: no rank is left without two pairs to compare.
        batches = max(1, rows // global_batch_size)
        starts = np.arange(batches) * global_batch_size
        self.slices = [
            np.array_split(np.arange(start, end), world_size)[rank]
            for start, end in zip(starts, [*starts[1:], rows], strict=True)
        ]

    def __len__(self) -> int:
        return len(self.slices)

    def __iter__(self) -> Iterator[Rows]:
        return iter(self.slices)


class WithEpoch(Sampler[tuple[Rows, int]]):
    """The rows of a sampler, each with the number of the epoch that they are of."""

    def __init__(self, sampler: TrainSampler) -> None:
        self.sampler = sampler

    def __len__(self) -> int:
        return len(self.sampler)

    def __iter__(self) -> Iterator[tuple[Rows, int]]:
        epoch = self.sampler.batches_seen() // len(self.sampler)
        for rows in self.sampler:
            yield rows, epoch
