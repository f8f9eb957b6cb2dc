"""Translation ranking with in-batch negatives: LaBSE, Feng et al. 2022 (arXiv:2007.01852)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from xsent.batch import ParallelBatch
from xsent.data.modules.bitext import BitextData
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.distributed import gather_rows, gather_uneven_rows, rank
from xsent.models.encoders.base import Encoder
from xsent.recipes.base import OptimizerFactory, SchedulerFactory
from xsent.recipes.encoder_recipe import EncoderRecipe


class LabseRecipe(EncoderRecipe[BitextData]):
    """Trains the encoder so that a sentence ranks its translation above all others of the batch.

    Args:
        encoder: to train.
        loss: of anchors and candidates with their groups, such as ``additive_margin_softmax``.
        tokenizer_sentences: per language, to train a tokenizer if the encoder has none.
        freeze, micro_batch_size, optimizer, scheduler: as in ``EncoderRecipe``.
    """

    data_class = BitextData

    def __init__(
        self,
        *,
        encoder: Encoder,
        loss: Callable[..., Tensor],
        freeze: Mapping[str, Any],
        micro_batch_size: int | None,
        tokenizer_sentences: int,
        optimizer: OptimizerFactory,
        scheduler: SchedulerFactory | None,
    ) -> None:
        super().__init__(
            encoder=encoder, freeze=freeze, micro_batch_size=micro_batch_size, optimizer=optimizer, scheduler=scheduler
        )
        self.loss = loss
        self.tokenizer_sentences = tokenizer_sentences

    def prepare(self, data: BitextData, store: EmbeddingStore) -> None:
        self.encoder.fit_tokenizer(data.training_sentences(self.tokenizer_sentences))
        data.tokenize(self.encoder)

    def training_step(self, batch: ParallelBatch, batch_idx: int) -> Tensor:
        source, target = self.embed_sides(batch.source, batch.target)  # (B, D) each
        groups, offset = batch.pairs.group, rank() * len(source)
        all_groups = gather_rows(groups)  # (W * B,)
        forward = self.loss(source, gather_rows(target), offset=offset, groups=groups, candidate_groups=all_groups)
        backward = self.loss(target, gather_rows(source), offset=offset, groups=groups, candidate_groups=all_groups)
        loss: Tensor = forward + backward
        self.check_finite(loss, batch.pairs)
        self.log_terms("train", {"loss": loss, "forward": forward, "backward": backward}, len(source))
        self.count_batch()
        return loss

    @torch.no_grad()
    def validation_step(self, batch: ParallelBatch, batch_idx: int) -> None:
        source, target = map(gather_uneven_rows, self.embed_sides(batch.source, batch.target))
        groups = gather_uneven_rows(batch.pairs.group)
        forward = self.loss(source, target, offset=0, groups=groups, candidate_groups=groups)
        backward = self.loss(target, source, offset=0, groups=groups, candidate_groups=groups)
        terms = {"loss": forward + backward, "forward": forward, "backward": backward}
        self.log_terms("val", terms, len(source))
