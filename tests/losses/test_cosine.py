"""Cosines in few passes against cosines by the book, in value and gradient."""

from functools import partial

import pytest
import torch
from torch import Tensor

from xsent.batch import Parts
from xsent.losses import additive_margin_softmax, meat_terms, oracle_terms
from xsent.losses.cosine import PAIRS, row_cosines, sum_of_cosines
from xsent.losses.dream import dream_terms, with_half_batch, with_partners
from xsent.losses.oracle import VARIANTS

paper = partial(oracle_terms, variant="paper", same_language=True)


def by_the_book(a: Tensor, b: Tensor) -> Tensor:
    return (a / a.norm(dim=-1, keepdim=True) * (b / b.norm(dim=-1, keepdim=True))).sum(dim=-1)


def doubles(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_row_cosines_equal_those_by_the_book_in_value_and_gradient() -> None:
    a, b = (x.requires_grad_() for x in doubles(2, 6, 5).unbind())
    weight = torch.arange(1.0, 7.0, dtype=torch.float64)
    cosines, expected = row_cosines(a, b), by_the_book(a, b)
    torch.testing.assert_close(cosines, expected)
    for x, y in zip(
        torch.autograd.grad(cosines @ weight, (a, b)), torch.autograd.grad(expected @ weight, (a, b)), strict=True
    ):
        assert y.abs().max() > 0
        torch.testing.assert_close(x, y)


def test_a_3_4_vector_has_cosine_three_fifths_with_the_first_axis() -> None:
    cosines = row_cosines(torch.tensor([[3.0, 4.0], [2.0, 0.0]]), torch.tensor([[7.0, 0.0], [-1.0, 0.0]]))
    torch.testing.assert_close(cosines, torch.tensor([0.6, -1.0]))


def test_a_zero_row_has_cosine_0_and_gradient_0_and_leaves_the_others_alone() -> None:
    a = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    b = torch.tensor([[1.0, 0.0], [1.0, 0.0]], requires_grad=True)
    cosines = row_cosines(a, b)
    cosines.sum().backward()
    torch.testing.assert_close(cosines.detach(), torch.tensor([0.0, 0.6]))
    assert a.grad is not None
    assert b.grad is not None
    assert a.grad[0].tolist() == [0.0, 0.0]
    # (b - cos a / |a|) / |a| = ((1, 0) - 0.6 (0.6, 0.8)) / 5
    torch.testing.assert_close(a.grad[1], torch.tensor([0.128, -0.096]))


def test_only_the_side_that_asks_for_a_gradient_gets_one() -> None:
    a, b = torch.randn(3, 2, requires_grad=True), torch.randn(3, 2)
    row_cosines(a, b).sum().backward()
    assert a.grad is not None
    assert b.grad is None


def test_half_precision_is_compared_in_float32() -> None:
    a, b = torch.randn(4, 8), torch.randn(4, 8)
    cosines = row_cosines(a.bfloat16(), b)
    assert cosines.dtype == torch.float32
    torch.testing.assert_close(cosines, by_the_book(a.bfloat16().float(), b))


def test_cosines_within_labels_add_up_as_in_the_matrix_of_all_pairs() -> None:
    x, label = doubles(7, 3), torch.tensor([0, 2, 2, 0, 2, 4, 0])
    x[3] = 0
    cosines = torch.nn.functional.cosine_similarity(x[:, None], x[None], dim=-1)
    total, diagonal = sum_of_cosines(x, label, 5)
    torch.testing.assert_close(total, cosines[label[:, None] == label[None]].sum())
    assert diagonal.item() == 6  # the zero row has cosine 0 with itself too


# ---- gradients of whole losses against finite differences


READINGS = [
    *(("paper", pairs, same_language) for pairs in PAIRS for same_language in (True, False)),
    *((variant, PAIRS[0], True) for variant in VARIANTS),
]


@pytest.mark.parametrize(("variant", "pairs", "same_language"), READINGS)
def test_oracle_gradients_are_those_of_finite_differences(variant: str, pairs: str, same_language: bool) -> None:
    lang = torch.tensor([0, 1, 0, 2, 1])

    def loss(*x: Tensor) -> Tensor:
        sides = Parts(x[0], x[1]), Parts(x[2], x[3])
        return sum(oracle_terms(*sides, lang, lang, variant=variant, pairs=pairs, same_language=same_language))

    assert torch.autograd.gradcheck(loss, [x.requires_grad_() for x in doubles(4, 5, 3).unbind()])


@pytest.mark.parametrize("half_batch", [True, False])
def test_dream_gradients_are_those_of_finite_differences(half_batch: bool) -> None:
    lang, embeddings = torch.tensor([0, 1, 0, 2, 1]), doubles(5, 3)
    meaning, language = torch.tensor([1, 2, 3, 4, 0]), torch.tensor([2, 4, 0, 3, 1])

    def side(m: Tensor, p: Tensor) -> tuple[Parts, Tensor, Tensor, Tensor]:
        return Parts(m, p), embeddings, p, lang  # the language embedding serves as its own logits

    def loss(*x: Tensor) -> Tensor:
        sides = [side(x[0], x[1]), side(x[2], x[3])]
        if half_batch:
            return sum(dream_terms(*(with_half_batch(*side) for side in sides)))
        return sum(dream_terms(*(with_partners(*side, meaning=meaning, language=language) for side in sides)))

    assert torch.autograd.gradcheck(loss, [x.requires_grad_() for x in doubles(4, 5, 3).unbind()])


def test_meat_gradients_are_those_of_finite_differences() -> None:
    embeddings = doubles(2, 5, 3)

    def loss(*x: Tensor) -> Tensor:
        return sum(meat_terms(Parts(x[0], x[1]), Parts(x[2], x[3]), *embeddings, x[0], x[2]))

    assert torch.autograd.gradcheck(loss, [x.requires_grad_() for x in doubles(4, 5, 3).unbind()])


def test_ranking_gradients_are_those_of_finite_differences() -> None:
    groups = torch.tensor([0, 1, 1, 2])

    def loss(anchor: Tensor, candidates: Tensor) -> Tensor:
        return additive_margin_softmax(
            anchor, candidates, margin=0.3, scale=4.0, offset=1, groups=groups[1:3], candidate_groups=groups
        )

    a, b = doubles(2, 3).requires_grad_(), doubles(4, 3).requires_grad_()
    assert torch.autograd.gradcheck(loss, (a, b))


# ---- readings of equation (5)


@pytest.mark.parametrize("n", [2, 5, 11])
def test_with_the_diagonal_the_scatter_is_n_minus_1_nths_of_that_without(n: int) -> None:
    source, target = Parts(*doubles(2, n, 4)), Parts(*doubles(2, n, 4).flip(0))
    lang = torch.zeros(n, dtype=torch.int64)
    without, with_diagonal = (
        paper(source, target, lang, lang, pairs=pairs, same_language=False).intra_class
        for pairs in ("off_diagonal", "with_diagonal")
    )
    torch.testing.assert_close(with_diagonal, without * (n - 1) / n)


def test_a_pair_alone_in_its_language_does_not_move_the_scatter() -> None:
    language, lang = doubles(5, 3), torch.tensor([0, 1, 0, 1, 7])
    parts = Parts(language, language)
    for pairs in ("off_diagonal", "cyclic"):
        all_five = paper(parts, parts, lang, lang, pairs=pairs)
        four = Parts(language[:4], language[:4])
        without = paper(four, four, lang[:4], lang[:4], pairs=pairs)
        torch.testing.assert_close(all_five.intra_class, without.intra_class)


def test_a_batch_of_one_pair_has_scatter_0_and_gradient_0() -> None:
    language = torch.randn(1, 3, requires_grad=True)
    parts, lang = Parts(torch.randn(1, 3), language), torch.zeros(1, dtype=torch.int64)
    for pairs in ("off_diagonal", "cyclic"):
        terms = paper(parts, parts, lang, lang, pairs=pairs)
        (gradient,) = torch.autograd.grad(terms.intra_class, language)
        assert terms.intra_class.item() == 0
        assert gradient.tolist() == [[0.0, 0.0, 0.0]]
