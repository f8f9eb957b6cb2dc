"""Batch samplers: the rows of a batch depend only on seed, epoch and position."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Sampler

Rows = NDArray[np.int64]


def epoch_strata(
    language_pair: Rows, root: Rows, *, temperature: float, shares: Sequence[float] | None, size: int | None
) -> tuple[Rows, Rows | None]:
    """Number (N,) of each pair's stratum, and number (S,) of draws from each stratum in an epoch.

    Args:
        language_pair: (N,) number of each pair's language pair; a stratum is one, of one root if roots have shares.
        root: (N,) number of the root that each pair was read from.
        temperature: the strata of a root are drawn in proportion to n ** (1 / temperature). 1 draws all pairs equally
            often; larger values repeat small language pairs to give them a larger share.
        shares: of the draws, by root, in any unit; None: all roots are one pool.
        size: number of draws; None: as many as there are pairs.

    Returns:
        Strata and draws. The draws are None if an epoch is every pair once, which needs no strata.
    """
    if shares is None:
        root, shares = np.zeros_like(root), [1.0]
        if temperature == 1 and size is None:
            return language_pair, None
    stratum = np.unique(language_pair * len(shares) + root, return_inverse=True)[1]
    counts = np.bincount(stratum)
    root_of_stratum = root[np.unique(stratum, return_index=True)[1]]
    ends = np.cumsum([0.0, *shares])
    root_draws = np.diff(np.round(ends / ends[-1] * (len(root) if size is None else size))).astype(np.int64)
    draws = np.zeros_like(counts)
    for number, drawn in enumerate(root_draws.tolist()):
        strata = np.flatnonzero(root_of_stratum == number)
        weights = counts[strata].astype(np.float64) ** (1 / temperature)
        draws[strata] = np.floor(weights / weights.sum() * drawn)
        draws[strata[np.argmax(counts[strata])]] += drawn - draws[strata].sum()
    return stratum, draws


def epoch_order(stratum: Rows, draws: Rows | None, *, seed: int, epoch: int) -> Rows:
    """Rows of one epoch in training order; only seed and epoch decide the order.

    Args:
        stratum: (N,) number of each pair's stratum, see ``epoch_strata``.
        draws: (S,) number of draws from each stratum; None is every pair once.
        seed, epoch: of the random numbers.
    """
    rng = np.random.default_rng([seed, epoch])
    if draws is None:
        return rng.permutation(len(stratum))
    by_stratum = np.split(np.argsort(stratum, kind="stable"), np.cumsum(np.bincount(stratum))[:-1])
    samples = []
    for rows, size in zip(by_stratum, draws.tolist(), strict=True):
        # Complete passes over the stratum, then part of one: how often two pairs are drawn differs by 1 at most.
        passes = [rng.permutation(rows) for _ in range(-(-size // max(1, len(rows))))]
        samples.append(np.concatenate([*passes, rows[:0]])[:size])
    return rng.permutation(np.concatenate(samples))


@dataclass(kw_only=True, eq=False)
class TrainSampler(Sampler[tuple[Rows, int]]):
    """This rank's slice of every global batch of an epoch, from the current position on, and the epoch."""

    size: int  # draws per epoch
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
