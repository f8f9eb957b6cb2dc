"""Pooling: token embeddings (B, T, D) and a mask (B, T) to sentence embeddings (B, D)."""

from collections.abc import Callable

from torch import Tensor


def cls_pool(token_embeddings: Tensor, attention_mask: Tensor) -> Tensor:
    """The first token's embedding."""
    return token_embeddings[:, 0]


def mean_pool(token_embeddings: Tensor, attention_mask: Tensor) -> Tensor:
    """Mean over the real tokens; 0 for a sentence without any."""
    mask = attention_mask.unsqueeze(-1).to(token_embeddings.dtype)  # (B, T, 1)
    return (token_embeddings * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def max_pool(token_embeddings: Tensor, attention_mask: Tensor) -> Tensor:
    """Element-wise maximum over the real tokens; 0 for a sentence without any."""
    mask = attention_mask.unsqueeze(-1).bool()  # (B, T, 1)
    pooled = token_embeddings.masked_fill(~mask, float("-inf")).amax(dim=1)
    return pooled.masked_fill(~mask.any(dim=1), 0.0)


# ``pooler`` is missing on purpose: it is a layer of the checkpoint, on top of [CLS].
POOLING: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"cls": cls_pool, "mean": mean_pool, "max": max_pool}
