"""CoSENT: ranks the cosines of all pairs of label 1 above those of all pairs of label 0."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from xsent.similarity import pairwise_cos_sim


@dataclass(frozen=True)
class CoSent:
    """log(1 + sum of exp(scale * (cosine of a pair of label 0 - cosine of a pair of label 1))) over all such two pairs.

    Args:
        scale: inverse temperature, multiplies the cosine.

    Raises:
        ValueError: the scale is not above 0.

    Source:
        Su 2022, CoSENT (https://kexue.fm/archives/8847); ``CoSENTLoss`` of sentence-transformers.
    """

    scale: float

    def __post_init__(self) -> None:
        if not 0 < self.scale < math.inf:
            raise ValueError(f"recipe.loss.scale={self.scale}: expected a number above 0")

    def __call__(self, source: Tensor, target: Tensor, label: Tensor) -> Tensor:
        """The loss of the pairs of all devices.

        Args:
            source, target: (N, D) embeddings; row i of both is a pair.
            label: (N,) int64, 1 for the same meaning, else 0.

        Returns:
            Scalar, in nats, at least float32; not a mean, so it grows with the logarithm of N. 0 for a batch of one
            label.
        """
        # Autocast would round cosines near 1 by up to 0.002 (bfloat16): 0.04 nats at scale 20.
        with torch.autocast(source.device.type, enabled=False):
            dtype = torch.promote_types(source.dtype, torch.float32)
            scores = self.scale * pairwise_cos_sim(source.to(dtype), target.to(dtype))  # (N,)
            compared = (label[:, None] == 0) & (label[None, :] == 1)  # (N, N)
            excess = (scores[:, None] - scores[None, :]).masked_fill(~compared, float("-inf"))
            return F.pad(excess.flatten(), (0, 1)).logsumexp(dim=0)  # the 0 is the 1 of log(1 + ...)
