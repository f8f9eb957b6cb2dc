"""Losses on 1, 2 and 4 processes: the same value and gradient, no row lost or counted twice."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tests.child_processes import run_each
from xsent.batch import IGNORED, Parts
from xsent.distributed import gather_by_index, gather_padded_rows, gather_rows, gather_uneven_rows, rank
from xsent.losses import (
    Contrastive,
    CoSent,
    PairLoss,
    additive_margin_softmax,
    margin_ranking,
    oracle_terms,
    token_cross_entropy,
    weighted_sum,
)

PAIRS, DIM = 8, 5  # of the global batch
ROWS = 7  # to be put back in order; no number of processes but 1 divides it
WORLDS = (1, 2, 4)


class Ranking(nn.Module):
    """The labse recipe's step: process anchors against the candidates of all ranks."""

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
        terms = oracle_terms(*parts, lang.clamp(max=0), lang, variant="paper", pairs="off_diagonal", same_language=True)
        return weighted_sum(terms, {"intra_class": 1.0, "inter_class": 1.0})


class Divergence(nn.Module):
    """The divergence recipe's step: finer against coarser pairs; ranks differ in their number of labelled tokens."""

    def __init__(self, average: str) -> None:
        super().__init__()
        self.heads = nn.Linear(DIM, DIM, dtype=torch.float64)
        self.average = average

    def forward(self, finer: Tensor, coarser: Tensor, kinds: Tensor) -> Tensor:
        finer, coarser = self.heads(finer), self.heads(coarser)
        labels = torch.stack([kinds, 2 - kinds], dim=1)  # (B, 2)
        labels = labels.masked_fill(labels == 2, IGNORED).masked_fill((kinds == 2)[:, None], IGNORED)
        tokens = token_cross_entropy(coarser[:, 1:].reshape(-1, 2, 2), labels, average=self.average)
        return margin_ranking(finer[:, 0], coarser[:, 0], margin=1.0) + tokens


class LabelledPairs(nn.Module):
    """The paraphrase recipe's step with a loss of pairs: every rank compares all pairs of the global batch."""

    def __init__(self, loss: PairLoss) -> None:
        super().__init__()
        self.encoder = nn.Linear(DIM, DIM, dtype=torch.float64)
        self.loss = loss

    def forward(self, source: Tensor, target: Tensor, kinds: Tensor) -> Tensor:
        sides = [gather_rows(self.encoder(side)) for side in (source, target)]
        loss: Tensor = self.loss(*sides, gather_rows((kinds == 1).long()))
        return loss


STEPS: dict[str, Callable[[], nn.Module]] = {
    "ranking": Ranking,
    "clustering": Clustering,
    "divergence": partial(Divergence, "pairs"),
    "divergence by tokens": partial(Divergence, "tokens"),
    "contrastive": partial(LabelledPairs, Contrastive(margin=1.5, hard_pairs=True)),
    "cosent": partial(LabelledPairs, CoSent(scale=5.0)),
}


def batch() -> tuple[Tensor, Tensor, Tensor]:
    """Source, target, and labels that serve as groups and as languages: three values, rows apart share one."""
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(2, PAIRS, DIM, dtype=torch.float64, generator=generator)
    return vectors[0], vectors[1], torch.tensor([0, 1, 2, 1, 0, 2, 1, 1])


def take_step(name: str, start: int, stop: int, *, ddp: bool) -> dict[str, Any]:
    torch.manual_seed(0)
    module = STEPS[name]()
    step = DistributedDataParallel(module) if ddp else module
    loss = step(*(column[start:stop] for column in batch()))
    loss.backward()
    return {"loss": loss.detach(), "gradients": {name: parameter.grad for name, parameter in module.named_parameters()}}


def rows_of(process: int, world: int) -> Tensor:
    """Unevenly shared: everything from the rank's process number in steps of the world size."""
    return torch.arange(process, ROWS, world)


