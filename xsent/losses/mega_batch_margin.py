"""Hinge of mega-batches: a pair against the nearest hard negative of either sentence."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from xsent.batch import RankingMasks
from xsent.similarity import cos_sim, pairwise_cos_sim


@dataclass(frozen=True)
class MegaBatchMargin:
    """The hinge of Wieting and Gimpel: max(0, margin - cos(x, y) + cos(x, n_x)), and the same of the positive y.

    Args:
        margin: cosine units, at least 0 and less than 2.

    Raises:
        ValueError: another margin.

    Source:
        Wieting and Gimpel 2018 (arXiv:1711.05732); Wieting et al. 2021 (arXiv:2104.15114) and the released code.
    """

    margin: float

    def __post_init__(self) -> None:
        if not 0 <= self.margin < 2:
            raise ValueError(f"recipe.loss.margin={self.margin}: expected cosine units, at least 0 and less than 2")

    def check_hard_negatives(self, *, present: bool) -> None:
        """Raise ``ValueError`` when there are no hard negatives: nothing would be learned."""
        if not present:
            raise ValueError(
                "recipe.loss: MegaBatchMargin needs hard negatives; recipe/paraphrase/mining=none has none with"
                " data.own_negatives=0"
            )

    def __call__(self, anchor: Tensor, positive: Tensor, hard: Tensor, masks: RankingMasks, *, rows: slice) -> Tensor:
        """The loss of this device's pairs.

        Args:
            anchor, positive: (N, D) embeddings of the pairs of all devices.
            hard: (H, D) hard negatives of all devices; H may be 0.
            masks: n_x is the nearest to the anchor of ``hard_of_anchor``, n_y the nearest to the positive of
                ``hard_of_positive``; other negatives are ignored.
            rows: the B pairs of this device among the N.

        Returns:
            Scalar, mean over the B pairs of both sides added, at least float32. A side without hard negatives adds 0.
        """
        dtype = torch.promote_types(anchor.dtype, torch.float32)
        # Under autocast half precision could change which negative is nearest.
        with torch.autocast(anchor.device.type, enabled=False):
            x, y, hard = anchor[rows].to(dtype), positive[rows].to(dtype), hard.to(dtype)
            deficit = self.margin - pairwise_cos_sim(x, y)  # (B,), plus a negative's cosine: the hinge
            of_anchor = F.relu(deficit + _nearest(x, hard, masks.hard_of_anchor))
            of_positive = F.relu(deficit + _nearest(y, hard, masks.hard_of_positive))
            return (of_anchor + of_positive).mean()


def _nearest(x: Tensor, hard: Tensor, mask: Tensor) -> Tensor:
    """Highest cosine of each row (B, D) with its hard negatives: (B,), -inf without any."""
    cosines = cos_sim(x, hard).masked_fill(~mask, float("-inf"))  # (B, H)
    return F.pad(cosines, (0, 1), value=float("-inf")).amax(dim=1)  # one more column, because H may be 0
