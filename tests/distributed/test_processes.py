"""1, 2 and 4 processes take the same step: same value, same gradient, no row lost or counted twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from xsent.batch import IGNORED, Parts
from xsent.distributed import gather_by_index, gather_padded_rows, gather_rows, gather_uneven_rows, rank
from xsent.losses import additive_margin_softmax, margin_ranking, oracle_terms, token_cross_entropy, weighted_sum

PAIRS, DIM = 8, 5  # of the global batch
ROWS = 7  # to be put back in order; no number of processes but 1 divides it
WORLDS = (1, 2, 4)


class Ranking(nn.Module):
    """The labse recipe's step: own anchors against the candidates of all ranks."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(DIM, DIM, dtype=torch.float64)

    def forward(self, source: Tensor, target: Tensor, groups: Tensor) -> Tensor:
        source, target = self.encoder(source), self.encoder(target)
        settings: dict[str, Any] = {
            "margin": 0.3,
            "scale": 10.0,
            "offset": rank() * len(source),
            "groups": groups,
            "candidate_groups": gather_rows(groups),
        }
        forward = additive_margin_softmax(source, gather_rows(target), **settings)
        return forward + additive_margin_softmax(target, gather_rows(source), **settings)


class Clustering(nn.Module):
    """The disentangling recipe's step: every rank compares all pairs of the global batch."""

    def __init__(self) -> None:
        super().__init__()
        self.meaning = nn.Linear(DIM, DIM, dtype=torch.float64)
        self.language = nn.Linear(DIM, DIM, dtype=torch.float64)

    def forward(self, source: Tensor, target: Tensor, lang: Tensor) -> Tensor:
        parts = [Parts(gather_rows(self.meaning(side)), gather_rows(self.language(side))) for side in (source, target)]
        lang = gather_rows(lang)
        terms = oracle_terms(
            *parts, lang.clamp(max=0), lang, variant="paper", pairs="off_diagonal", same_language=True
        )  # fmt: skip
        return weighted_sum(terms, {"intra_class": 1.0, "inter_class": 1.0})


class Divergence(nn.Module):
    """The divergence recipe's step: pairs ranked one against one, and tokens of which ranks have more or fewer."""

    average = "pairs"

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.Linear(DIM, DIM, dtype=torch.float64)

    def forward(self, finer: Tensor, coarser: Tensor, kinds: Tensor) -> Tensor:
        one, other = self.heads(finer), self.heads(coarser)
        labels = torch.stack([kinds, 2 - kinds], dim=1)  # (B, 2)
        labels = labels.masked_fill(labels == 2, IGNORED).masked_fill((kinds == 2)[:, None], IGNORED)
        tokens = token_cross_entropy(other[:, 1:].reshape(-1, 2, 2), labels, average=self.average)
        return margin_ranking(one[:, 0], other[:, 0], margin=1.0) + tokens


class DivergenceByTokens(Divergence):
    """Likewise, with one mean over all tokens."""

    average = "tokens"


STEPS = {
    "ranking": Ranking, "clustering": Clustering, "divergence": Divergence, "divergence by tokens": DivergenceByTokens,
}  # fmt: skip


def batch() -> tuple[Tensor, Tensor, Tensor]:
    """Source, target, and labels that serve as groups and as languages: three values, rows apart share one."""
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(2, PAIRS, DIM, dtype=torch.float64, generator=generator)
    return vectors[0], vectors[1], torch.tensor([0, 1, 2, 1, 0, 2, 1, 1])


def take_step(name: str, start: int, stop: int, *, ddp: bool) -> dict[str, Any]:
    torch.manual_seed(0)
    module: nn.Module = STEPS[name]()
    step = DistributedDataParallel(module) if ddp else module
    loss = step(*(column[start:stop] for column in batch()))
    loss.backward()
    return {
        "loss": loss.detach(),
        "gradients": {name: parameter.grad for name, parameter in module.named_parameters()},
    }


def rows_of(own: int, world: int) -> Tensor:
    """Unevenly shared: everything from the rank's own number in steps of the world size."""
    return torch.arange(own, ROWS, world)


