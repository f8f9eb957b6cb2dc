"""DREAM and MEAT: disentangle meaning and language on a frozen encoder, with or without the ORACLE terms.

Ki, Park, Kim 2024 (ORACLE); DREAM and MEAT follow their released code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from xsent.batch import EmbeddedBatch, Pairs, Parts
from xsent.data.modules.bitext import BitextData
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.distributed import gather_rows, gather_uneven_rows
from xsent.losses import (
    DreamTerms,
    MeatTerms,
    OracleTerms,
    check_weights,
    discriminator_loss,
    dream_terms,
    meat_terms,
    oracle_terms,
    weighted_sum,
)
from xsent.losses.dream import with_half_batch, with_partners
from xsent.losses.partners import any_partner, same_language_partners
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.disentangled import SPACES, DisentangledEncoder, DisentanglingHeads, split_spaces
from xsent.recipes.base import SentenceRecipe

HOSTS = ("dream", "meat")
TERMS = {"dream": DreamTerms, "meat": MeatTerms, "oracle": OracleTerms}
PARTNERS = ("language_aware", "half_batch")
HEADS = "heads."  # begins the names of their weights in a checkpoint


class Split(NamedTuple):
    """Meaning and language vectors of the N pairs of a global batch."""

    source: Parts
    target: Parts
    source_embeddings: Tensor  # (N, D), of the frozen encoder
    target_embeddings: Tensor  # (N, D)
    pairs: Pairs


@dataclass(kw_only=True, eq=False, repr=False)
class DisentanglingRecipe(SentenceRecipe[BitextData]):
    """Trains the two heads with DREAM's language identifier or MEAT's discriminator.

    Raises:
        ValueError: unknown ``host``, ``partners``, variant or name of a weight.
    """

    data_class = BitextData
    spaces = SPACES
    trained_space = None  # ``original`` is the start

    encoder: Encoder  # frozen; embeds every sentence once before training
    host: str  # `dream` or `meat`; `optimizer` makes a second optimizer for MEAT's discriminator
    seed: int  # of DREAM's random partners
    hidden: Sequence[int]  # sizes of the hidden layers of the heads; empty for one affine map each
    partners: str  # selection of DREAM's random partners, `language_aware` or `half_batch`
    oracle: Mapping[str, Any]  # `variant`, `pairs` and `same_language` of `oracle_terms`
    # By part (`dream`, `meat`, `oracle`) and term; every term needs one. A term of weight 0 is left out of the sum.
    weights: Mapping[str, Mapping[str, float]]
    # DREAM's language identifier or MEAT's discriminator; its size depends on the data.
    classifier: nn.Linear = field(init=False)
    _store: EmbeddingStore | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        for option, value, allowed in (("host", self.host, HOSTS), ("partners", self.partners, PARTNERS)):
            if value not in allowed:
                raise ValueError(f"recipe.{option}={value}: expected one of {', '.join(allowed)}")
        _check_terms(self.weights, self.oracle)
        # MEAT has two optimizers and two backward passes per batch.
        self.automatic_optimization = False
        # The frozen encoder is no submodule, so that no checkpoint and no optimizer contains it.
        vars(self)["encoder"] = self._modules.pop("encoder", self.encoder)
        self.heads = DisentanglingHeads(self.encoder.dim, self.hidden)
        # MEAT's discriminator gets its gradient without DDP, the same on every rank.
        unshared = ["classifier.weight", "classifier.bias"]
        self._ddp_params_and_buffers_to_ignore = unshared if self.host == "meat" else []

    def prepare(self, data: BitextData, store: EmbeddingStore) -> None:
        self.classifier = nn.Linear(self.encoder.dim, len(data.language_codes))
        self._encoder_digest = self.encoder.digest()
        data.embed(self.encoder, store)
        self._store = store

    def embed(self, sentences: Sequence[str], *, progress: bool) -> dict[str, Tensor]:
        if self._store is None:
            embeddings = self.encoder.encode(sentences, show_progress=progress)
            return split_spaces(embeddings, self.heads, self.encoder.name, sentences)
        # The encoder is frozen: each list of sentences is encoded once, in all validations and runs.
        stored = self._store.vectors(sentences, self.encoder)
        return split_spaces(torch.from_numpy(np.array(stored)), self.heads, self.encoder.name, sentences)

    # ---- one batch

    def training_step(self, batch: EmbeddedBatch, batch_idx: int) -> None:
        optimizer, *discriminator_optimizer = _as_list(self.optimizers())
        both = self._split(batch, gather_rows)
        if self.host == "meat":
            discriminator = self._discriminator_step(both, discriminator_optimizer[0].optimizer)
            self.log_terms("train", {"discriminator": discriminator}, len(batch.source))
        terms = self.terms(both, self.batches_seen)
        self.check_finite(terms["loss"], both.pairs)
        optimizer.zero_grad()
        self.manual_backward(terms["loss"])
        optimizer.step()
        for scheduler in _as_list(self.lr_schedulers()):
            scheduler.step()
        self.log_terms("train", terms, len(both.source_embeddings))
        self.count_batch()

    def validation_step(self, batch: EmbeddedBatch, batch_idx: int) -> None:
        both = self._split(batch, gather_uneven_rows)
        self.log_terms("val", self.terms(both, batch_idx), len(both.source_embeddings))

    def terms(self, both: Split, draw: int) -> dict[str, Tensor]:
        """All named terms of a global batch, and ``loss``, their weighted sum.

        Args:
            both: the N pairs.
            draw: seed of the random partners within the run.
        """
        host: Any = self._dream(both, draw) if self.host == "dream" else self._meat(both)
        terms: dict[str, Tensor] = host._asdict()
        loss = weighted_sum(host, self.weights[self.host])
        if any(self.weights["oracle"].values()):
            lang = both.pairs.source_lang, both.pairs.target_lang
            oracle = oracle_terms(both.source, both.target, *lang, **self.oracle)
            loss = loss + weighted_sum(oracle, self.weights["oracle"])
            terms |= oracle._asdict()
        return {"loss": loss, **terms}

    def _dream(self, both: Split, draw: int) -> DreamTerms:
        pairs = both.pairs
        source = both.source, both.source_embeddings, self.classifier(both.source.language), pairs.source_lang
        target = both.target, both.target_embeddings, self.classifier(both.target.language), pairs.target_lang
        if self.partners == "half_batch":
            return dream_terms(with_half_batch(*source), with_half_batch(*target))
        # Partners depend only on seed and position, so a resumed run gets the same ones.
        generator = torch.Generator().manual_seed((self.seed << 32) + draw)
        partner = any_partner(len(pairs.row), generator, pairs.row.device)
        return dream_terms(
            *(
                with_partners(*side, meaning=partner, language=same_language_partners(side[3], generator))
                for side in (source, target)
            )
        )

    def _meat(self, both: Split) -> MeatTerms:
        # The discriminator is constant here: only the heads are trained against it.
        weight, bias = self.classifier.weight.detach(), self.classifier.bias.detach()
        return meat_terms(
            both.source,
            both.target,
            both.source_embeddings,
            both.target_embeddings,
            nn.functional.linear(both.source.meaning, weight, bias),
            nn.functional.linear(both.target.meaning, weight, bias),
        )

    def _discriminator_step(self, both: Split, optimizer: torch.optim.Optimizer) -> Tensor:
        loss = discriminator_loss(
            self.classifier(both.source.meaning.detach()),
            self.classifier(both.target.meaning.detach()),
            both.pairs.source_lang,
            both.pairs.target_lang,
        )
        # Every rank holds the global batch, so the gradient needs no averaging. ``autograd.grad`` does not trigger
        # DDP's hooks, which expect a single backward pass.
        for parameter, gradient in zip(
            self.classifier.parameters(), torch.autograd.grad(loss, list(self.classifier.parameters())), strict=True
        ):
            parameter.grad = gradient
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    def _split(self, batch: EmbeddedBatch, gather: Any) -> Split:
        # Each rank maps its rows; the losses compare all pairs of the global batch.
        source, target = self.heads(batch.source), self.heads(batch.target)
        return Split(
            Parts(gather(source.meaning), gather(source.language)),
            Parts(gather(target.meaning), gather(target.language)),
            gather(batch.source),
            gather(batch.target),
            Pairs(*(gather(column) for column in batch.pairs)),
        )

    # ---- optimisation

    def trainable_parameters(self) -> list[nn.Parameter]:
        modules = [self.heads] if self.host == "meat" else [self.heads, self.classifier]
        return [parameter for module in modules for parameter in module.parameters()]

    def configure_optimizers(self) -> Any:
        main = super().configure_optimizers()
        if self.host == "dream":
            return main
        return [
            main if isinstance(main, dict) else {"optimizer": main},
            {"optimizer": self.optimizer(list(self.classifier.parameters()))},
        ]

    # ---- checkpoints

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        checkpoint["xsent"]["frozen_encoder"] = self._encoder_digest

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        _check_encoder(self.encoder, checkpoint)
        super().on_load_checkpoint(checkpoint)

    @classmethod
    def trained_model(cls, encoder: Encoder, checkpoint: Mapping[str, Any]) -> DisentangledEncoder:
        _check_encoder(encoder, checkpoint)
        hidden = checkpoint["xsent"]["config"]["recipe"]["hidden"]
        weights = checkpoint["state_dict"]
        with torch.device("meta"):  # a stated size takes no memory: the weights of the file must have it
            heads = DisentanglingHeads(encoder.dim, hidden)
        heads.load_state_dict(
            {name.removeprefix(HEADS): value.float() for name, value in weights.items() if name.startswith(HEADS)},
            assign=True,
        )
        return DisentangledEncoder(encoder, heads.to(encoder.device).eval())


def _check_encoder(encoder: Encoder, checkpoint: Mapping[str, Any]) -> None:
    trained_on, digest = checkpoint["xsent"]["frozen_encoder"], encoder.digest()
    if trained_on != digest:
        raise ValueError(
            f"the heads were trained on an encoder with digest {trained_on[:16]}, {encoder.name}"
            f" has {digest[:16]}: other weights, tokenizer, pooling, prompt or length"
        )


def _check_terms(weights: Mapping[str, Mapping[str, float]], oracle: Mapping[str, Any]) -> None:
    # Checked at construction, because all data are embedded before the first batch.
    if weights.keys() != TERMS.keys():
        raise ValueError(f"recipe.weights names {', '.join(weights)}: expected {', '.join(TERMS)}")
    for part, terms in TERMS.items():
        check_weights(terms, weights[part])
    ones = Parts(torch.ones(2, 1), torch.ones(2, 1))
    oracle_terms(ones, ones, torch.zeros(2, dtype=torch.int64), torch.zeros(2, dtype=torch.int64), **oracle)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
