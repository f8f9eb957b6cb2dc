"""Translation ranking with in-batch negatives: LaBSE, Feng et al. 2022 (arXiv:2007.01852)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from xsent.batch import ParallelBatch
from xsent.data.bitext import BitextData
from xsent.data.embedding_store import EmbeddingStore
from xsent.distributed import gather_rows, gather_uneven_rows, rank
from xsent.models.encoder import Encoder
from xsent.recipes.base import OptimizerFactory, SchedulerFactory, SentenceRecipe


class LabseRecipe(SentenceRecipe):
    """Trains the whole encoder so that a sentence ranks its translation above all others of the batch.

    Args:
        encoder: what is trained; its vectors are the ones compared.
        loss: of anchors and candidates with their groups, e.g. ``additive_margin_softmax``.
        tokenizer_sentences: of each language, what an encoder without a tokenizer trains one on.
        optimizer, scheduler: as in ``SentenceRecipe``.
    """

    def __init__(
        self,
        *,
        encoder: Encoder,
        loss: Callable[..., Tensor],
        tokenizer_sentences: int,
        optimizer: OptimizerFactory,
        scheduler: SchedulerFactory | None,
    ) -> None:
        super().__init__(optimizer=optimizer, scheduler=scheduler)
        self.encoder = encoder
        self.loss = loss
        self.tokenizer_sentences = tokenizer_sentences

    @property
    def spaces(self) -> Sequence[str]:
        return ("original",)

    def embed(self, sentences: Sequence[str], *, progress: bool) -> dict[str, Tensor]:
        return {"original": self.encoder.encode(sentences, progress=progress)}

    def prepare(self, data: BitextData, store: EmbeddingStore) -> None:
        self.encoder.prepare(data.training_sentences(self.tokenizer_sentences))
        data.tokenize(self.encoder)

    def load_encoder(self, state_dict: Mapping[str, Any]) -> None:
        start = "encoder."
        weights = {name.removeprefix(start): value for name, value in state_dict.items() if name.startswith(start)}
        self.encoder.load_state_dict(weights)

    def trained_encoder(self, checkpoint: Mapping[str, Any]) -> Encoder:
        self.load_encoder(checkpoint["state_dict"])
        return self.encoder

    @property
    def saves_encoder(self) -> bool:
        return self.encoder.has_files

    def save_encoder(self, folder: Path) -> None:
        self.encoder.save(folder)

    def training_step(self, batch: ParallelBatch, batch_idx: int) -> Tensor:
        source = self.encoder(batch.source)  # (B, D)
        target = self.encoder(batch.target)  # (B, D)
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
        source = gather_uneven_rows(self.encoder(batch.source))
        target = gather_uneven_rows(self.encoder(batch.target))
        groups = gather_uneven_rows(batch.pairs.group)
        forward = self.loss(source, target, offset=0, groups=groups, candidate_groups=groups)
        backward = self.loss(target, source, offset=0, groups=groups, candidate_groups=groups)
        terms = {"loss": forward + backward, "forward": forward, "backward": backward}
        self.log_terms("val", terms, len(source))
