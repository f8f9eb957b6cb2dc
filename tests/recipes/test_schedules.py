"""Learning rates by hand: the numbers are those of paper and pencil at a highest rate of 8."""

import math
from itertools import pairwise

import pytest
import torch
from torch.optim import SGD
from torch.optim.lr_scheduler import LRScheduler

from xsent.recipes.schedules import inverse_sqrt, linear_decay


def optimizer() -> SGD:
    return SGD([torch.nn.Parameter(torch.zeros(1))], lr=8.0)


def rates(schedule: LRScheduler, steps: int) -> list[float]:
    """The learning rate of each step, from the first."""
    values = []
    for _ in range(steps):
        values += schedule.get_last_lr()
        schedule.optimizer.step()
        schedule.step()
    return [float(rate) for rate in values]


def test_inverse_sqrt_rises_linearly_and_falls_with_the_root_of_the_step() -> None:
    values = rates(inverse_sqrt(optimizer(), total_steps=64, warmup_steps=4), 64)
    assert values[:4] == [2, 4, 6, 8]
    # sqrt(4 / step): a half at step 16, a third at step 36, a quarter at step 64.
    assert [values[step - 1] for step in (16, 36, 64)] == pytest.approx([4, 8 / 3, 2], rel=1e-12)
    assert values[4] == pytest.approx(8 * math.sqrt(4 / 5), rel=1e-12)
    assert all(later < earlier for earlier, later in pairwise(values[3:]))


def test_inverse_sqrt_with_one_step_of_warm_up_begins_at_the_highest_rate() -> None:
    assert rates(inverse_sqrt(optimizer(), total_steps=4, warmup_steps=1), 4) == pytest.approx(
        [8, 8 / math.sqrt(2), 8 / math.sqrt(3), 4], rel=1e-12
    )


def test_inverse_sqrt_does_not_ask_how_long_the_run_is() -> None:
    short, long = (rates(inverse_sqrt(optimizer(), total_steps=n, warmup_steps=3), 20) for n in (20, 1000))
    assert short == long


@pytest.mark.parametrize("warmup_steps", [0, -1])
def test_a_warm_up_of_no_steps_is_an_error(warmup_steps: int) -> None:
    with pytest.raises(ValueError, match=f"warmup_steps is a number of optimizer steps from 1, found {warmup_steps}"):
        inverse_sqrt(optimizer(), total_steps=10, warmup_steps=warmup_steps)


def test_linear_decay_rises_over_its_share_and_falls_to_zero() -> None:
    # 2 of 10 steps of warm-up, which ends at step 3: thirds of 8, then down by an eighth of 8 a step.
    values = rates(linear_decay(optimizer(), total_steps=10, warmup_share=0.2), 11)
    assert values == pytest.approx([8 / 3, 16 / 3, 8, 7, 6, 5, 4, 3, 2, 1, 0], rel=1e-12)


@pytest.mark.parametrize(
    ("total_steps", "warmup_share", "message"), [(10, 1.0, r"in \[0, 1\), found 1.0"), (0, 0.1, "found 0 steps")]
)
def test_linear_decay_needs_steps_and_a_share_of_them(total_steps: int, warmup_share: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        linear_decay(optimizer(), total_steps=total_steps, warmup_share=warmup_share)
