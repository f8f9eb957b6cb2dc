"""One, two and four gloo processes give the loss and the gradient of one."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor

from xsent.distributed import gather_by_index, gather_rows, gather_uneven_rows, rank, world_size
from xsent.losses import additive_margin_softmax, oracle_terms
from xsent.models.heads import DisentanglingHeads
from xsent.batch import Parts

GLOBAL_BATCH, DIM = 8, 6


def inputs() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    source, target = torch.randn(2, GLOBAL_BATCH, DIM, generator=generator, dtype=torch.float64)
    return source, target, torch.tensor([0, 1, 2, 2, 3, 4, 5, 5])


def weight() -> Tensor:
    return torch.randn(DIM, DIM, generator=torch.Generator().manual_seed(4), dtype=torch.float64).requires_grad_()


def mine(x: Tensor) -> Tensor:
    return x.chunk(world_size())[rank()]


def ranking_step() -> tuple[Tensor, Tensor]:
    """Translation ranking as the recipe does it: loss and DDP's averaged gradient of a shared weight."""
    (source, target, groups), shared = inputs(), weight()
    a, b = mine(source) @ shared, mine(target) @ shared
    own, everyone, offset = mine(groups), groups, rank() * len(a)
    kept = {"margin": 0.3, "scale": 5.0, "offset": offset, "groups": own, "candidate_groups": everyone}
    loss = additive_margin_softmax(a, gather_rows(b), **kept) + additive_margin_softmax(b, gather_rows(a), **kept)
    (gradient,) = torch.autograd.grad(loss, shared)
    return averaged(loss.detach()), averaged(gradient)


def oracle_step() -> tuple[Tensor, Tensor]:
    """Heads on local rows, the terms on all rows, as the disentangling recipe does it."""
    source, target, lang = inputs()
    torch.manual_seed(0)
    heads = DisentanglingHeads(DIM, []).double()
    parts = [Parts(*(gather_rows(part) for part in heads(mine(x)))) for x in (source, target)]
    terms = oracle_terms(*parts, lang % 2, lang % 3, variant="paper", pairs="off_diagonal", same_language=True)
    gradients = torch.autograd.grad(sum(terms), list(heads.parameters()))
    return sum(terms).detach(), averaged(torch.cat([g.flatten() for g in gradients]))


def averaged(x: Tensor) -> Tensor:
    if world_size() > 1:
        dist.all_reduce(x)
    return x / world_size()


def worker(number: int, processes: int, port: int, step: Callable[[], Any], out: str) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=number, world_size=processes)
    torch.save(step(), f"{out}/{number}.pt")
    dist.destroy_process_group()


def run(processes: int, step: Callable[[], Any], tmp_path: Path) -> list[Any]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(worker, (processes, port, step, str(tmp_path)), nprocs=processes)
    return [torch.load(tmp_path / f"{number}.pt", weights_only=True) for number in range(processes)]


@pytest.mark.parametrize("processes", [1, 2, 4])
@pytest.mark.parametrize("step", [ranking_step, oracle_step])
def test_value_and_gradient_equal_those_of_one_process(
    tmp_path: Path, processes: int, step: Callable[[], tuple[Tensor, Tensor]]
) -> None:
    loss, gradient = step()
    assert gradient.abs().max() > 0
    for found_loss, found_gradient in run(processes, step, tmp_path):
        torch.testing.assert_close(found_loss, loss)
        torch.testing.assert_close(found_gradient, gradient)


def uneven() -> tuple[Tensor, Tensor]:
    index = torch.arange(7)[rank() :: world_size()]  # 4 rows here, 3 there
    rows = index[:, None] * torch.ones(1, 2)
    return gather_by_index(rows, index, 7), gather_uneven_rows(rows)


def test_uneven_shares_come_back_whole_without_padding(tmp_path: Path) -> None:
    for by_index, by_rank in run(2, uneven, tmp_path):
        assert by_index[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 6]
        assert by_rank[:, 0].tolist() == [0, 2, 4, 6, 1, 3, 5]
