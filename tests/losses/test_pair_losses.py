"""Losses of labelled pairs against paper and pencil, their properties, and sentence-transformers."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from xsent.losses import Contrastive, CoSent, PairLoss

LOSSES = [Contrastive(margin=0.5, hard_pairs=False), Contrastive(margin=0.5, hard_pairs=True), CoSent(scale=20.0)]


def pairs_at(*degrees: float) -> tuple[Tensor, Tensor]:
    """Pairs of unit vectors of the plane with these angles between them."""
    angle = torch.tensor(degrees, dtype=torch.float64).deg2rad()
    return torch.tensor([[1.0, 0.0]], dtype=torch.float64).repeat(len(angle), 1), torch.stack(
        [angle.cos(), angle.sin()], dim=1
    )


def random_pairs(pairs: int = 32) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    source, noise = torch.randn(2, pairs, 6, dtype=torch.float64, generator=generator)
    return source, source + noise, torch.randint(2, (pairs,), generator=generator)


def test_contrastive_is_half_the_square_of_the_distance_or_of_what_it_lacks_to_the_margin() -> None:
    # Distances 1/2 (label 1), 1/2 (label 0, 0.3 short of the margin) and 1 (label 0, far enough).
    loss = Contrastive(margin=0.8, hard_pairs=False)(*pairs_at(60, 60, 90), torch.tensor([1, 0, 0]))
    assert loss.item() == pytest.approx((0.5**2 + 0.3**2) / 2 / 3, rel=1e-9)


def test_hard_pairs_are_those_on_the_wrong_side_of_a_pair_of_the_other_label() -> None:
    # Distances of label 1: 0 and 1, of label 0: 1/2 and 3/2. Hard are 1 > 1/2, and 1/2 < 1.
    sides, label = pairs_at(0, 90, 60, 120), torch.tensor([1, 1, 0, 0])
    loss = Contrastive(margin=2.0, hard_pairs=True)(*sides, label)
    assert loss.item() == pytest.approx((1 + 1.5**2) / 2 / 4, rel=1e-9)


@pytest.mark.parametrize("label", [0, 1])
def test_in_a_batch_of_one_label_all_pairs_are_hard(label: int) -> None:
    source, target, _ = random_pairs()
    labels = torch.full((len(source),), label)
    hard, every = (Contrastive(margin=0.5, hard_pairs=hard)(source, target, labels) for hard in (True, False))
    torch.testing.assert_close(hard, every)


def test_cosent_compares_every_pair_of_label_1_with_every_one_of_label_0() -> None:
    # Cosines of label 1: 0 and 1, of label 0: 1/2. The differences are 1/2 and -1/2, at scale 2 1 and -1.
    loss = CoSent(scale=2.0)(*pairs_at(90, 0, 60), torch.tensor([1, 1, 0]))
    assert loss.item() == pytest.approx(math.log(1 + math.e + 1 / math.e), rel=1e-9)


@pytest.mark.parametrize("label", [0, 1])
def test_cosent_of_one_label_has_loss_0_and_gradient_0(label: int) -> None:
    source, target, _ = random_pairs()
    source.requires_grad_()
    loss = CoSent(scale=20.0)(source, target, torch.full((len(source),), label))
    (gradient,) = torch.autograd.grad(loss, source)
    assert loss.item() == 0
    assert gradient.abs().max() == 0


@pytest.mark.parametrize("loss", LOSSES)
def test_the_order_of_pairs_and_of_their_sides_and_the_length_of_vectors_change_nothing(loss: PairLoss) -> None:
    source, target, label = random_pairs()
    order = torch.randperm(len(label), generator=torch.Generator().manual_seed(1))
    expected = loss(source, target, label)
    assert expected > 0
    torch.testing.assert_close(loss(source[order], target[order], label[order]), expected)
    torch.testing.assert_close(loss(target, source, label), expected)
    torch.testing.assert_close(loss(3 * source, 0.5 * target, label), expected)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_down_the_gradient_draws_label_1_together_and_pushes_label_0_apart(loss: PairLoss) -> None:
    source, target = pairs_at(40, 20)  # the paraphrase is farther apart than the other pair
    source.requires_grad_()
    (gradient,) = torch.autograd.grad(loss(source, target, torch.tensor([1, 0])), source)
    before, after = (torch.cosine_similarity(side, target) for side in (source, source - 1e-3 * gradient))
    assert after[0] > before[0]
    assert after[1] < before[1]


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_those_of_finite_differences(loss: PairLoss) -> None:
    source, target, label = random_pairs(6)
    sides = (source.requires_grad_(), target.requires_grad_())
    assert torch.autograd.gradcheck(lambda x, y: loss(x, y, label), sides)


@pytest.mark.parametrize("loss", LOSSES)
def test_half_precision_is_compared_in_float32_and_zero_vectors_give_finite_gradients(loss: PairLoss) -> None:
    vectors = torch.cat([torch.eye(4), -torch.eye(4), torch.zeros(1, 4)]).bfloat16()
    sides = vectors.clone().requires_grad_(), vectors.flip(0).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = loss(*sides, torch.arange(9) % 2)
    assert value.dtype == torch.float32
    assert all(torch.isfinite(gradient).all() for gradient in torch.autograd.grad(value, sides))


class Vectors(nn.Module):
    """A model of sentence-transformers that gives the vectors that it gets."""

    def forward(self, features: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return features


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "loss", "factor"),
    [
        ("ContrastiveLoss", {"margin": 0.5}, LOSSES[0], 1.0),
        ("OnlineContrastiveLoss", {"margin": 0.5}, LOSSES[1], 2.0 * 32),  # it adds up whole squares
        ("CoSENTLoss", {"scale": 20.0}, LOSSES[2], 1.0),
    ],
)
def test_value_and_gradient_equal_those_of_sentence_transformers(
    name: str, options: dict[str, Any], loss: PairLoss, factor: float
) -> None:
    losses = pytest.importorskip("sentence_transformers.sentence_transformer.losses")
    source, target, label = random_pairs()
    sides = (source.requires_grad_(), target.requires_grad_())
    expected = getattr(losses, name)(Vectors(), **options)([{"sentence_embedding": side} for side in sides], label)
    value = factor * loss(*sides, label)
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(torch.autograd.grad(value, sides), torch.autograd.grad(expected, sides))
