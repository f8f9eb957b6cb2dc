"""Losses of Divergent mBERT: margin ranking of pairs, cross entropy of pairs and of token tags."""

import torch.nn.functional as F
from torch import Tensor

from xsent.batch import IGNORED
from xsent.distributed import gather_rows, world_size

AVERAGES = ("pairs", "tokens")


def margin_ranking(finer: Tensor, coarser: Tensor, *, margin: float) -> Tensor:
    """Rank each pair by a margin above a more divergent version of it.

    Args:
        finer: (P,) scores F(x), of the pairs to rank higher.
        coarser: (P,) scores F(y), of the pairs to rank lower.
        margin: in units of the score.

    Returns:
        Scalar, mean over the P pairs of pairs. A constant added to all scores changes nothing.

    Source:
        Briakou and Carpuat 2020 (arXiv:2010.03662), equation (1).
    """
    return F.relu(margin - finer + coarser).mean()


def equivalence_cross_entropy(scores: Tensor, divergent: Tensor) -> Tensor:
    """Cross entropy of equivalent or divergent, one pair at a time: scalar, mean over the pairs, in nats.

    Args:
        scores: (N,), the logit of *equivalent*.
        divergent: (N,) int64 or bool, 1 where a pair diverges.

    Source:
        The ablation of Briakou and Carpuat 2020, section 6.1. The released code has two outputs; this logit is their
        difference.
    """
    return F.binary_cross_entropy_with_logits(scores, (divergent == 0).to(scores.dtype))


def token_cross_entropy(logits: Tensor, labels: Tensor, *, average: str, divergent_weight: float = 1.0) -> Tensor:
    """Cross entropy of the tokens' tags, equivalent or divergent.

    Args:
        logits: (N, T, 2), of EQ and DIV.
        labels: (N, T) int64: 0, 1, or ``IGNORED``. Pairs without any label are left out.
        average: ``pairs``, the mean of a pair's tokens and then of the pairs (the paper), or ``tokens``, one mean over
            the tokens of all devices (the released code).
        divergent_weight: of a token with label 1; the others have 1, as all have in the paper. The mean divides by the
            number of tokens all the same.

    Returns:
        Scalar in nats; 0 where no token has a label.

    Raises:
        ValueError: another average.

    Source:
        Briakou and Carpuat 2020, equation (2), its second term.
    """
    if average not in AVERAGES:
        raise ValueError(f"recipe.token_loss={average}: expected one of {', '.join(AVERAGES)}")
    tag_weights = logits.new_tensor([1.0, divergent_weight])
    losses = F.cross_entropy(
        logits.transpose(1, 2), labels, weight=tag_weights, reduction="none", ignore_index=IGNORED
    )  # (N, T)
    counts = (labels != IGNORED).sum(dim=1)  # (N,)
    if average == "pairs":
        tagged = counts > 0
        sums, size = losses.sum(dim=1)[tagged] / counts[tagged], tagged.sum()
    else:
        sums, size = losses.sum(dim=1), counts.sum()
    # Devices may hold different numbers: the global mean is the local sum over the mean size.
    size = gather_rows(size[None].float()).sum() / world_size()
    return sums.sum() / size.clamp(min=1 / world_size())
