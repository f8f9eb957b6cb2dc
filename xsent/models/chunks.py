"""Sentences to vectors in runs of similar length, with the gradient; large batches in the memory of one run."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from xsent.models.encoder import Encoder, batches, longest_first, places


def embed_in_chunks(encoder: Encoder, ids: Tensor, lengths: Tensor, *, at_once: int | None) -> Tensor:
    """Vectors of the sentences, encoded in runs and put back in order.

    Sentences of similar length share a run, so little of it is padding, and a run has the size that suits the
    device (``Encoder.usual_tokens``). Encoders that do not pad get all sentences as one run whatever ``at_once``
    says: beside the vectors they keep nothing that could be saved.

    With ``at_once`` this is gradient caching. The forward pass keeps the vectors of a run, which the loss needs, and
    forgets its activations; the backward pass computes them again, run by run, when the gradient of the loss
    reaches the run's vectors. Only one run's activations are ever in memory, and a contrastive loss over any number
    of sentences costs one more forward pass. The runs are nodes of the ordinary graph: there is a single backward
    pass, which clips, scales, averages over devices and accumulates as any other. What a run computes the second
    time is what it computed the first time: dropout draws from the random state of then, autocast is as it was, and
    afterwards the random state is where the forward pass left it.

    Args:
        encoder: embeds; in training or in evaluation mode.
        ids: (M,) int64 on the encoder's device, of all sentences one after the other.
        lengths: (N,) int64 of sum M. A sentence of length 0 gets the zero vector.
        at_once: sentences of a run at most, and activations are computed again instead of kept, unless one run
            holds all; None keeps the activations of all runs.

    Returns:
        (N, D), row i for sentence i.

    Raises:
        ValueError: ``at_once`` is less than 1, or ``ids`` are not as many as ``lengths`` say.

    Source:
        Gao et al. 2021 (arXiv:2101.06983). Differs from the paper: it backpropagates twice, through the loss to the
        cached vectors and from these through each run; here one backward pass does both.
    """
    if at_once is not None and at_once < 1:
        raise ValueError(f"at_once={at_once}: expected at least 1 sentence, or None for all")
    counts = lengths.cpu().numpy()
    if len(ids) != counts.sum():
        raise ValueError(f"lengths of {len(counts)} sentences say {counts.sum()} ids, found {len(ids)}")
    order = longest_first(counts) if encoder.pads else np.flatnonzero(counts)
    if not len(order):
        return torch.zeros(len(counts), encoder.dim, device=ids.device)
    rows = torch.from_numpy(order).to(ids.device)
    lengths = lengths[rows]
    if encoder.pads:
        ids = ids[torch.from_numpy(places(counts, order)).to(ids.device)]
        runs = list(batches(counts[order], encoder.usual_tokens, at_once))
    else:
        runs = [slice(0, len(order))]
    parts = torch.split(ids, [int(counts[order[run]].sum()) for run in runs])
    again = at_once is not None and len(runs) > 1 and torch.is_grad_enabled()
    vectors = torch.cat(
        [
            _embed_twice(encoder, part, lengths[run]) if again else encoder.embed_ids(part, lengths[run])
            for part, run in zip(parts, runs, strict=True)
        ]
    )
    if not encoder.pads and len(order) == len(counts):
        return vectors  # in order already
    return vectors.new_zeros(len(counts), vectors.size(1)).index_copy(0, rows, vectors)


def _embed_twice(encoder: Encoder, ids: Tensor, lengths: Tensor) -> Tensor:
    """As ``embed_ids``, and once more in the backward pass instead of keeping activations."""
    vectors: Tensor = checkpoint(encoder.embed_ids, ids, lengths, use_reentrant=False, preserve_rng_state=True)
    return vectors
