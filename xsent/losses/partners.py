"""Random partners within a batch: another pair, or another pair of the same language."""

import torch
from torch import Tensor


def any_partner(size: int, generator: torch.Generator, device: torch.device) -> Tensor:
    """Another pair for each of ``size`` pairs: (size,) int64.

    Raises:
        ValueError: a batch of one has no other pair.
    """
    if size < 2:
        raise ValueError(f"random partners need at least 2 pairs in a batch, found {size}")
    order = torch.randperm(size, generator=generator)
    partner = torch.empty_like(order)
    partner[order] = order.roll(-1)  # next in a random cycle of all pairs
    return partner.to(device)


def same_language_partners(lang: Tensor, generator: torch.Generator) -> Tensor:
    """Another pair of the same label for each pair: (B,) int64; the pair itself if it has none."""
    shuffled = torch.randperm(len(lang), generator=generator).to(lang.device)
    partner = torch.empty_like(shuffled)
    partner[shuffled] = shuffled[next_of_label(lang[shuffled])]
    return partner


def next_of_label(label: Tensor) -> Tensor:
    """The next row with the same label (B,), the first after the last: (B,) int64, itself when alone."""
    order = label.argsort(stable=True)
    counts = label.bincount()
    counts = counts[counts > 0]  # in the order of the labels, as `order` has them
    last = counts.cumsum(0) - 1  # end of each label's run
    next_row = torch.arange(1, len(label) + 1, device=label.device)
    next_row[last] = last - counts + 1
    partner = torch.empty_like(order)
    partner[order] = order[next_row]
    return partner
