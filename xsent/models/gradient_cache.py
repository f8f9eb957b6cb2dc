"""Gradient caching: embed large batches of sentences in the activation memory of one chunk."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from xsent.models.batching import batch_slices, longest_first, reordered_positions
from xsent.models.encoders.base import Encoder


def embed_chunked(encoder: Encoder, ids: Tensor, lengths: Tensor, *, chunk_size: int | None) -> Tensor:
    """Embed sentences in chunks of similar length, with the gradient.

    A chunk has at most ``Encoder.token_budget`` padded tokens. Encoders that do not pad get all sentences as one
    chunk, because they keep no activations besides the embeddings.

    With ``chunk_size`` this is gradient caching: the forward pass keeps the embeddings of a chunk and drops its
    activations; the backward pass computes them again, chunk by chunk. A contrastive loss over any number of sentences
    then costs one more forward pass. The chunks are nodes of the ordinary graph, so clipping, gradient scaling,
    averaging over devices and accumulation work as usual. The second forward pass repeats the first one exactly:
    dropout uses the saved random state and autocast its saved setting.

    Args:
        encoder: in training or in evaluation mode.
        ids: (M,) int64 on the encoder's device, the sentences one after the other.
        lengths: (N,) int64 of sum M. A sentence of length 0 gets the zero vector.
        chunk_size: most sentences in a chunk; activations are recomputed unless there is only one chunk. None keeps
            the activations of all chunks.

    Returns:
        (N, D), row i for sentence i.

    Raises:
        ValueError: ``chunk_size`` is less than 1, or ``lengths`` does not add up to the number of ids.

    Source:
        Gao et al. 2021 (arXiv:2101.06983). Differs from the paper: it backpropagates twice, through the loss to the
        cached embeddings and from these through each chunk; here one backward pass does both.
    """
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"chunk_size={chunk_size}: expected at least 1 sentence, or None for all")
    counts = lengths.cpu().numpy()
    if len(ids) != counts.sum():
        raise ValueError(f"expected {counts.sum()} ids for the lengths of {len(counts)} sentences, found {len(ids)}")
    order = longest_first(counts) if encoder.pads else np.flatnonzero(counts)
    if not len(order):
        return torch.zeros(len(counts), encoder.dim, device=ids.device)
    rows = torch.from_numpy(order).to(ids.device)
    lengths = lengths[rows]
    if encoder.pads:
        ids = ids[torch.from_numpy(reordered_positions(counts, order)).to(ids.device)]
        chunks = list(batch_slices(counts[order], encoder.token_budget, chunk_size))
    else:
        chunks = [slice(0, len(order))]
    parts = torch.split(ids, [int(counts[order[chunk]].sum()) for chunk in chunks])
    embed: Callable[[Tensor, Tensor], Tensor] = encoder.embed_ids
    if chunk_size is not None and len(chunks) > 1 and torch.is_grad_enabled():
        embed = partial(checkpoint, encoder.embed_ids, use_reentrant=False, preserve_rng_state=True)
    embeddings = torch.cat([embed(part, lengths[chunk]) for part, chunk in zip(parts, chunks, strict=True)])
    if not encoder.pads and len(order) == len(counts):
        return embeddings  # already in order
    return embeddings.new_zeros(len(counts), embeddings.size(1)).index_copy(0, rows, embeddings)
