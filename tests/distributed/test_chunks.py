"""Gradient caching in two processes equals one plain batch in one process."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from transformers import BertConfig, BertModel

from tests.helpers import state_of, toy_bert, toy_bitext, toy_overrides, train_as_command
from tests.models.small import random_sentences, small_encoder
from xsent.distributed import gather_padded_rows, gather_rows, rank
from xsent.losses import additive_margin_softmax
from xsent.models.chunks import embed_in_chunks

WORLD = 2
SOURCE = [7, 3, 12, 3, 9, 1, 5, 4]  # tokens of the sentences of 8 pairs
TARGET = [5, 4, 10, 2, 12, 2, 5, 3]


class Ranking(nn.Module):
    """The labse recipe's step: both sides in one go, own anchors against the candidates of all ranks."""

    def __init__(self, at_once: int | None) -> None:
        super().__init__()
        self.encoder = small_encoder().double()
        self.at_once = at_once

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        source, target = embed_in_chunks(self.encoder, ids, lengths, at_once=self.at_once).tensor_split(2)
        groups = torch.arange(len(source)) + rank() * len(source)
        settings = {
            "margin": 0.3, "scale": 10.0, "offset": rank() * len(source), "groups": groups,
            "candidate_groups": gather_rows(groups),
        }  # fmt: skip
        forward = additive_margin_softmax(source, gather_padded_rows(target), **settings)
        return forward + additive_margin_softmax(target, gather_padded_rows(source), **settings)


def pairs(start: int, stop: int) -> tuple[Tensor, Tensor]:
    """Ids and lengths of some of the pairs, sources first."""
    ids, lengths = random_sentences(SOURCE + TARGET)
    sentences = ids.split(lengths.tolist())
    chosen = [*range(start, stop), *range(len(SOURCE) + start, len(SOURCE) + stop)]
    return torch.cat([sentences[row] for row in chosen]), lengths[chosen]


def gradients(module: nn.Module, step: nn.Module, start: int, stop: int) -> dict[str, Tensor | None]:
    step(*pairs(start, stop)).backward()
    return {name: parameter.grad for name, parameter in module.named_parameters()}


def work(own: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=own, world_size=WORLD)
    share = len(SOURCE) // WORLD
    module = Ranking(at_once=3)  # runs of 3, 3 and 2 sentences
    torch.save(
        gradients(module, DistributedDataParallel(module), own * share, (own + 1) * share), f"{folder}/found{own}.pt"
    )
    dist.barrier()
    dist.destroy_process_group()


def test_the_gradient_is_that_of_one_plain_batch_in_one_process(tmp_path: Path) -> None:
    module = Ranking(at_once=None)
    expected = gradients(module, module, 0, len(SOURCE))
    largest = max(gradient.abs().max() for gradient in expected.values() if gradient is not None)
    assert largest > 1e-2
    mp.spawn(work, args=(str(tmp_path),), nprocs=WORLD)
    for own in range(WORLD):
        found = torch.load(tmp_path / f"found{own}.pt", weights_only=True)
        torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-12)


def without_dropout(folder: Path) -> Path:
    """``toy_bert``, which two processes could not train as one if each drew its own dropout."""
    toy_bert(folder)
    off = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    BertModel.from_pretrained(folder, config=BertConfig.from_pretrained(folder, **off)).save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_a_run_of_labse_with_micro_batches_on_two_processes_ends_where_a_plain_one_ends(tmp_path: Path) -> None:
    root, bert = toy_bitext(tmp_path / "data", pairs=80), without_dropout(tmp_path / "bert")
    states = []
    for trainer, micro_batch_size in (("cpu", "null"), ("ddp_cpu", "5")):
        run = tmp_path / trainer
        overrides = [
            *toy_overrides(root), "recipe=labse", "encoder=minilm", f"encoder.path={bert}", "encoder.pooling=mean",
            "encoder.normalize=true", "encoder.max_length=32", f"recipe.micro_batch_size={micro_batch_size}",
            "recipe.optimizer={_target_: torch.optim.SGD, lr: 0.1, weight_decay: 0}", f"trainer={trainer}",
            "trainer.max_epochs=1", "trainer.enable_progress_bar=false", f"hydra.run.dir={run}",
            f"cache_dir={tmp_path / 'cache'}", "evaluator=none",
        ]  # fmt: skip
        train_as_command(overrides)
        states.append(state_of(run / "checkpoints/last.ckpt"))
    start = BertModel.from_pretrained(bert).state_dict()
    name = "encoder.layer.0.output.dense.weight"
    assert (states[0][f"encoder.transformer.{name}"] - start[name]).abs().max() > 1e-3
    for name, value in states[0].items():
        torch.testing.assert_close(states[1][name], value, rtol=1e-4, atol=1e-5)
