"""A paraphrase nearer than the nearest hard negative of either sentence, by a margin."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from xsent.batch import RankingMasks
from xsent.similarity import cos_sim, pairwise_cos_sim


def mega_batch_margin(
    anchor: Tensor, positive: Tensor, hard: Tensor, masks: RankingMasks, *, rows: slice, margin: float
) -> Tensor:
    """The hinge of Wieting and Gimpel: max(0, margin - cos(x, y) + cos(x, n_x)), and the same of the positive y.

    Args:
        anchor, positive: (N, D) embeddings of the pairs of all devices.
        hard: (H, D) hard negatives of all devices; H may be 0.
        masks: n_x is the nearest to the anchor of its ``own``, n_y the nearest to the positive of its
            ``own_of_positive``; in-batch negatives and those of others play no part.
        rows: the B pairs of this device among the N.
        margin: cosine units.

    Returns:
        Scalar, mean over the B pairs of both sides added, at least float32. A side without any hard negative adds 0.

    Raises:
        ValueError: a margin below 0, or of 2 and more, which no cosines can meet.

    Source:
        Wieting and Gimpel 2018 (arXiv:1711.05732); Wieting et al. 2021 (arXiv:2104.15114) and the released code.
    """
    check_margin(margin)
    dtype = torch.promote_types(anchor.dtype, torch.float32)
    # Autocast would take the products in half precision, and with it the choice of the nearest.
    with torch.autocast(anchor.device.type, enabled=False):
        x, y, hard = anchor[rows].to(dtype), positive[rows].to(dtype), hard.to(dtype)
        wanted = margin - pairwise_cos_sim(x, y)  # (B,), a negative's cosine has to be below minus this
        of_anchor = F.relu(wanted + _nearest(x, hard, masks.own))
        of_positive = F.relu(wanted + _nearest(y, hard, masks.own_of_positive))
        return (of_anchor + of_positive).mean()


def _nearest(x: Tensor, hard: Tensor, own: Tensor) -> Tensor:
    """Highest cosine of each row (B, D) with its own hard negatives: (B,), -inf where it has none."""
    cosines = cos_sim(x, hard).masked_fill(~own, float("-inf"))  # (B, H)
    return F.pad(cosines, (0, 1), value=float("-inf")).amax(dim=1)  # one column more, so that H may be 0


def check_margin(margin: float) -> None:
    """Raise ``ValueError`` unless two cosines can differ by this margin."""
    if not 0 <= margin < 2:
        raise ValueError(f"recipe.loss.margin={margin}: expected cosine units, at least 0 and less than 2")


@dataclass(frozen=True)
class MegaBatchMargin:
    """``mega_batch_margin`` with its margin, which is checked when it is made."""

    margin: float

    def __post_init__(self) -> None:
        check_margin(self.margin)

    def check_hard_negatives(self, *, there: bool) -> None:
        """Raise ``ValueError`` when there are no hard negatives: nothing would be learned."""
        if not there:
            raise ValueError(
                "recipe.loss: MegaBatchMargin looks at hard negatives alone, and there are none with mining=none and"
                " data.own_negatives=0"
            )

    def __call__(self, anchor: Tensor, positive: Tensor, hard: Tensor, masks: RankingMasks, *, rows: slice) -> Tensor:
        """The loss of this device's pairs; arguments as in ``mega_batch_margin``."""
        return mega_batch_margin(anchor, positive, hard, masks, rows=rows, margin=self.margin)
