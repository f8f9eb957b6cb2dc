"""The hinge of mega-batches against paper and pencil."""

import math

import pytest
import torch
from torch import Tensor

from tests.losses.ranking import masks_of_own, pairs_alone
from xsent.batch import RankingMasks
from xsent.losses import MegaBatchMargin


def at(*degrees: float) -> Tensor:
    """Unit vectors of the plane at these angles; cosines are those of the differences."""
    angle = torch.tensor(degrees, dtype=torch.float64).deg2rad()
    return torch.stack([angle.cos(), angle.sin()], dim=1)


def masks(anchor_owns: list[list[int]], positive_owns: list[list[int]]) -> RankingMasks:
    of_anchor, of_positive = torch.tensor(anchor_owns) > 0, torch.tensor(positive_owns) > 0
    pairs = len(anchor_owns)
    return RankingMasks(~torch.eye(pairs, dtype=torch.bool), of_anchor, of_positive, ~of_anchor & ~of_positive)


def test_matches_a_hand_computed_pair_with_negatives_of_both_sides() -> None:
    # The anchor at 0, its positive at 60: cos 1/2. Its negatives at 90 (cos 0) and -60 (cos 1/2, the nearest); the
    # positive's at 150 (cos 0). 0.4 - 0.5 + 0.5 and 0.4 - 0.5 + 0, which is below 0.
    ownership = masks([[1, 1, 0]], [[0, 0, 1]])
    loss = MegaBatchMargin(0.4)(at(0), at(60), at(90, -60, 150), ownership, rows=slice(0, 1))
    assert loss.item() == pytest.approx(0.4, abs=1e-12)
    # A wider margin is missed by the positive's negative, too: (0.8 - 0.5 + 0.5) + (0.8 - 0.5 + 0).
    loss = MegaBatchMargin(0.8)(at(0), at(60), at(90, -60, 150), ownership, rows=slice(0, 1))
    assert loss.item() == pytest.approx(1.1, abs=1e-12)


def test_a_side_without_negatives_adds_nothing_and_the_mean_is_over_all_pairs() -> None:
    # Pair 0 has one negative, of its anchor alone; pair 1 has none: (0.4 - 0.5 + 0.5) / 2.
    loss = MegaBatchMargin(0.4)(at(0, 0), at(60, 60), at(-60), masks([[1], [0]], [[0], [0]]), rows=slice(0, 2))
    assert loss.item() == pytest.approx(0.2, abs=1e-12)


def test_other_pairs_and_their_negatives_play_no_part() -> None:
    torch.manual_seed(0)
    x, y, hard = torch.randn(5, 4), torch.randn(5, 4), torch.randn(5, 4)
    ownership = masks_of_own(torch.arange(5), 5)
    loss = MegaBatchMargin(0.4)
    batch_loss = loss(x, y, hard, ownership, rows=slice(0, 5))
    alone = masks_of_own(torch.tensor([0]), 1)
    pair_losses = [loss(x[i : i + 1], y[i : i + 1], hard[i : i + 1], alone, rows=slice(0, 1)) for i in range(5)]
    assert batch_loss > 0
    torch.testing.assert_close(batch_loss, torch.stack(pair_losses).mean())


def test_a_batch_without_hard_negatives_has_loss_0_and_gradient_0() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    none, ownership = pairs_alone(x)
    loss = MegaBatchMargin(margin=0.4)(x, x + 1, none, ownership, rows=slice(0, 3))
    (gradient,) = torch.autograd.grad(loss, x)
    assert loss.item() == 0
    assert gradient.abs().max() == 0


def test_gradients_are_those_of_finite_differences() -> None:
    generator = torch.Generator().manual_seed(0)
    x, y, hard = (torch.randn(n, 3, dtype=torch.float64, generator=generator).requires_grad_() for n in (4, 4, 6))
    ownership = masks_of_own(torch.tensor([0, 1, 1, 1, 2, 3]), 4)
    mine = RankingMasks(*(mask[1:] for mask in ownership))
    loss = MegaBatchMargin(margin=1.5)
    assert loss(x, y, hard, mine, rows=slice(1, 4)) > 0
    assert torch.autograd.gradcheck(lambda *sides: loss(*sides, mine, rows=slice(1, 4)), (x, y, hard))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_equal_opposite_and_zero_vectors_give_finite_gradients(dtype: torch.dtype) -> None:
    vectors = torch.cat([torch.eye(4), -torch.eye(4), torch.zeros(1, 4)]).to(dtype)
    x, y, hard = (side.clone().requires_grad_() for side in (vectors, vectors.flip(0), vectors))
    loss = MegaBatchMargin(margin=0.4)(x, y, hard, masks_of_own(torch.arange(9), 9), rows=slice(0, 9))
    assert loss.dtype == torch.float32
    assert all(torch.isfinite(gradient).all() for gradient in torch.autograd.grad(loss, (x, y, hard)))


@pytest.mark.parametrize("margin", [-0.1, 2.0, math.nan])
def test_a_margin_out_of_range_is_refused_by_name_when_the_loss_is_made(margin: float) -> None:
    with pytest.raises(ValueError, match=r"recipe\.loss\.margin=.*expected cosine units, at least 0 and less than 2"):
        MegaBatchMargin(margin=margin)
