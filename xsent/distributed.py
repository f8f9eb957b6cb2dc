"""Gathering of rows over devices, gradients included; W devices, B rows on each."""

import torch
import torch.distributed as dist
from torch import Tensor


def is_distributed() -> bool:
    """Whether more than one process takes part."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def is_lost_connection(error: RuntimeError) -> bool:
    """Whether another process of the job cannot be reached, usually because it has ended."""
    return isinstance(error, dist.DistError) or "gloo" in str(error)


def rank() -> int:
    """Index of this process, 0 when alone."""
    return dist.get_rank() if is_distributed() else 0


def world_size() -> int:
    """Number of processes, 1 when alone."""
    return dist.get_world_size() if is_distributed() else 1


class _GatherRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor) -> Tensor:
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *grads: Tensor) -> Tensor:
        (grad,) = grads
        grad = grad.contiguous()
        dist.all_reduce(grad)
        return grad.chunk(dist.get_world_size())[dist.get_rank()]


def gather_rows(x: Tensor) -> Tensor:
    """Stack ``x`` (B, ...) of all W ranks into (W * B, ...), gradients included.

    Every rank must hold the same B. The backward sums over ranks and DDP averages the parameters'
    gradients afterwards, so a mean over the local anchors already is the mean over the global batch:
    do not multiply the loss by W (``tests/distributed`` holds 1, 2 and 4 processes to one another).
    """
    if not is_distributed():
        return x
    gathered: Tensor = _GatherRows.apply(x)  # type: ignore[no-untyped-call]
    return gathered


def gather_padded_rows(x: Tensor) -> Tensor:
    """Stack ``x`` (n, ...) of all ranks into (sum of n, ...) in the order of ranks, gradients included.

    n may differ between ranks and may be 0; rows are padded to the largest n. As for ``gather_rows``, do not multiply
    the loss by W. If the rows of any rank need a gradient, every rank has to run the backward pass through the result.
    """
    if not is_distributed():
        return x
    sizes = gather_rows(torch.tensor([[len(x), x.requires_grad]], device=x.device))  # (W, 2)
    lengths = sizes[:, 0].tolist()
    if sizes[:, 1].any() and not x.requires_grad and torch.is_grad_enabled():
        x = x.detach().requires_grad_()  # e.g. no row at all: the rank must still take part in the backward pass
    padding = x.new_zeros(max(lengths) - len(x), *x.shape[1:])
    parts = gather_rows(torch.cat([x, padding])).chunk(world_size())
    return torch.cat([part[:length] for part, length in zip(parts, lengths, strict=True)])


def gather_uneven_rows(x: Tensor) -> Tensor:
    """Stack ``x`` (n, ...) of all ranks in the order of ranks, n may differ; no gradient."""
    return gather_padded_rows(x.detach()) if is_distributed() else x


def gather_by_index(rows: Tensor, index: Tensor, total: int) -> Tensor:
    """Put the rows of all ranks at their indices: (n, D) and (n,) -> (total, D).

    Ranks may hold different n. Every index in ``range(total)`` must be held by some rank.
    """
    rows, index = gather_uneven_rows(rows), gather_uneven_rows(index)
    out = rows.new_empty(total, *rows.shape[1:])
    out[index] = rows
    return out
