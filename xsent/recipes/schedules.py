"""Learning-rate schedules; the number of steps is given by the recipe, never asked of Lightning."""

from __future__ import annotations

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR


def linear_decay(optimizer: Optimizer, *, total_steps: int, warmup_share: float) -> LambdaLR:
    """Up linearly over the first ``warmup_share`` of the steps, then down linearly to 0.

    Raises:
        ValueError: ``warmup_share`` is outside [0, 1), or there is no number of steps to spread over.
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
