"""RoLASER and c-RoLASER: distil a teacher's vectors of clean text into a student of noisy text.

Nishimwe, Sagot, Bawden 2024.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from xsent.batch import DistillationBatch
from xsent.data.modules.ugc import UgcData
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.distributed import gather_rows, gather_uneven_rows, rank
from xsent.losses import weighted_sum
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.pooled import PROJECTED_POOLINGS, PooledEncoder
from xsent.recipes.distillation import DistillationRecipe
from xsent.recipes.encoder_recipe import PREFIX

PROJECTION = PREFIX + "token_projection.weight"


class DistillationTerms(NamedTuple):
    """What the student's vectors are compared with: the teacher's vectors of the standard sentences."""

    noisy: Tensor  # distance of the noisy sentences' vectors; the paper's loss
    clean: Tensor  # distance of the standard sentences' vectors
    ranking: Tensor  # the noisy sentence ranks its own teacher vector above those of the batch's others


# Terms that need the student's vectors of a side.
TERMS_OF = {"noisy": ("noisy", "ranking"), "clean": ("clean",)}


@dataclass(kw_only=True, eq=False, repr=False)
class RolaserRecipe(DistillationRecipe[UgcData]):
    """Trains a student to map a noisy sentence to the frozen teacher's vector of the clean sentence.

    Raises:
        ValueError: an option that the student does not support, or weights of other terms.

    Logged: ``train/loss`` and its terms; ``val/loss``, the sum of ``val/standard`` and ``val/noisy``: mean distance of
    the student's vectors of each side to the teacher's of the standard side, by the training distance. With
    ``squared`` it is the paper's triplet loss, reconstructed from its prose.
    """

    data_class = UgcData
    term_names = DistillationTerms

    # `pooling` (`max` or `mean`): the student's token embeddings are mapped to the size of the teacher's vectors,
    # without bias, then pooled; None compares the student's vectors as they are.
    projection: Mapping[str, str] | None
    preprocessing: str  # of the student's text, `laser` or `none`
    seed: int  # of the projection's first weights
    _is_projected: bool = field(init=False, default=False)

    def __post_init__(self, freeze: Mapping[str, Any]) -> None:
        _check_student(self.encoder, self.projection, self.preprocessing)
        super().__post_init__(freeze)
        if isinstance(self.encoder, PooledEncoder):
            self.encoder.set_preprocessing(self.preprocessing)

    @property
    def chunk_sentences(self) -> int | None:
        return self.micro_batch_size  # the standard side is encoded only if it has a weight

    def prepare(self, data: UgcData, store: EmbeddingStore) -> None:
        teacher = self.load_teacher()
        if self.projection is not None:
            self._project(teacher.dim)
        elif teacher.dim != self.encoder.dim:
            raise ValueError(
                f"teacher {teacher.name} has vectors of size {teacher.dim}, student {self.encoder.name} of size"
                f" {self.encoder.dim}; a linear map needs recipe.projection"
            )
        self.encoder.fit_tokenizer(data.training_sentences(self.tokenizer_sentences))
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
        teacher, size = gather_rows(batch.teacher), len(batch.teacher)
        rows = slice(rank() * size, (rank() + 1) * size)
        tokens = {"noisy": batch.target, "clean": batch.source}
        sides = [side for side, terms in TERMS_OF.items() if any(self.weights[term] for term in terms)]
        vectors = dict(zip(sides, self.embed_sides(*(tokens[side] for side in sides)), strict=True))  # (B, D) each
        zero = teacher.new_zeros(())
        terms = DistillationTerms(
            noisy=self.loss(vectors["noisy"], teacher, rows=rows) if self.weights["noisy"] else zero,
            clean=self.loss(vectors["clean"], teacher, rows=rows) if self.weights["clean"] else zero,
            ranking=self.rank(vectors["noisy"], teacher, gather_rows(batch.pairs.group), rows=rows)
            if self.weights["ranking"]
            else zero,
        )
        return self.finish_step(weighted_sum(terms, self.weights), terms._asdict(), batch.pairs)

    @torch.no_grad()
    def validation_step(self, batch: DistillationBatch, batch_idx: int) -> None:
        vectors = (gather_uneven_rows(side) for side in (*self.embed_sides(batch.source, batch.target), batch.teacher))
        standard, noisy, teacher = (side.float() for side in vectors)
        measure, rows = replace(self.loss, reduction="sum_over_dim"), slice(0, len(teacher))
        of_standard, of_noisy = (measure(side, teacher, rows=rows) for side in (standard, noisy))
        terms = {"loss": of_standard + of_noisy, "standard": of_standard, "noisy": of_noisy}
        self.log_terms("val", terms, len(teacher))

    # ---- checkpoints

    def load_encoder(self, state_dict: Mapping[str, Any]) -> None:
        if self.projection is not None:
            self._project(len(state_dict[PROJECTION]))
        super().load_encoder(state_dict)

    @classmethod
    def reshape_encoder(cls, encoder: Encoder, options: Mapping[str, Any], state_dict: Mapping[str, Any]) -> None:
        projection, preprocessing = options["projection"], options["preprocessing"]
        _check_student(encoder, projection, preprocessing)
        if isinstance(encoder, PooledEncoder):
            encoder.set_preprocessing(preprocessing)
            if projection is not None:
                encoder.project_tokens(len(state_dict[PROJECTION]), pooling=projection["pooling"], seed=options["seed"])


def _check_student(encoder: Encoder, projection: Mapping[str, str] | None, preprocessing: str) -> None:
    if projection is not None and (set(projection) != {"pooling"} or projection["pooling"] not in PROJECTED_POOLINGS):
        raise ValueError(
            f"recipe.projection={dict(projection)}: expected pooling, one of {', '.join(PROJECTED_POOLINGS)}, or null"
        )
    if projection is not None and not isinstance(encoder, PooledEncoder):
        raise ValueError(
            f"recipe.projection: encoder {encoder.name} has no token embeddings to project before pooling; use"
            " recipe.projection=null and a student whose vectors have the teacher's size"
        )
    if preprocessing != "none" and not isinstance(encoder, PooledEncoder):
        raise ValueError(f"recipe.preprocessing={preprocessing}: encoder {encoder.name} has no preprocessing; use none")
