"""Distillation losses: distance of a student's vectors of noisy text to a teacher's of clean text."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from xsent.similarity import cos_sim, pairwise_cos_sim

CHOICES = {"distance": ("squared", "cos", "snr", "contrast"), "reduction": ("sum_over_dim", "sum", "mean")}


@dataclass(frozen=True)
class Distillation:
    """Distance of the student's vectors to the teacher's.

    Args:
        distance: ``squared``; ``cos``, 1 - cosine; ``snr``, length of the error over the length of the teacher vector,
            an infinity or NaN for a zero teacher vector, such sentences are not trained on; ``contrast``, 1 - cosine
            with the right teacher vector plus the positive cosines with all others: a cosine embedding loss of margin
            0 over all pairs of a batch.
        reduction: ``sum_over_dim``: mean over the sentences (of ``squared``: summed over the dimensions);
            ``sum``: over the N sentences of all devices, estimated from this device's share;
            ``mean``: ``sum_over_dim`` divided by D for ``squared``, by N for ``contrast``.

    Raises:
        ValueError: an unknown distance or reduction.

    Source:
        Nishimwe, Sagot, Bawden 2024: a sum over sentences and dimensions, but the released trainer divides the
        gradient by the number of sentences, which is ``sum_over_dim``. ``snr`` and ``contrast`` are of the released
        criterion.
    """

    distance: str
    reduction: str

    def __post_init__(self) -> None:
        for option, choices in CHOICES.items():
            if getattr(self, option) not in choices:
                raise ValueError(f"recipe.loss.{option}={getattr(self, option)}: expected one of {', '.join(choices)}")

    def __call__(self, student: Tensor, teacher: Tensor, *, rows: slice) -> Tensor:
        """The loss of this device's sentences.

        Args:
            student: (B, D) vectors of this device's noisy sentences.
            teacher: (N, D) vectors of the standard sentences of all devices.
            rows: this device's B of them.

        Returns:
            Scalar, at least float32. Its mean over devices equals the loss of one device with all N sentences.
        """
        dtype = torch.promote_types(student.dtype, torch.float32)
        with torch.autocast(student.device.type, enabled=False):
            student, teacher = student.to(dtype), teacher.to(dtype)
            right, terms = teacher[rows], 1
            if self.distance == "squared":
                distances, terms = (student - right).square().sum(dim=-1), student.size(1)  # (B,)
            elif self.distance == "cos":
                distances = 1 - pairwise_cos_sim(student, right)
            elif self.distance == "snr":
                distances = torch.linalg.vector_norm(right - student, dim=-1) / torch.linalg.vector_norm(right, dim=-1)
            else:
                distances, terms = _in_batch_contrast(student, teacher, rows), len(teacher)
            factor = {"sum_over_dim": 1.0, "sum": float(len(teacher)), "mean": 1 / terms}[self.reduction]
            return distances.mean() * factor


def _in_batch_contrast(student: Tensor, teacher: Tensor, rows: slice) -> Tensor:
    cosines = cos_sim(student, teacher)  # (B, N)
    is_right = torch.zeros_like(cosines, dtype=torch.bool)
    is_right[:, rows] = torch.eye(len(student), dtype=torch.bool, device=student.device)
    return torch.where(is_right, 1 - cosines, F.relu(cosines)).sum(dim=1)  # (B,)
