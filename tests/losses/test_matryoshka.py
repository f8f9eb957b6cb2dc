"""Matryoshka loss: equal to the plain loss, or to the sum of two by hand, in value and gradient; wrong sizes."""

import math
from functools import partial

import pytest
import torch
from torch import Tensor

from xsent.config_checks import UsageError
from xsent.losses import additive_margin_softmax, check_prefixes, matryoshka

softmax = partial(additive_margin_softmax, margin=0.3, scale=10.0)


def vectors() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(5, 8, generator=generator, requires_grad=True) for _ in range(2))
    return a, b


def gradients(loss: Tensor, *of: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss, of)


@pytest.mark.parametrize("dims", [None, [8]])
def test_the_full_size_alone_is_the_plain_loss_bit_for_bit(dims: list[int] | None) -> None:
    a, b = vectors()
    plain, loss = softmax(a, b), matryoshka(softmax, a, b, dims=dims)
    assert torch.equal(loss, plain)
    for gradient, expected in zip(gradients(loss, a, b), gradients(plain, a, b), strict=True):
        assert torch.equal(gradient, expected)


def test_two_sizes_are_the_sum_of_two_losses() -> None:
    a, b = (x.detach().double().requires_grad_() for x in vectors())
    short = [x[:, :3] / x[:, :3].norm(dim=1, keepdim=True) for x in (a, b)]
    by_hand = softmax(a, b) + softmax(*short)
    loss = matryoshka(softmax, a, b, dims=[8, 3])
    torch.testing.assert_close(loss, by_hand, rtol=1e-12, atol=0)
    for gradient, expected in zip(gradients(loss, a, b), gradients(by_hand, a, b), strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-10, atol=1e-12)


def test_a_prefix_has_length_one_before_the_loss() -> None:
    # (3, 4, 12) / 13 against (4, 3, 12) / 13; their prefixes of size 2 are (3, 4) / 5 and (4, 3) / 5. Squared
    # distances: 2 / 169 and 2 / 25.
    a, b = torch.tensor([[3.0, 4.0, 12.0]]).double() / 13, torch.tensor([[4.0, 3.0, 12.0]]).double() / 13
    loss = matryoshka(lambda x, y: (x - y).square().sum(), a, b, dims=[3, 2])
    assert math.isclose(loss.item(), 2 / 169 + 2 / 25, rel_tol=1e-12)


def test_the_numbers_after_a_prefix_get_no_gradient_from_it() -> None:
    a, b = vectors()
    (gradient,) = gradients(matryoshka(softmax, a, b, dims=[3]), a)
    assert gradient[:, :3].abs().min() > 0
    assert not gradient[:, 3:].any()


@pytest.mark.parametrize("dims", [[], [8, 8], [8, 0], [9, 8], [8, 2.5], [8, True], "8", 8])
def test_sizes_that_are_no_prefixes_are_refused(dims: object) -> None:
    with pytest.raises(UsageError, match=r"^recipe\.matryoshka=.*: expected different sizes from 1 to 8, that of the"):
        check_prefixes(dims, 8)  # type: ignore[arg-type]


def test_numbers_that_no_prefix_reaches_are_refused() -> None:
    check_prefixes([4, 8], 8)
    with pytest.raises(UsageError, match=r"\[4, 2\]: expected 8, .*; the numbers after 4 would not .*encoder\.dim=4"):
        check_prefixes([4, 2], 8)
