"""Robustness to what users write: a student of noisy text learns a teacher's vectors of the clean text.

Nishimwe, Sagot, Bawden 2024 (RoLASER, c-RoLASER).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from xsent.batch import DistillationBatch, Tokens
from xsent.data.embedding_store import EmbeddingStore
from xsent.data.ugc import UgcData
from xsent.distributed import gather_rows, gather_uneven_rows, rank
from xsent.losses import Distillation, check_weights, weighted_sum
from xsent.models.chunks import embed_in_chunks
from xsent.models.encoder import Encoder
from xsent.models.pooled_encoder import AFTER_PROJECTION, PooledEncoder
from xsent.recipes.base import OptimizerFactory, SchedulerFactory
from xsent.recipes.encoder_recipe import PREFIX, EncoderRecipe

PROJECTION = PREFIX + "token_projection.weight"


class DistillationTerms(NamedTuple):
    """The loss of the noisy sentences and that of the standard ones."""

    noisy: Tensor  # the paper's loss
    clean: Tensor  # of the student's vectors of the standard sentences


class RolaserRecipe(EncoderRecipe[UgcData]):
    """Trains a student to give a noisy sentence the vector that a frozen teacher gives the clean one.

    The teacher embeds every clean sentence once, before training, and is let go. A checkpoint has its digest and
    none of its weights: a run can be resumed with the same teacher only, and be used without it.

    Args:
        encoder: the student.
        teacher: loads the teacher.
        projection: ``pooling`` (``max`` or ``mean``): the student's token embeddings are mapped to the size of the
            teacher's vectors, without bias, and pooled after that; None compares the student's own vectors.
        preprocessing: of the student's text, ``laser`` or ``none``.
        loss: e.g. ``Distillation(distance="squared", reduction="sum_over_dim")``.
        weights: of ``noisy`` and ``clean``; the paper has ``clean: 0``, since sentences without noise are among the
            noisy ones.
        seed: of the projection's first weights.
        freeze: ``embeddings`` and ``layers``, as in ``xsent.models.freezing.freeze``.
        micro_batch_size: sentences whose activations are in memory at a time; None: all.
        tokenizer_sentences: of each language, what an encoder without a tokenizer trains one on.
        optimizer, scheduler: as in ``Recipe``.

    Raises:
        ValueError: an option that the student does not know, or weights of other terms.

    Logged: ``train/loss``, ``train/noisy``, ``train/clean``; ``val/loss``, by which a checkpoint is chosen, the sum of
    ``val/standard`` and ``val/noisy``: how far the student's vectors of either side are from the teacher's of the
    standard one, by the distance that is trained with, mean over the sentences. With ``squared`` it is the paper's
    triplet loss, reconstructed from its prose.
    """

    trains_on = UgcData

    def __init__(
        self,
        *,
        encoder: Encoder,
        teacher: Callable[[], Encoder],
        projection: Mapping[str, str] | None,
        preprocessing: str,
        loss: Distillation,
        weights: Mapping[str, float],
        seed: int,
        freeze: Mapping[str, Any],
        micro_batch_size: int | None,
        tokenizer_sentences: int,
        optimizer: OptimizerFactory,
        scheduler: SchedulerFactory | None,
    ) -> None:
        check_weights(DistillationTerms, weights)
        if min(weights.values()) < 0 or not any(weights.values()):
            raise ValueError(f"recipe.weights={dict(weights)}: expected numbers of 0 and more, and one that is not 0")
        _check_student(encoder, projection, preprocessing)
        super().__init__(
            encoder=encoder, freeze=freeze, micro_batch_size=micro_batch_size, optimizer=optimizer, scheduler=scheduler
        )
        # A batch is its noisy side, and the standard one only if that has a weight.
        self.at_once = micro_batch_size
        self.load_teacher = teacher
        self.projection = projection
        self.loss = loss
        self.weights = weights
        self.seed = seed
        self.tokenizer_sentences = tokenizer_sentences
        self._teacher_digest = ""
        self._taught_by: str | None = None  # the digest of the teacher of the run that is resumed
        self._is_projected = False
        if isinstance(encoder, PooledEncoder):
            encoder.preprocess_as(preprocessing)

    def prepare(self, data: UgcData, store: EmbeddingStore) -> None:
        teacher = self.load_teacher().to(self.encoder.device)
        self._teacher_digest = teacher.digest()
        self._check_teacher(self._taught_by)
        if self.projection is not None:
            self._project(teacher.dim)
        elif teacher.dim != self.encoder.dim:
            raise ValueError(
                f"teacher {teacher.name} has vectors of size {teacher.dim}, student {self.encoder.name} of size"
                f" {self.encoder.dim}; without recipe.projection=null a linear map takes one to the other"
            )
        self.encoder.prepare(data.training_sentences(self.tokenizer_sentences))
        data.embed(teacher, store)
        data.tokenize(self.encoder)

    def _project(self, dim: int) -> None:
        if not self._is_projected:
            assert self.projection is not None
            assert isinstance(self.encoder, PooledEncoder)
            self.encoder.project_tokens(dim, pooling=self.projection["pooling"], seed=self.seed)
            self._is_projected = True

    # ---- one step

    def training_step(self, batch: DistillationBatch, batch_idx: int) -> Tensor:
        size = len(batch.teacher)
        teacher, start = gather_rows(batch.teacher), rank() * size
        rows = slice(start, start + size)
        sides = {"noisy": batch.noisy, "clean": batch.standard}
        wanted = [name for name in sides if self.weights[name]]  # a side without weight is not encoded
        vectors = self._vectors([sides[name] for name in wanted])
        terms = DistillationTerms(*(teacher.new_zeros(()) for _ in sides))._replace(
            **{name: self.loss(own, teacher, rows=rows) for name, own in zip(wanted, vectors, strict=True)}
        )
        loss = weighted_sum(terms, self.weights)
        self.check_finite(loss, batch.pairs)
        self.log_terms("train", {"loss": loss, **terms._asdict()}, size)
        self.count_batch()
        return loss

    @torch.no_grad()
    def validation_step(self, batch: DistillationBatch, batch_idx: int) -> None:
        vectors = (gather_uneven_rows(side) for side in (*self._vectors([batch.standard, batch.noisy]), batch.teacher))
        standard, noisy, teacher = (side.float() for side in vectors)
        measure, rows = replace(self.loss, reduction="sum_over_dim"), slice(0, len(teacher))
        of_standard, of_noisy = (measure(side, teacher, rows=rows) for side in (standard, noisy))
        terms = {"loss": of_standard + of_noisy, "standard": of_standard, "noisy": of_noisy}
        self.log_terms("val", terms, len(teacher))

    def _vectors(self, sides: list[Tokens]) -> list[Tensor]:
        # All sides in one go: among more sentences there are more of one length to share a run.
        masks = [side.attention_mask.bool() for side in sides]
        ids = torch.cat([side.input_ids[mask] for side, mask in zip(sides, masks, strict=True)])
        lengths = torch.cat([mask.sum(dim=1) for mask in masks])
        return list(embed_in_chunks(self.encoder, ids, lengths, at_once=self.at_once).tensor_split(len(sides)))

    # ---- checkpoints

    def load_encoder(self, state_dict: Mapping[str, Any]) -> None:
        if self.projection is not None:
            self._project(len(state_dict[PROJECTION]))
        super().load_encoder(state_dict)

    def expect(self, state: Mapping[str, Any]) -> None:
        self._taught_by = state["teacher"]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        checkpoint["xsent"]["teacher"] = self._teacher_digest

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self._check_teacher(checkpoint["xsent"]["teacher"])
        super().on_load_checkpoint(checkpoint)

    def _check_teacher(self, taught_by: str | None) -> None:
        if taught_by is not None and taught_by != self._teacher_digest:
            raise ValueError(
                f"the run to resume had a teacher with digest {taught_by[:16]}, this one has"
                f" {self._teacher_digest[:16]}: other weights, tokenizer, pooling, prompt or length"
            )


def _check_student(encoder: Encoder, projection: Mapping[str, str] | None, preprocessing: str) -> None:
    if projection is not None and (set(projection) != {"pooling"} or projection["pooling"] not in AFTER_PROJECTION):
        raise ValueError(
            f"recipe.projection={dict(projection)}: expected pooling, one of {', '.join(AFTER_PROJECTION)}, or null"
        )
    if projection is not None and not isinstance(encoder, PooledEncoder):
        raise ValueError(
            f"recipe.projection: encoder {encoder.name} has no token embeddings to be mapped before pooling; give"
            " recipe.projection=null and a student whose vectors have the teacher's size"
        )
    if preprocessing != "none" and not isinstance(encoder, PooledEncoder):
        raise ValueError(f"recipe.preprocessing={preprocessing}: encoder {encoder.name} takes text as it is; give none")
