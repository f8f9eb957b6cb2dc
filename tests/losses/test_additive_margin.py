"""Translation ranking against paper and pencil."""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F

from xsent.losses import additive_margin_softmax


def test_matches_a_hand_computed_two_pair_case() -> None:
    # Orthogonal pairs: cos is 1 on the diagonal, 0 elsewhere; margin 0.5 leaves 0.5 against 0.
    eye = torch.eye(2)
    loss = additive_margin_softmax(eye, eye, margin=0.5, scale=2.0)
    torch.testing.assert_close(loss, torch.tensor(math.log(1 + math.exp(-2.0 * 0.5))), rtol=1e-6, atol=0)


def test_without_margin_it_is_the_softmax_over_scaled_cosines() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(5, 7, dtype=torch.float64), torch.randn(5, 7, dtype=torch.float64)
    cosines = F.cosine_similarity(a[:, None], b[None], dim=-1)
    expected = -(20 * cosines).log_softmax(dim=1).diagonal().mean()
    torch.testing.assert_close(additive_margin_softmax(a, b, margin=0.0, scale=20.0), expected)


def test_a_candidate_of_the_same_group_is_no_negative() -> None:
    # Pairs 0 and 1 share a sentence; without the mask candidate 1 would beat anchor 0's positive.
    a = torch.eye(3, dtype=torch.float64)
    groups = torch.tensor([4, 4, 7])
    loss = additive_margin_softmax(a, a, margin=0.0, scale=1.0, groups=groups, candidate_groups=groups)
    one_rival, two_rivals = math.log(1 + math.exp(-1)), math.log(1 + 2 * math.exp(-1))
    assert loss.item() == pytest.approx((2 * one_rival + two_rivals) / 3, rel=1e-12)


def test_a_shard_with_its_offset_gives_its_share_of_the_whole() -> None:
    torch.manual_seed(0)
    a, b, groups = torch.randn(6, 4), torch.randn(6, 4), torch.tensor([0, 1, 1, 2, 3, 0])
    loss = partial(additive_margin_softmax, margin=0.3, scale=10.0, candidate_groups=groups)
    expected = loss(a, b, groups=groups)
    shards = [loss(a[i : i + 2], b, offset=i, groups=groups[i : i + 2]) for i in (0, 2, 4)]
    torch.testing.assert_close(torch.stack(shards).mean(), expected)


def test_a_batch_of_one_group_has_no_loss_and_no_nan() -> None:
    a, groups = torch.randn(3, 4, requires_grad=True), torch.zeros(3, dtype=torch.int64)
    loss = additive_margin_softmax(a, a, margin=0.3, scale=10.0, groups=groups, candidate_groups=groups)
    (gradient,) = torch.autograd.grad(loss, a)
    assert loss.item() == 0
    assert torch.isfinite(gradient).all()


def test_too_few_candidates_are_an_error_with_both_numbers() -> None:
    with pytest.raises(ValueError, match="need 5 candidates, got 4"):
        additive_margin_softmax(torch.eye(4)[:3], torch.eye(4), margin=0.0, scale=1.0, offset=2)
