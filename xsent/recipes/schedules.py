"""Learning-rate schedules; the recipe passes the number of steps."""

import math

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR


def linear_decay(optimizer: Optimizer, *, total_steps: int, warmup_share: float) -> LambdaLR:
    """Linear warm-up over ``warmup_share`` of the steps, then linear decay to 0.

    Raises:
        ValueError: ``warmup_share`` is outside [0, 1), or the number of steps is unknown.
    """
    if not 0 <= warmup_share < 1:
        raise ValueError(f"warmup_share is a share of the steps in [0, 1), found {warmup_share}")
    if total_steps < 1:
        raise ValueError(f"a schedule needs trainer.max_epochs or trainer.max_steps, found {total_steps} steps")
    warmup = round(warmup_share * total_steps)

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return max(0.0, (total_steps - step) / max(1, total_steps - warmup))

    return LambdaLR(optimizer, factor)


def inverse_sqrt(optimizer: Optimizer, *, total_steps: int, warmup_steps: int) -> LambdaLR:
    """Linear warm-up over ``warmup_steps``, then decay with the inverse square root of the step.

    Step ``s``, counted from 1, has the learning rate times ``min(s / warmup_steps, sqrt(warmup_steps / s))``. This is
    fairseq's ``inverse_sqrt`` with ``warmup_init_lr`` 0 (Ott et al. 2019, arXiv:1904.01038); the curve is that of
    Vaswani et al. 2017 (arXiv:1706.03762, section 5.3).

    Args:
        optimizer: its learning rate is the highest.
        total_steps: ignored, the decay has no end; recipes pass it to every schedule.
        warmup_steps: optimizer steps.

    Raises:
        ValueError: ``warmup_steps`` is below 1.
    """
    if warmup_steps < 1:
        raise ValueError(f"warmup_steps is a number of optimizer steps from 1, found {warmup_steps}")

    def factor(step: int) -> float:
        # Differs from fairseq, which counts from 0 like PyTorch: its first step has learning rate 0.
        step += 1
        return min(step / warmup_steps, math.sqrt(warmup_steps / step))

    return LambdaLR(optimizer, factor)
