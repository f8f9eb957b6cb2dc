"""LoRA: train low-rank updates of the linear layers of a frozen transformer, Hu et al. 2021 (arXiv:2106.09685)."""

import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from xsent.models.encoders.base import Encoder
from xsent.models.encoders.pooled import PooledEncoder

log = logging.getLogger(__name__)

ALL_LINEAR = "all-linear"


@dataclass(frozen=True, kw_only=True)
class Lora:
    """Adapters of the linear layers of a transformer, or none.

    A layer with weight W (out, in) computes with W + alpha / rank * B A. W is frozen; A (rank, in), random, and
    B (out, rank), zero before training, are trained. So training starts with exactly the vectors of the encoder.

    Raises:
        ValueError: a value outside its range.
    """

    rank: int | None  # None: no adapters
    alpha: float  # divided by the rank, factor of the update
    dropout: float  # of the adapters' input
    target_modules: str | Sequence[str]  # `all-linear`, or the last parts of the layers' names, such as `query`
    train_embeddings: bool  # whether the word embeddings are trained, too, such as those of a new vocabulary

    def __post_init__(self) -> None:
        if self.rank is not None and self.rank < 1:
            raise ValueError(f"recipe.lora.rank={self.rank}: expected 1 or more, or null for no adapters")
        if self.alpha <= 0:
            raise ValueError(f"recipe.lora.alpha={self.alpha}: expected a number above 0")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"recipe.lora.dropout={self.dropout}: expected 0 or more, below 1")
        is_name = isinstance(self.target_modules, str)
        if self.target_modules != ALL_LINEAR if is_name else not self.target_modules:
            raise ValueError(
                f"recipe.lora.target_modules={self.target_modules}: expected {ALL_LINEAR}, or a list of names, such as"
                " [query,value]"
            )

    def check_encoder(self, encoder: type[Encoder], name: str) -> None:
        """Raise ``ValueError`` if encoders of this class have no transformer to adapt."""
        if self.rank is not None and not issubclass(encoder, PooledEncoder):
            raise ValueError(
                f"recipe.lora.rank={self.rank}: encoder {name} is no transformer, which adapters need; choose one, such"
                " as encoder=mbert, or recipe.lora.rank=null"
            )

    def add_adapters(self, encoder: Encoder) -> None:
        """Add adapters to an encoder in place, and freeze all other weights of its transformer.

        ``train_embeddings`` leaves the word embeddings trained. Layers of ``encoder.frozen_modules`` get no adapter.
        A projection after the pooling is trained as without adapters. The random numbers of A are drawn from torch's
        generator, which is then set back.

        Raises:
            ValueError: an encoder without a transformer, layers that it does not have, or embeddings to train that
                are frozen already.
            ImportError: peft is not installed.
        """
        self.check_encoder(type(encoder), encoder.name)
        if self.rank is None:
            return
        assert isinstance(encoder, PooledEncoder)
        if self.train_embeddings and not encoder.word_vectors.requires_grad:
            raise ValueError("recipe.lora.train_embeddings trains the word embeddings, and recipe.freeze freezes them")
        try:
            from peft import LoraConfig, inject_adapter_in_model
        except ImportError as error:
            raise ImportError("recipe.lora needs peft: pip install 'xsent[lora]'") from error
        config = LoraConfig(
            r=self.rank,
            lora_alpha=self.alpha,  # type: ignore[arg-type]  # a float works
            lora_dropout=self.dropout,
            target_modules=self._layer_names(encoder),
        )
        with torch.random.fork_rng(devices=[]):
            inject_adapter_in_model(config, encoder.transformer)
        encoder.word_vectors.requires_grad_(self.train_embeddings)
        sizes = [(parameter.numel(), parameter.requires_grad) for parameter in encoder.parameters()]
        counts = sum(size for size, trained in sizes if trained), sum(size for size, _ in sizes)
        log.info("%s: %s of %s parameters are trained, by LoRA", encoder.name, *(f"{count:,}" for count in counts))

    def _layer_names(self, encoder: PooledEncoder) -> list[str]:
        frozen = {id(module) for part in encoder.frozen_modules for module in part.modules()}
        layers = {name: module for name, module in encoder.transformer.named_modules() if isinstance(module, nn.Linear)}
        targets = layers if isinstance(self.target_modules, str) else self.target_modules
        for target in targets:
            if not any(_has_ending(name, target) for name in layers):
                available = sorted({name.rpartition(".")[2] for name in layers})
                raise ValueError(
                    f"recipe.lora.target_modules: {type(encoder.transformer).__name__} of encoder {encoder.name} has no"
                    f" linear layer {target}; expected {ALL_LINEAR} or some of {', '.join(available)}"
                )
        chosen = [name for name in layers if any(_has_ending(name, target) for target in targets)]
        trained = [name for name in chosen if id(layers[name]) not in frozen]
        if not trained:
            raise ValueError("recipe.freeze.layers: no layer of recipe.lora.target_modules would be left to train")
        limits = {name: min(layers[name].in_features, layers[name].out_features) for name in trained}
        narrowest = min(limits, key=lambda name: limits[name])
        assert self.rank is not None
        if self.rank > limits[narrowest]:
            raise ValueError(
                f"recipe.lora.rank={self.rank}: expected at most {limits[narrowest]}, the rank of layer {narrowest}"
            )
        return trained


def merged(encoder: Encoder) -> Encoder:
    """The encoder itself, or if it has adapters a copy with these merged into its weights."""
    if not _adapters(encoder):
        return encoder
    merged_encoder = copy.deepcopy(encoder)
    merge_adapters(merged_encoder)
    return merged_encoder


def merge_adapters(encoder: Encoder) -> None:
    """Add the update of each adapter to the weight of its layer, in place, and remove the adapters.

    The vectors stay the same up to rounding: W x + alpha / rank * B A x becomes (W + alpha / rank * B A) x.
    """
    adapters = _adapters(encoder)
    for name, layer in adapters.items():
        layer.merge()
        encoder.set_submodule(name, layer.get_base_layer())
    if adapters:
        assert isinstance(encoder, PooledEncoder)
        del encoder.transformer.peft_config


def _adapters(encoder: Encoder) -> dict[str, Any]:
    """Adapted layers by name."""
    # Told by a method of theirs, so that only adapters need peft.
    return {name: module for name, module in encoder.named_modules() if hasattr(module, "get_base_layer")}


def _has_ending(name: str, target: str) -> bool:
    return f".{name}".endswith(f".{target}")
