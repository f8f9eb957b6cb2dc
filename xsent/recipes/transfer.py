"""Multilingual distillation: a student learns other languages from a teacher's vectors of one language.

Reimers and Gurevych 2020 (arXiv:2004.09813).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from xsent.batch import DistillationBatch, Tokens
from xsent.config_checks import UsageError, check_integer, check_positive
from xsent.data.modules.bitext import BitextData
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.distributed import gather_rows, gather_uneven_rows, rank
from xsent.languages import parse_language
from xsent.losses import weighted_sum
from xsent.models import freezing
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.pooled import PooledEncoder
from xsent.recipes.distillation import DistillationRecipe
from xsent.similarity import pairwise_cos_sim


class TransferTerms(NamedTuple):
    """What the student's vectors of a pair are compared with: the teacher's vector of its source sentence."""

    target: Tensor  # distance of the student's vector of the target sentence
    source: Tensor  # distance of the student's vector of the source sentence
    ranking: Tensor  # the target sentence ranks its own teacher vector above those of the batch's other pairs


# Terms that need the student's vectors of a side.
TERMS_OF = {"source": ("source",), "target": ("target", "ranking")}


@dataclass(kw_only=True, eq=False, repr=False)
class TransferRecipe(DistillationRecipe[BitextData]):
    """Trains a student to give both sides of a translation pair the teacher's vector of the pivot side.

    Raises:
        ValueError: an unknown language, weights of other terms, or parts that the student does not have.

    Logged: ``train/loss`` and ``val/loss``, the weighted sum of the terms, and each term with a weight;
    ``val/target_cosine`` and ``val/source_cosine``, the mean cosine of the student's vectors of each side with the
    teacher's.
    """

    data_class = BitextData
    term_names = TransferTerms

    pivot: str  # language that the teacher reads, in any code; pairs without it are left out
    # Optimizer steps in which the rest of the transformer is frozen and its word embeddings are trained, with what the
    # encoder has on top of it; then everything. 0: everything from the start; None: never.
    unfreeze_step: int | None
    embedding_lr: float | None  # learning rate of the word embeddings; None: that of the optimizer
    _body: list[torch.nn.Parameter] = field(init=False, default_factory=list)  # frozen before `unfreeze_step`

    def __post_init__(self, freeze: Mapping[str, Any]) -> None:
        self.pivot = parse_language("recipe.pivot", self.pivot)
        if self.unfreeze_step is not None:
            check_integer("recipe.unfreeze_step", self.unfreeze_step, minimum=0)
        if self.embedding_lr is not None:
            check_positive("recipe.embedding_lr", self.embedding_lr)
        super().__post_init__(freeze)
        if self.unfreeze_step != 0:
            self._body = freezing.body_parameters(self.encoder)
        options = {"unfreeze_step": self.unfreeze_step != 0, "embedding_lr": self.embedding_lr is not None}
        for option, is_set in options.items():
            if is_set and not self.encoder.word_vectors.requires_grad:
                raise UsageError(
                    f"recipe.{option} trains the word embeddings, and recipe.freeze or recipe.lora freezes them"
                )

    @property
    def _sides(self) -> list[str]:
        """The sides whose student vectors a term needs."""
        return [side for side, terms in TERMS_OF.items() if any(self.weights[term] for term in terms)]

    @property
    def chunk_sentences(self) -> int | None:
        return None if self.micro_batch_size is None else self.micro_batch_size * len(self._sides)

    def prepare(self, data: BitextData, store: EmbeddingStore) -> None:
        data.keep_pivot(self.pivot)
        teacher = self.load_teacher()
        check_sizes(teacher, self.encoder)
        self.encoder.fit_tokenizer(data.training_sentences(self.tokenizer_sentences))
        data.distill(self.encoder, teacher, store)

    # ---- one step

    def training_step(self, batch: DistillationBatch, batch_idx: int) -> Tensor:
        sides: dict[str, Tokens] = {side: getattr(batch, side) for side in self._sides}
        vectors = dict(zip(sides, self.embed_sides(*sides.values()), strict=True))  # (B, D) each
        teacher, groups = gather_rows(batch.teacher), gather_rows(batch.pairs.group)  # (W * B, D), (W * B,)
        first = rank() * len(batch.teacher)
        terms = self.terms(vectors, teacher, groups, rows=slice(first, first + len(batch.teacher)))
        return self.finish_step(weighted_sum(terms, self.weights), self._weighted(terms), batch.pairs)

    @torch.no_grad()
    def validation_step(self, batch: DistillationBatch, batch_idx: int) -> None:
        source, target = map(gather_uneven_rows, self.embed_sides(batch.source, batch.target))
        teacher, groups = gather_uneven_rows(batch.teacher), gather_uneven_rows(batch.pairs.group)
        vectors = {"source": source.float(), "target": target.float()}
        terms = self.terms(vectors, teacher, groups, rows=slice(0, len(teacher)))
        cosines = {f"{side}_cosine": pairwise_cos_sim(rows, teacher).mean() for side, rows in vectors.items()}
        logged = {"loss": weighted_sum(terms, self.weights), **self._weighted(terms), **cosines}
        self.log_terms("val", logged, len(teacher))

    def terms(self, vectors: Mapping[str, Tensor], teacher: Tensor, groups: Tensor, *, rows: slice) -> TransferTerms:
        """The terms with a weight; the others are 0.

        Args:
            vectors: the student's (B, D) of each side.
            teacher: (N, D) of the pairs of all devices.
            groups: (N,) of these pairs; pairs of one group are no negatives of each other.
            rows: this device's B pairs.
        """
        zero = teacher.new_zeros(())
        has = {name: weight != 0 for name, weight in self.weights.items()}
        with torch.autocast(teacher.device.type, enabled=False):  # cosines in bfloat16 would tie
            return TransferTerms(
                target=self.loss(vectors["target"], teacher, rows=rows) if has["target"] else zero,
                source=self.loss(vectors["source"], teacher, rows=rows) if has["source"] else zero,
                ranking=self.rank(vectors["target"], teacher, groups, rows=rows) if has["ranking"] else zero,
            )

    def _weighted(self, terms: TransferTerms) -> dict[str, Tensor]:
        return {name: term for name, term in terms._asdict().items() if self.weights[name]}

    # ---- parts of the student

    def parameter_groups(self) -> list[Any]:
        if self.embedding_lr is None:
            return super().parameter_groups()
        word_vectors = self.encoder.word_vectors
        rest = [parameter for parameter in self.trainable_parameters() if parameter is not word_vectors]
        groups: list[dict[str, Any]] = [{"params": rest}, {"params": [word_vectors], "lr": self.embedding_lr}]
        return [group for group in groups if group["params"]]

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        super().on_train_batch_start(batch, batch_idx)
        step = self.trainer.global_step  # of the optimizer; a resumed run continues to count
        is_trained = self.unfreeze_step is not None and step >= self.unfreeze_step
        for parameter in self._body:
            # Without a gradient the optimizer leaves a parameter alone, its moments and weight decay, too.
            parameter.requires_grad_(is_trained)


def check_sizes(teacher: Encoder, student: Encoder) -> None:
    """Raise ``UsageError`` if the teacher's vectors are not of the student's size."""
    if teacher.dim == student.dim:
        return
    advice = f"take encoder.dim={teacher.dim} for a student that starts random, or a teacher of the student's size"
    if isinstance(student, PooledEncoder):
        advice = f"encoder.projection={teacher.dim} adds a linear layer to the student"
    raise UsageError(
        f"teacher {teacher.name} has vectors of size {teacher.dim}, student {student.name} of size {student.dim};"
        f" {advice}"
    )
