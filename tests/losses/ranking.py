"""Masks of ranking losses for tests: who is a negative of whom."""

import torch
from torch import Tensor

from xsent.batch import RankingMasks


def masks_of_own(owner: Tensor, pairs: int, group: Tensor | None = None) -> RankingMasks:
    """Of hard negatives that each belong to one pair, of both its sentences.

    Args:
        owner: (H,) int64, the pair that hard negative j belongs to.
        pairs: N.
        group: (N,) of the pairs; None: each is of its own.
    """
    group = torch.arange(pairs) if group is None else group
    owned = torch.arange(pairs)[:, None] == owner[None, :]  # (N, H)
    return RankingMasks(
        in_batch=group[:, None] != group[None, :], hard_of_anchor=owned, hard_of_positive=owned, hard_of_others=~owned
    )


def pairs_alone(x: Tensor, group: Tensor | None = None) -> tuple[Tensor, RankingMasks]:
    """No hard negatives (0, D), and the masks of the pairs (N, D) without any."""
    return x.new_empty(0, x.size(1)), masks_of_own(torch.empty(0, dtype=torch.int64), len(x), group)
