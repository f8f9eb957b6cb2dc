"""Base class of recipes whose student learns a frozen teacher's vectors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from xsent.losses import Distillation, check_weights
from xsent.models.encoders.base import Encoder
from xsent.recipes.base import D
from xsent.recipes.encoder_recipe import EncoderRecipe


@dataclass(kw_only=True, eq=False, repr=False)
class DistillationRecipe(EncoderRecipe[D]):
    """Trains a student, ``encoder``, to give a frozen teacher's vectors.

    The teacher embeds its sentences once before training and is then released. A checkpoint stores its digest but no
    weights: a run can be resumed only with the same teacher, and used without it.

    Raises:
        ValueError: weights of other terms, a negative one, or none above 0.
    """

    term_names: ClassVar[type[NamedTuple]]  # the terms of the loss

    teacher: Callable[[], Encoder]  # loads the teacher
    loss: Distillation
    # Of vectors, the teacher's, and the groups of both, as ``additive_margin_softmax``.
    ranking: Callable[..., Tensor]
    weights: Mapping[str, float]  # of the terms; a term of weight 0 is not computed
    _teacher_digest: str = field(init=False, default="")
    _resumed_teacher: str | None = field(init=False, default=None)  # digest of the teacher of the run to resume

    def __post_init__(self, freeze: Mapping[str, Any]) -> None:
        check_weights(self.term_names, self.weights)
        if min(self.weights.values()) < 0 or not any(self.weights.values()):
            raise ValueError(
                f"recipe.weights={dict(self.weights)}: expected numbers of 0 and more, one of them above 0"
            )
        super().__post_init__(freeze)

    def load_teacher(self) -> Encoder:
        """The teacher, on the student's device.

        Raises:
            ValueError: the run to resume had another teacher.
        """
        teacher = self.teacher().to(self.encoder.device)
        self._teacher_digest = teacher.digest()
        self._check_teacher(self._resumed_teacher)
        return teacher

    def rank(self, vectors: Tensor, teacher: Tensor, groups: Tensor, *, rows: slice) -> Tensor:
        """How well each vector ranks its own teacher vector above the others: the ``ranking`` loss, a scalar.

        Args:
            vectors: the student's (B, D).
            teacher: (N, D), those of this device's B sentences and of others.
            groups: (N,) of the teacher's sentences; those of one group are no negatives of each other.
            rows: of this device's B sentences.
        """
        with torch.autocast(teacher.device.type, enabled=False):  # cosines in bfloat16 would tie
            return self.ranking(
                vectors.to(teacher.dtype), teacher, offset=rows.start, groups=groups[rows], candidate_groups=groups
            )

    # ---- checkpoints

    def prepare_resume(self, state: Mapping[str, Any]) -> None:
        super().prepare_resume(state)
        self._resumed_teacher = state["teacher"]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        checkpoint["xsent"]["teacher"] = self._teacher_digest

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self._check_teacher(checkpoint["xsent"]["teacher"])
        super().on_load_checkpoint(checkpoint)

    def _check_teacher(self, digest: str | None) -> None:
        if digest is not None and digest != self._teacher_digest:
            raise ValueError(
                f"the run to resume had a teacher with digest {digest[:16]}, this one has"
                f" {self._teacher_digest[:16]}: other weights, tokenizer, pooling, prompt or length"
            )
