"""Gradient caching in two processes equals a plain batch in a single process."""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from transformers import BertConfig, BertModel

from tests.child_processes import run_each, run_ranks
from tests.helpers import config, state_of, toy_bert, toy_bitext, toy_overrides
from tests.models.small import random_sentences, small_encoder
from xsent.distributed import gather_padded_rows, gather_rows, rank
from xsent.losses import additive_margin_softmax
from xsent.models.gradient_cache import embed_chunked
from xsent.run import train

WORLD = 2
SOURCE = [7, 3, 12, 3, 9, 1, 5, 4]  # tokens of the sentences of 8 pairs
TARGET = [5, 4, 10, 2, 12, 2, 5, 3]


class Ranking(nn.Module):
    """The labse recipe's step: both sides in one go, own anchors against the candidates of all ranks."""

    def __init__(self, chunk_size: int | None) -> None:
        super().__init__()
        self.encoder = small_encoder().double()
        self.chunk_size = chunk_size

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        source, target = embed_chunked(self.encoder, ids, lengths, chunk_size=self.chunk_size).tensor_split(2)
        groups = torch.arange(len(source)) + rank() * len(source)
        settings = {
            "margin": 0.3,
            "scale": 10.0,
            "offset": rank() * len(source),
            "groups": groups,
            "candidate_groups": gather_rows(groups),
        }
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


def work(process: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=process, world_size=WORLD)
    share = len(SOURCE) // WORLD
    module = Ranking(chunk_size=3)  # runs of 3, 3 and 2 sentences
    own_gradients = gradients(module, DistributedDataParallel(module), process * share, (process + 1) * share)
    torch.save(own_gradients, f"{folder}/gradients{process}.pt")
    dist.barrier()
    dist.destroy_process_group()


@pytest.mark.slow
def test_the_gradient_is_that_of_one_plain_batch_in_one_process(tmp_path: Path) -> None:
    module = Ranking(chunk_size=None)
    expected = gradients(module, module, 0, len(SOURCE))
    largest = max(gradient.abs().max() for gradient in expected.values() if gradient is not None)
    assert largest > 1e-2
    run_each(work, [(process, str(tmp_path)) for process in range(WORLD)])
    for process in range(WORLD):
        gathered = torch.load(tmp_path / f"gradients{process}.pt", weights_only=True)
        torch.testing.assert_close(gathered, expected, rtol=1e-8, atol=1e-12)


def without_dropout(folder: Path) -> Path:
    """``toy_bert``, which two processes could not train as one if each drew its own dropout."""
    toy_bert(folder)
    off = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    BertModel.from_pretrained(folder, config=BertConfig.from_pretrained(folder, **off)).save_pretrained(folder)
    return folder


def train_once(folder: Path, overrides: list[str]) -> None:
    train(config("train", folder, *overrides))


def test_labse_with_micro_batches_on_two_processes_ends_where_a_plain_run_ends(tmp_path: Path) -> None:
    bert = without_dropout(tmp_path / "bert")
    options = (
        "recipe=labse encoder=minilm encoder.pooling=mean encoder.normalize=true encoder.max_length=32"
        " trainer.max_epochs=1 trainer.enable_progress_bar=false evaluator=none"
    )
    overrides = [
        *toy_overrides(toy_bitext(tmp_path / "data", pairs=80), *options.split()),
        f"encoder.path={bert}",
        "recipe.optimizer={_target_: torch.optim.SGD, lr: 0.1, weight_decay: 0}",
        "recipe.matryoshka=[16,4]",
        f"cache_dir={tmp_path / 'cache'}",
    ]
    train_once(tmp_path / "plain", overrides)
    chunked = [*overrides, "trainer=ddp_cpu", "recipe.micro_batch_size=5"]
    run_ranks(WORLD, train_once, tmp_path / "chunked", chunked)
    plain, state = (state_of(tmp_path / run / "run/checkpoints/last.ckpt") for run in ("plain", "chunked"))
    start = BertModel.from_pretrained(bert).state_dict()
    name = "encoder.layer.0.output.dense.weight"
    assert (plain[f"encoder.transformer.{name}"] - start[name]).abs().max() > 1e-3
    for name, value in plain.items():
        torch.testing.assert_close(state[name], value, rtol=1e-4, atol=1e-5)
