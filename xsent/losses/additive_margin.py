"""Additive margin softmax for translation ranking (LaBSE)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from xsent.similarity import cos_sim


def additive_margin_softmax(
    anchor: Tensor,
    candidates: Tensor,
    *,
    margin: float,
    scale: float,
    offset: int = 0,
    groups: Tensor | None = None,
    candidate_groups: Tensor | None = None,
) -> Tensor:
    """Rank the true translation of each anchor above every other candidate.

    Args:
        anchor: (B, D) embeddings of this device's anchors.
        candidates: (N, D), row ``offset + i`` translates anchor ``i``, the rest are negatives.
        margin: cosine units, taken from the true pair's similarity; 0 is the plain softmax.
        scale: inverse temperature, multiplies the cosine.
        offset: row of this device's first translation when ``candidates`` were gathered.
        groups: (B,) group of each anchor's pair; with ``candidate_groups``, candidates of the anchor's group are no
            negatives, because they share a sentence with it.
        candidate_groups: (N,) group of each candidate's pair.

    Returns:
        Scalar, mean over the B anchors, in nats.

    Raises:
        ValueError: there are fewer than ``offset + B`` candidates, or groups of one side only.

    Source:
        Feng et al. 2022 (arXiv:2007.01852); Yang et al. 2019 (arXiv:1902.08564).
    """
    required = offset + anchor.size(0)
    if candidates.size(0) < required:
        raise ValueError(f"need {required} candidates, got {candidates.size(0)}")
    if (groups is None) != (candidate_groups is None):
        raise ValueError("groups and candidate_groups have to be given together")
    labels = torch.arange(offset, required, device=anchor.device)  # (B,)
    scores = cos_sim(anchor, candidates)  # (B, N)
    positive = labels[:, None] == torch.arange(candidates.size(0), device=anchor.device)  # (B, N)
    scores = torch.where(positive, scores - margin, scores)
    if groups is not None and candidate_groups is not None:
        same_group = groups[:, None] == candidate_groups[None, :]  # (B, N)
        scores = scores.masked_fill(same_group & ~positive, float("-inf"))
    return F.cross_entropy(scale * scores, labels)
