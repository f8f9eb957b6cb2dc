import itertools
from typing import Any

import numpy as np
import pytest

from xsent.data.sampling.batch_sampler import EvaluationSampler, Rows, TrainSampler, epoch_order, epoch_strata

STRATA = np.repeat([0, 1, 2], [700, 250, 50])  # three language pairs, 1,000 pairs


def order_of(*, seed: int, epoch: int, temperature: float, **options: Any) -> Rows:
    options = {"root": np.zeros_like(STRATA), "shares": None, "size": None} | options
    stratum, draws = epoch_strata(STRATA, temperature=temperature, **options)
    return epoch_order(stratum, draws, seed=seed, epoch=epoch)


def sampler(
    visited: int = 0, *, rank: int = 0, world_size: int = 1, temperature: float = 1.0, seed: int = 3
) -> TrainSampler:
    return TrainSampler(
        size=len(STRATA),
        order=lambda epoch: order_of(seed=seed, epoch=epoch, temperature=temperature),
        global_batch_size=64,
        rank=rank,
        world_size=world_size,
        batches_seen=lambda: visited,
    )


def batches(visited: int = 0, **options: float) -> list[list[int]]:
    return [rows.tolist() for rows, _ in sampler(visited, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_a_resumed_run_sees_what_an_uninterrupted_one_sees(temperature: float) -> None:
    steps = len(sampler())
    complete = batches(0, temperature=temperature) + batches(steps, temperature=temperature)
    for visited in range(2 * steps):
        rest = batches(visited, temperature=temperature)
        end = (visited // steps + 1) * steps
        assert rest == complete[visited:end]


@pytest.mark.parametrize("temperature", [1.0, 3.0])
@pytest.mark.parametrize("world_size", [2, 4])
def test_any_number_of_processes_sees_the_same_global_batches(world_size: int, temperature: float) -> None:
    shares = [batches(5, rank=r, world_size=world_size, temperature=temperature) for r in range(world_size)]
    together = [list(itertools.chain(*parts)) for parts in zip(*shares, strict=True)]
    assert together == batches(5, temperature=temperature)
    assert {len(rows) for share in shares for rows in share} == {64 // world_size}


def test_an_epoch_takes_no_pair_twice_and_drops_only_the_last_incomplete_batch() -> None:
    rows = list(itertools.chain(*batches()))
    assert len(rows) == len(set(rows)) == 1000 // 64 * 64


def test_epochs_and_seeds_differ_in_order() -> None:
    first = batches()
    assert first != batches(len(sampler()))
    assert first != batches(seed=4)


def test_the_length_is_that_of_a_whole_epoch_wherever_it_starts() -> None:
    assert len(sampler(0)) == len(sampler(7)) == 15


@pytest.mark.parametrize("temperature", [2.0, 5.0, 1e9])  # the last one is even
def test_temperature_gives_each_language_pair_its_share(temperature: float) -> None:
    order = order_of(seed=0, epoch=0, temperature=temperature)
    weights = np.array([700, 250, 50]) ** (1 / temperature)
    expected = weights / weights.sum() * 1000
    # The shares are counted out, not drawn: only rounding is between them.
    assert np.abs(np.bincount(STRATA[order]) - expected).max() < 3


def test_no_pair_is_taken_twice_before_all_of_its_language_pair_were_taken() -> None:
    order = order_of(seed=0, epoch=0, temperature=5.0)
    for stratum in range(3):
        times = np.bincount(order, minlength=1000)[stratum == STRATA]
        assert times.max() - times.min() <= 1


@pytest.mark.parametrize("temperature", [1.0, 2.0])
@pytest.mark.parametrize("size", [None, 400, 5000])
def test_each_root_has_its_share_of_the_draws(temperature: float, size: int | None) -> None:
    root = np.arange(1000) % 3
    order = order_of(seed=0, epoch=0, temperature=temperature, root=root, shares=[5, 3, 2], size=size)
    draws = np.bincount(root[order])
    assert len(order) == (size or 1000)
    assert draws == pytest.approx(len(order) * np.array([0.5, 0.3, 0.2]), abs=1)
    # Within a root, language pairs have the shares that the temperature gives them.
    for number, total in enumerate(draws):
        weights = np.bincount(STRATA[root == number]) ** (1 / temperature)
        in_root = np.bincount(STRATA[order[root[order] == number]], minlength=3)
        assert np.abs(in_root - weights / weights.sum() * total).max() < 3


def test_an_epoch_of_another_size_is_drawn_from_all_language_pairs() -> None:
    assert np.bincount(STRATA[order_of(seed=0, epoch=0, temperature=1, size=100)]).tolist() == [70, 25, 5]
    twice = order_of(seed=0, epoch=0, temperature=1, size=2000)
    assert np.bincount(twice).tolist() == [2] * 1000


@pytest.mark.parametrize("rows", [5, 64, 65, 127, 128, 200])
@pytest.mark.parametrize("world_size", [1, 2])
def test_evaluation_takes_every_row_once_and_in_order(rows: int, world_size: int) -> None:
    shares = [
        [batch for batch, _ in EvaluationSampler(rows, global_batch_size=64, rank=r, world_size=world_size)]
        for r in range(world_size)
    ]
    merged = [np.concatenate(parts) for parts in zip(*shares, strict=True)]
    assert np.concatenate(merged).tolist() == list(range(rows))
    assert min(len(part) for share in shares for part in share) >= 2
