"""Distillation losses: distance of a student's vectors of noisy text to a teacher's of clean text."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from xsent.similarity import cos_sim, pairwise_cos_sim

DISTANCES = ("squared", "cos", "snr", "contrast")
REDUCTIONS = ("sum_over_dim", "sum", "mean")


def squared_distance(student: Tensor, teacher: Tensor) -> Tensor:
    """Squared Euclidean distance of each row: (B, D) and (B, D) -> (B,), summed over the dimensions."""
    return (student - teacher).square().sum(dim=-1)


def signal_to_noise(student: Tensor, teacher: Tensor) -> Tensor:
    """Length of the error over the length of the teacher vector: (B, D) and (B, D) -> (B,).

    A zero teacher vector gives an infinity or NaN; such sentences are not trained on.

    Source:
        ``snr`` of the released criterion.
    """
    ratio: Tensor = torch.linalg.vector_norm(teacher - student, dim=-1) / torch.linalg.vector_norm(teacher, dim=-1)
    return ratio


def in_batch_contrast(student: Tensor, teacher: Tensor, *, rows: slice) -> Tensor:
    """1 - cosine with the right teacher vector plus the positive cosines with all others: (B,), summed over N.

    Args:
        student: (B, D).
        teacher: (N, D); ``rows`` are the right ones.
        rows: B of the N.

    Source:
        The released criterion: a cosine embedding loss of margin 0 over all pairs of a batch.
    """
    cosines = cos_sim(student, teacher)  # (B, N)
    is_right = torch.zeros_like(cosines, dtype=torch.bool)
    is_right[:, rows] = torch.eye(len(student), dtype=torch.bool, device=student.device)
    return torch.where(is_right, 1 - cosines, F.relu(cosines)).sum(dim=1)


def distillation(student: Tensor, teacher: Tensor, *, rows: slice, distance: str, reduction: str) -> Tensor:
    """The loss of this device's sentences.

    Args:
        student: (B, D) vectors of this device's noisy sentences.
        teacher: (N, D) vectors of the standard sentences of all devices.
        rows: this device's B of them.
        distance: ``squared``; ``cos``, 1 - cosine; ``snr``; ``contrast``, the only one that reads other rows.
        reduction: ``sum_over_dim``: mean over the sentences (of ``squared``: summed over the dimensions);
            ``sum``: over the N sentences of all devices, estimated from this device's share;
            ``mean``: ``sum_over_dim`` divided by D for ``squared``, by N for ``contrast``.

    Returns:
        Scalar, at least float32. Its mean over devices equals the loss of one device with all N sentences.

    Raises:
        ValueError: an unknown distance or reduction.

    Source:
        Nishimwe, Sagot, Bawden 2024: a sum over sentences and dimensions, but the released trainer divides the
        gradient by the number of sentences, which is ``sum_over_dim``.
    """
    _check(distance, reduction)
    dtype = torch.promote_types(student.dtype, torch.float32)
    with torch.autocast(student.device.type, enabled=False):
        student, teacher = student.to(dtype), teacher.to(dtype)
        right = teacher[rows]
        if distance == "squared":
            distances, terms = squared_distance(student, right), student.size(1)
        elif distance == "cos":
            distances, terms = 1 - pairwise_cos_sim(student, right), 1
        elif distance == "snr":
            distances, terms = signal_to_noise(student, right), 1
        else:
            distances, terms = in_batch_contrast(student, teacher, rows=rows), len(teacher)
        factor = {"sum_over_dim": 1.0, "sum": float(len(teacher)), "mean": 1 / terms}[reduction]
        return distances.mean() * factor


def _check(distance: str, reduction: str) -> None:
    for option, value, choices in [("distance", distance, DISTANCES), ("reduction", reduction, REDUCTIONS)]:
        if value not in choices:
            raise ValueError(f"recipe.loss.{option}={value}: expected one of {', '.join(choices)}")


@dataclass(frozen=True)
class Distillation:
    """``distillation`` with its options, checked at construction."""

    distance: str
    reduction: str

    def __post_init__(self) -> None:
        _check(self.distance, self.reduction)

    def __call__(self, student: Tensor, teacher: Tensor, *, rows: slice) -> Tensor:
        """The loss of this device's sentences; arguments as in ``distillation``."""
        return distillation(student, teacher, rows=rows, distance=self.distance, reduction=self.reduction)
