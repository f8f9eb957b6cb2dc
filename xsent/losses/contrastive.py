"""Contrastive loss of labelled pairs: paraphrases together, the others a margin apart; online hard pairs."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from xsent.similarity import pairwise_cos_sim


@dataclass(frozen=True)
class Contrastive:
    """Half the squared distance of label 1; of label 0 half the square of what the distance lacks to the margin.

    Args:
        margin: distance, 1 - cosine, from which on pairs of label 0 have loss 0; more than 0, at most 2.
        hard_pairs: only pairs of label 1 that are farther apart than the nearest pair of label 0 have a loss, and pairs
            of label 0 nearer than the farthest pair of label 1. In a batch of one label all pairs have.

    Raises:
        ValueError: another margin.

    Source:
        Hadsell, Chopra and LeCun 2006, equation (4). Differs from the paper: the distance is 1 - cosine, as in
        ``ContrastiveLoss`` of sentence-transformers, since the cosine is compared afterwards; the paper's is Euclidean.
        Hard pairs as in its ``OnlineContrastiveLoss``, which adds up whole squares: there the value is 2 N times ours.
    """

    margin: float
    hard_pairs: bool

    def __post_init__(self) -> None:
        if not 0 < self.margin <= 2:
            raise ValueError(
                f"recipe.loss.margin={self.margin}: expected a distance, 1 - cosine, more than 0 and at most 2"
            )

    def __call__(self, source: Tensor, target: Tensor, label: Tensor) -> Tensor:
        """The loss of the pairs of all devices.

        Args:
            source, target: (N, D) embeddings; row i of both is a pair.
            label: (N,) int64, 1 for the same meaning, else 0.

        Returns:
            Scalar, mean over the N pairs, hard or not; at least float32.
        """
        with torch.autocast(source.device.type, enabled=False):
            dtype = torch.promote_types(source.dtype, torch.float32)
            distance = 1 - pairwise_cos_sim(source.to(dtype), target.to(dtype))  # (N,)
            is_positive = label == 1
            losses = torch.where(is_positive, distance, F.relu(self.margin - distance)).square() / 2
            if self.hard_pairs:
                losses = losses * _hard(distance.detach(), is_positive)
            return losses.mean()


def _hard(distance: Tensor, is_positive: Tensor) -> Tensor:
    """Pairs (N,) on the wrong side of some pair of the other label; all if there is none."""
    infinity = distance.new_tensor(float("inf"))
    nearest_negative = torch.where(is_positive, infinity, distance).min()
    farthest_positive = torch.where(is_positive, distance, -infinity).max()
    if is_positive.all() or not is_positive.any():
        return torch.ones_like(is_positive)
    return torch.where(is_positive, distance > nearest_negative, distance < farthest_positive)
