"""Additive-margin-scale loss: softmax over in-batch and hard negatives with a margin on the true pair."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from xsent.batch import RankingMasks
from xsent.similarity import unit

MARGIN_KINDS = ("angular", "angular_safe", "additive", "cos_of_cos")
HARD_SETS = ("own", "all", "others")


@dataclass(frozen=True)
class AdditiveMarginScale:
    """-log of p / (p + n + gamma h), by one softmax over all candidates.

    Args:
        margin: subtracted from the true pair only; 0 is the plain softmax.
        margin_kind: see ``with_margin``.
        scale: inverse temperature, multiplies the cosine.
        gamma: weight of the hard negatives beside the in-batch ones; 0 leaves them out.
        hard_set: hard negatives of a pair: its ``own``, ``all``, or those of the ``others`` only, the printed j != i
            of equation (3).
        bidirectional: add the same loss with anchor and positive exchanged, as LaBSE does.

    Raises:
        ValueError: an option is unknown or out of its range.

    Source:
        Fedorova and Musatow 2024, equations (1) to (4); Yang et al. 2019 (arXiv:1902.08564) and Feng et al. 2022
        (arXiv:2007.01852) for the additive margin in both directions. Taken literally, j != i leaves out an
        anchor's own hard negatives, the only ones similar to it; ``own`` is our reading.
    """

    margin: float
    margin_kind: str
    scale: float
    gamma: float
    hard_set: str
    bidirectional: bool

    def __post_init__(self) -> None:
        for option, choices in (("margin_kind", MARGIN_KINDS), ("hard_set", HARD_SETS)):
            if getattr(self, option) not in choices:
                raise ValueError(f"recipe.loss.{option}={getattr(self, option)}: expected one of {', '.join(choices)}")
        limit, expected = math.pi / 2, "radians, at least 0 and less than pi / 2 = 1.571"
        if self.margin_kind == "additive":
            limit, expected = 2, "cosine units, at least 0 and less than 2"
        if not 0 <= self.margin < limit:
            raise ValueError(f"recipe.loss.margin={self.margin}: expected {expected}")
        if not 0 < self.scale < math.inf:
            raise ValueError(f"recipe.loss.scale={self.scale}: expected a number above 0")
        if not 0 <= self.gamma < math.inf:
            raise ValueError(f"recipe.loss.gamma={self.gamma}: expected a number, at least 0")

    def check_hard_negatives(self, *, present: bool) -> None:
        """Raise ``ValueError`` when hard negatives would have weight 0."""
        if present and self.gamma == 0:
            raise ValueError(
                "recipe.loss.gamma=0 gives hard negatives no weight: add recipe/paraphrase/mining=in_batch"
            )

    def __call__(self, anchor: Tensor, positive: Tensor, hard: Tensor, masks: RankingMasks, *, rows: slice) -> Tensor:
        """The loss of this device's pairs.

        Args:
            anchor, positive: (N, D) embeddings of the pairs of all devices; row i of one is a paraphrase of row i of
                the other.
            hard: (H, D) hard negatives of all devices; H may be 0.
            masks: negatives of each pair.
            rows: the B pairs of this device among the N.

        Returns:
            Scalar, mean over the B pairs, in nats; at least float32. 0 for a pair without any negative.
        """
        dtype = torch.promote_types(anchor.dtype, torch.float32)
        # Autocast would round cosines near 1 by up to 0.002 (bfloat16): 0.04 nats at scale 20.
        with torch.autocast(anchor.device.type, enabled=False):
            anchor, positive, hard = (unit(x.to(dtype)) for x in (anchor, positive, hard))
            cosine = torch.linalg.vecdot(anchor[rows], positive[rows])  # (B,)
            true = self.scale * with_margin(cosine, self.margin, self.margin_kind)
            sides = [(anchor[rows], positive, masks.hard_of_anchor)]
            if self.bidirectional:
                sides.append((positive[rows], anchor, masks.hard_of_positive))
            losses = []
            for queries, candidates, own in sides:
                logits = [true[:, None], self._logits(queries, candidates, masks.in_batch)]
                if self.gamma > 0:
                    others = masks.hard_of_others
                    negatives = {"own": own, "all": own | others, "others": others}[self.hard_set]  # (B, H)
                    # gamma * exp(x) = exp(x + log(gamma))
                    logits.append(self._logits(queries, hard, negatives) + math.log(self.gamma))
                losses.append(-torch.cat(logits, dim=1).log_softmax(dim=1)[:, 0])  # (B,)
            return torch.stack(losses).sum(dim=0).mean()

    def _logits(self, queries: Tensor, candidates: Tensor, negatives: Tensor) -> Tensor:
        """Scaled similarity of unit vectors (B, D) and (N, D): (B, N), -inf where not a negative."""
        cosines = queries @ candidates.T
        if self.margin_kind == "cos_of_cos":
            cosines = cosines.cos()  # as equations (2) and (3) print it
        return self.scale * cosines.masked_fill(~negatives, float("-inf"))


def with_margin(cosine: Tensor, margin: float, kind: str) -> Tensor:
    """Similarity of true pairs minus the margin, elementwise.

    Args:
        cosine: any shape, in [-1, 1] up to rounding.
        margin: radians for the angular kinds, cosine units for ``additive``.
        kind: ``angular`` is cos(angle + margin). ``angular_safe`` differs where angle + margin exceeds pi: the
            cosine would rise again, here it keeps falling. ``additive`` is cosine - margin.
            ``cos_of_cos`` is cos(cosine + margin), equation (1) with the similarity for the angle.

    Source:
        Fedorova and Musatow 2024, equation (1); Deng et al. 2019 (ArcFace, arXiv:1801.07698) for the angle and
        its guard; Yang et al. 2019 for ``additive``.
    """
    if kind == "additive":
        return cosine - margin
    if kind == "cos_of_cos":
        return torch.cos(cosine + margin)
    # cos(angle + margin) from sine and cosine: exact at cosines of 1 and -1, where arccos would need a clamp. The
    # sine's slope is infinite there and the cosine's slope by either vector is 0, so the sine is a constant 0 at and,
    # by rounding, beyond the ends.
    square = 1 - cosine.square()
    inside = square > 0
    sine = torch.where(inside, square, 1.0).sqrt() * inside
    angular = cosine * math.cos(margin) - sine * math.sin(margin)
    if kind == "angular":
        return angular
    return torch.where(cosine > -math.cos(margin), angular, cosine - margin * math.sin(margin))
