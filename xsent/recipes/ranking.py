"""Hard negatives of a ranking step: owners, gathering over devices, masks."""

from typing import NamedTuple

import torch
from torch import Tensor

from xsent.batch import RankingBatch, RankingMasks
from xsent.distributed import gather_uneven_rows, rank


class HardNegatives(NamedTuple):
    """Distinct hard negatives of a step, and P links to the pairs that they belong to."""

    text: Tensor  # (H,) int64, index of the text
    column: Tensor  # (P,) int64, index into the H texts
    owner: Tensor  # (P,) int64, row of the pair
    of_anchor: Tensor  # (P,) bool, negative of the anchor
    of_positive: Tensor  # (P,) bool, negative of the positive


class Mined(NamedTuple):
    """K negatives mined in a mega-batch of ``length`` batches from batch ``first`` on."""

    first: int
    length: int
    row: Tensor  # (K,) int64, row of the data
    text: Tensor  # (K,) int64, index of the text
    of_anchor: Tensor  # (K,) bool
    of_positive: Tensor  # (K,) bool

    def to(self, device: torch.device) -> "Mined":
        """The same on a device."""
        first, length, *columns = self
        return Mined(first, length, *(column.to(device) for column in columns))


def hard_negatives(batch: RankingBatch, mined: Mined | None) -> HardNegatives:
    """The hard negatives of the batch and those mined for it, each text once.

    Hard negatives of the data belong to both sides of a pair; mined ones store their side.
    """
    text, owner = batch.negative, batch.owner
    of_anchor = torch.ones_like(text, dtype=torch.bool)
    of_positive = of_anchor
    if mined is not None:
        mined = mined.to(owner.device)
        owners, matches = (batch.pairs.row[:, None] == mined.row[None, :]).nonzero(as_tuple=True)
        text, owner = torch.cat([text, mined.text[matches]]), torch.cat([owner, owners])
        of_anchor = torch.cat([of_anchor, mined.of_anchor[matches]])
        of_positive = torch.cat([of_positive, mined.of_positive[matches]])
    distinct, column = torch.unique(text, return_inverse=True)
    return HardNegatives(distinct, column, owner, of_anchor, of_positive)


def gather_hard_negatives(hard: HardNegatives, pairs: int) -> HardNegatives:
    """The hard negatives of all devices, in the order of ranks like their vectors.

    Args:
        hard: of this device.
        pairs: B, number of pairs on this device.
    """
    return HardNegatives(
        gather_uneven_rows(hard.text),
        gather_uneven_rows(hard.column + first_row(len(hard.text), hard.text)),
        gather_uneven_rows(hard.owner + first_row(pairs, hard.text)),
        gather_uneven_rows(hard.of_anchor),
        gather_uneven_rows(hard.of_positive),
    )


def first_row(rows: int, like: Tensor) -> int:
    """Index of this device's first row among the rows of all devices."""
    return int(gather_uneven_rows(torch.tensor([rows], device=like.device))[: rank()].sum())


def ranking_masks(rows: slice, group: Tensor, hard: HardNegatives, hard_group: Tensor) -> RankingMasks:
    """Masks of in-batch and hard negatives.

    Sentences of one group may be paraphrases, so they are negatives only if the data say so. A text that several
    devices hold counts once, as on one device.

    Args:
        rows: the B pairs of this device among all N.
        group: (N,) of the pairs.
        hard: of all devices.
        hard_group: (H,) of the hard negatives.
    """
    first = _first_of_each(hard.text)
    of_anchor, of_positive = (
        _link_mask(hard._replace(column=first[hard.column]), links, len(group))[rows]
        for links in (hard.of_anchor, hard.of_positive)
    )
    of_others = group[rows, None] != hard_group[None, :]  # (B, H)
    of_others &= first == torch.arange(len(first), device=first.device)
    return RankingMasks(
        in_batch=group[rows, None] != group[None, :],
        hard_of_anchor=of_anchor,
        hard_of_positive=of_positive,
        hard_of_others=of_others & ~of_anchor & ~of_positive,
    )


def _link_mask(hard: HardNegatives, links: Tensor, pairs: int) -> Tensor:
    mask = torch.zeros(pairs, len(hard.text), dtype=torch.bool, device=links.device)
    mask[hard.owner[links], hard.column[links]] = True
    return mask


def _first_of_each(text: Tensor) -> Tensor:
    """Index (H,) of the first occurrence of each text."""
    distinct, number = torch.unique(text, return_inverse=True)
    index = torch.arange(len(text), device=text.device)
    first = index.new_full((len(distinct),), len(text)).scatter_reduce(0, number, index, reduce="amin")
    return first[number]
