"""Vectors that searches have to order."""

import pytest
import torch
from torch import Tensor


@pytest.fixture
def tied_xy() -> tuple[Tensor, Tensor]:
    """Vectors with more equal rows than candidates, and zero rows; not normalised."""
    torch.manual_seed(0)
    x, y = torch.randn(130, 12), torch.randn(170, 12)
    x[20:60], y[100:140] = x[3], y[5]
    x[70:72], y[0] = 0, 0
    return x, y