def padded(process: int, world: int, start: int) -> dict[str, Tensor]:
    """The gathered rows from ``start`` on, of which each rank holds every W-th, and the gradient of this rank's rows.

    Each rank's loss weighs the gathered rows by its number + 1, as if it had other anchors.
    """
    index = rows_of(process, world)
    rows = table()[index[index >= start]].requires_grad_(bool((index >= start).any()))
    gathered = gather_padded_rows(rows)
    ((process + 1) * gathered.pow(2).sum()).backward()
    gradient = torch.zeros(0, DIM, dtype=torch.float64) if rows.grad is None else rows.grad
    return {"rows": gathered.detach(), "gradient": gradient}


def table() -> Tensor:
    """Seven rows of different numbers."""
    return torch.arange(ROWS * DIM, dtype=torch.float64).view(ROWS, DIM) + 1


def work(process: int, world: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet{world}", rank=process, world_size=world)
    per_rank = PAIRS // world
    results: dict[str, Any] = {
        name: take_step(name, process * per_rank, (process + 1) * per_rank, ddp=True) for name in STEPS
    }
    index = rows_of(process, world)
    vectors = torch.stack([index * 10.0, index + 0.5], dim=1)
    results["by_index"] = gather_by_index(vectors, index, ROWS)
    results["uneven"] = gather_uneven_rows(index)
    results["padded"] = padded(process, world, start=0)
    # The last row alone: every other rank holds none, and nothing that would need a gradient.
    results["mostly_empty"] = padded(process, world, start=ROWS - 1)
    torch.save(results, f"{folder}/{world}_{process}.pt")
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module", params=WORLDS, ids=lambda world: f"{world} processes")
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The results of each rank."""
    folder: Path = tmp_path_factory.mktemp("ranks")
    run_each(work, [(process, request.param, str(folder)) for process in range(request.param)])
    return [torch.load(folder / f"{request.param}_{process}.pt", weights_only=True) for process in range(request.param)]


@pytest.mark.parametrize("name", STEPS)
def test_value_and_gradient_equal_those_of_one_process(results: list[dict[str, Any]], name: str) -> None:
    expected = take_step(name, 0, PAIRS, ddp=False)
    assert all(gradient.abs().max() > 1e-3 for gradient in expected["gradients"].values())
    mean_loss = torch.stack([result[name]["loss"] for result in results]).mean()
    torch.testing.assert_close(mean_loss, expected["loss"], rtol=1e-12, atol=0)
    for result in results:
        torch.testing.assert_close(result[name]["gradients"], expected["gradients"], rtol=1e-10, atol=1e-14)


def test_uneven_rows_are_gathered_in_the_order_of_ranks_or_put_back_by_index(results: list[dict[str, Any]]) -> None:
    by_index = torch.stack([torch.arange(ROWS) * 10.0, torch.arange(ROWS) + 0.5], dim=1)
    in_order = torch.cat([rows_of(process, len(results)) for process in range(len(results))])
    for result in results:
        torch.testing.assert_close(result["by_index"], by_index, rtol=0, atol=0)
        torch.testing.assert_close(result["uneven"], in_order)


@pytest.mark.parametrize(("name", "start"), [("padded", 0), ("mostly_empty", ROWS - 1)])
def test_uneven_rows_are_gathered_with_their_gradients(results: list[dict[str, Any]], name: str, start: int) -> None:
    world = len(results)
    order = torch.cat([rows_of(process, world) for process in range(world)])
    order = order[order >= start]
    everyone = world * (world + 1) / 2  # the ranks weigh the rows 1, 2, ... W
    for process, result in enumerate(results):
        torch.testing.assert_close(result[name]["rows"], table()[order], rtol=0, atol=0)
        index = rows_of(process, world)
        expected = 2 * everyone * table()[index[index >= start]]
        torch.testing.assert_close(result[name]["gradient"], expected, rtol=1e-12, atol=0)