def padded(own: int, world: int, start: int) -> dict[str, Tensor]:
    """Rows ``start + own``, ``start + own + W`` ... of seven, gathered, and the gradient of what they mean to one rank.

    Each rank's loss weighs the gathered rows by its own number + 1, as if it had other anchors.
    """
    index = rows_of(own, world)
    rows = table()[index[index >= start]].requires_grad_(bool((index >= start).any()))
    gathered = gather_padded_rows(rows)
    ((own + 1) * gathered.pow(2).sum()).backward()
    gradient = torch.zeros(0, DIM, dtype=torch.float64) if rows.grad is None else rows.grad
    return {"rows": gathered.detach(), "gradient": gradient}


def table() -> Tensor:
    """Seven rows of different numbers."""
    return torch.arange(ROWS * DIM, dtype=torch.float64).view(ROWS, DIM) + 1


def work(own: int, world: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet{world}", rank=own, world_size=world)
    per_rank = PAIRS // world
    found: dict[str, Any] = {
        name: take_step(name, own * per_rank, (own + 1) * per_rank, ddp=True) for name in STEPS
    }  # fmt: skip
    index = rows_of(own, world)
    vectors = torch.stack([index * 10.0, index + 0.5], dim=1)
    found["by_index"] = gather_by_index(vectors, index, ROWS)
    found["uneven"] = gather_uneven_rows(index)
    found["padded"] = padded(own, world, start=0)
    # The last row alone: every other rank holds none, and nothing that would need a gradient.
    found["mostly_empty"] = padded(own, world, start=ROWS - 1)
    torch.save(found, f"{folder}/found{world}_{own}.pt")
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module", params=WORLDS, ids=lambda world: f"{world} processes")
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each rank found."""
    folder: Path = tmp_path_factory.mktemp("ranks")
    mp.spawn(work, args=(request.param, str(folder)), nprocs=request.param)
    return [torch.load(folder / f"found{request.param}_{own}.pt", weights_only=True) for own in range(request.param)]


@pytest.mark.parametrize("name", STEPS)
def test_value_and_gradient_equal_those_of_one_process(found: list[dict[str, Any]], name: str) -> None:
    expected = take_step(name, 0, PAIRS, ddp=False)
    assert all(gradient.abs().max() > 1e-3 for gradient in expected["gradients"].values())
    mean_loss = torch.stack([one[name]["loss"] for one in found]).mean()
    torch.testing.assert_close(mean_loss, expected["loss"], rtol=1e-12, atol=0)
    for one in found:
        torch.testing.assert_close(one[name]["gradients"], expected["gradients"], rtol=1e-10, atol=1e-14)


def test_rows_that_ranks_hold_unevenly_are_put_back_where_they_belong(found: list[dict[str, Any]]) -> None:
    expected = torch.stack([torch.arange(ROWS) * 10.0, torch.arange(ROWS) + 0.5], dim=1)
    for one in found:
        torch.testing.assert_close(one["by_index"], expected, rtol=0, atol=0)


def test_uneven_rows_are_gathered_in_the_order_of_ranks_without_padding(found: list[dict[str, Any]]) -> None:
    expected = torch.cat([rows_of(own, len(found)) for own in range(len(found))])
    for one in found:
        torch.testing.assert_close(one["uneven"], expected)


@pytest.mark.parametrize(("name", "start"), [("padded", 0), ("mostly_empty", ROWS - 1)])
def test_uneven_rows_are_gathered_with_their_gradients(found: list[dict[str, Any]], name: str, start: int) -> None:
    world = len(found)
    order = torch.cat([rows_of(own, world) for own in range(world)])
    order = order[order >= start]
    everyone = world * (world + 1) / 2  # the ranks weigh the rows 1, 2, ... W
    for own, one in enumerate(found):
        torch.testing.assert_close(one[name]["rows"], table()[order], rtol=0, atol=0)
        index = rows_of(own, world)
        expected = 2 * everyone * table()[index[index >= start]]
        torch.testing.assert_close(one[name]["gradient"], expected, rtol=1e-12, atol=0)
