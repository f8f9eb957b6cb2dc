"""Cosine similarity by paper and pencil."""

import math

import torch

from xsent.similarity import cos_sim, pairwise_cos_sim, unit


def test_cosines_of_three_known_angles() -> None:
    a = torch.tensor([[2.0, 0.0]])
    b = torch.tensor([[1.0, 0.0], [3.0, 3.0], [0.0, 5.0]])
    torch.testing.assert_close(cos_sim(a, b), torch.tensor([[1.0, math.sqrt(0.5), 0.0]]))


def test_row_by_row_is_the_diagonal_of_every_pair() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(5, 3), torch.randn(5, 3)
    torch.testing.assert_close(pairwise_cos_sim(a, b), cos_sim(a, b).diagonal())


def test_a_zero_vector_has_cosine_0_with_everything_and_a_finite_gradient() -> None:
    zero = torch.zeros(1, 3, requires_grad=True)
    similarity = cos_sim(zero, torch.ones(2, 3))
    (gradient,) = torch.autograd.grad(similarity.sum(), zero)
    assert similarity.tolist() == [[0.0, 0.0]]
    assert torch.isfinite(gradient).all()
    assert unit(zero).tolist() == [[0.0, 0.0, 0.0]]
