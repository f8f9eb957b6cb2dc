"""Where a job computes, asked before it begins."""

from __future__ import annotations

import torch


def check_device(device: str) -> None:
    """Raise ``ValueError`` if torch cannot compute there."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch's way to say that it was built without CUDA
        reason = str(error).split("\n")[0]
        raise ValueError(f"device {device!r} cannot be used: {reason}") from error
