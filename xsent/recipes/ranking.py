"""Hard negatives of a ranking step: whose they are, and who may be set against whom."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from xsent.batch import RankingBatch, RankingMasks
from xsent.distributed import gather_uneven_rows, rank


class HardNegatives(NamedTuple):
    """Distinct hard negatives of a step, and P statements of whose they are."""

    text: Tensor  # (H,) int64, number of the text
    column: Tensor  # (P,) int64, which of the H
    owner: Tensor  # (P,) int64, row of the pair
    of_anchor: Tensor  # (P,) bool, it is one of the anchor's
    of_positive: Tensor  # (P,) bool, it is one of the anchor's paraphrase


class Mined(NamedTuple):
    """What was found in a mega-batch: K negatives for the examples of ``length`` batches from batch ``first`` on."""

    first: int
    length: int
    row: Tensor  # (K,) int64, example of the data
    text: Tensor  # (K,) int64, number of the text
    of_anchor: Tensor  # (K,) bool
    of_positive: Tensor  # (K,) bool

    def to(self, device: torch.device) -> Mined:
        """The same on a device."""
        first, length, *columns = self
        return Mined(first, length, *(column.to(device) for column in columns))


def hard_negatives(batch: RankingBatch, mined: Mined | None) -> HardNegatives:
    """The batch's own hard negatives and those mined for it, each text once.

    What the data name as unlike the anchor is unlike its paraphrase, too; what was mined says itself whose it is.
    """
    text, owner = batch.negative, batch.owner
    of_anchor = torch.ones_like(text, dtype=torch.bool)
    of_positive = of_anchor
    if mined is not None:
        mined = mined.to(owner.device)
        owners, found = (batch.pairs.row[:, None] == mined.row[None, :]).nonzero(as_tuple=True)
        text, owner = torch.cat([text, mined.text[found]]), torch.cat([owner, owners])
        of_anchor = torch.cat([of_anchor, mined.of_anchor[found]])
        of_positive = torch.cat([of_positive, mined.of_positive[found]])
    distinct, column = torch.unique(text, return_inverse=True)
    return HardNegatives(distinct, column, owner, of_anchor, of_positive)


def gather_hard_negatives(hard: HardNegatives, pairs: int) -> HardNegatives:
    """The hard negatives of all devices, one device's after another's, as their vectors are gathered.

    Args:
        hard: of this device.
        pairs: B, how many pairs this device has.
    """
    return HardNegatives(
        gather_uneven_rows(hard.text),
        gather_uneven_rows(hard.column + first_row(len(hard.text), hard.text)),
        gather_uneven_rows(hard.owner + first_row(pairs, hard.text)),
        gather_uneven_rows(hard.of_anchor),
        gather_uneven_rows(hard.of_positive),
    )


def first_row(rows: int, like: Tensor) -> int:
    """Where this device's rows begin among those of all devices, each of which may have another number."""
    return int(gather_uneven_rows(torch.tensor([rows], device=like.device))[: rank()].sum())


def ranking_masks(rows: slice, group: Tensor, hard: HardNegatives, hard_group: Tensor) -> RankingMasks:
    """Who is a negative of whom.

    Sentences of one group share a sentence or a source, so one may be a paraphrase of the other: they are no
    negatives, unless the data say so. A text that several devices have counts once, as it would on one device.

    Args:
        rows: the B pairs of this device among the N of all.
        group: (N,) of the pairs.
        hard: of all devices.
        hard_group: (H,) of the hard negatives.
    """
    first = _first_of_each(hard.text)
    own, own_of_positive = (
        _statements(hard._replace(column=first[hard.column]), said, len(group))[rows]
        for said in (hard.of_anchor, hard.of_positive)
    )
    stranger = group[rows, None] != hard_group[None, :]  # (B, H)
    stranger &= first == torch.arange(len(first), device=first.device)
    return RankingMasks(
        in_batch=group[rows, None] != group[None, :],
        own=own,
        own_of_positive=own_of_positive,
        others=stranger & ~own & ~own_of_positive,
    )


def _statements(hard: HardNegatives, said: Tensor, pairs: int) -> Tensor:
    mask = torch.zeros(pairs, len(hard.text), dtype=torch.bool, device=said.device)
    mask[hard.owner[said], hard.column[said]] = True
    return mask


def _first_of_each(text: Tensor) -> Tensor:
    """Where (H,) each text occurs first."""
    distinct, number = torch.unique(text, return_inverse=True)
    places = torch.arange(len(text), device=text.device)
    first = places.new_full((len(distinct),), len(text)).scatter_reduce(0, number, places, reduce="amin")
    return first[number]
