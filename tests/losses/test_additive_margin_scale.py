"""The additive-margin-scale loss against the reference numbers, paper and pencil, and its neighbours."""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from torch import Tensor

from tests.helpers import ROOT
from tests.losses.ranking import masks_of_own, pairs_alone
from xsent.batch import RankingMasks
from xsent.losses import AdditiveMarginScale, additive_margin_softmax
from xsent.losses.additive_margin_scale import HARD_SETS, MARGIN_KINDS, with_margin
from xsent.run.config.build import build

TOLERANCE: dict[str, Any] = {"rtol": 0, "atol": 1e-8}
OPTIONS: dict[str, Any] = {
    "margin": 0.5,
    "margin_kind": "angular_safe",
    "scale": 20.0,
    "gamma": 1.0,
    "hard_set": "own",
    "bidirectional": False,
}


def make_loss(**changes: Any) -> AdditiveMarginScale:
    return AdditiveMarginScale(**{**OPTIONS, **changes})


CASES = [
    "default_angular_own(s=20,m=0.5,g=1)",
    "printed_values_angular_own(s=0.5,m=0.5,g=1)",
    "angular_all_hard(s=20,m=0.5,g=1)",
    "angular_literal_j!=i(s=20,m=0.5,g=1)",
    "angular_safe_own(s=20,m=0.5,g=1)",
    "angular_nohard(s=20,m=0.5)",
    "gamma0(s=20,m=0.5,g=0)",
    "gamma2(s=20,m=0.5,g=2)",
    "additive_own(s=20,m=0.3,g=1)",
    "plain_infonce(s=20,m=0,no hard)",
    "plain_with_own_hard(s=20,m=0,g=1)",
    "plain_with_all_hard(s=20,m=0,g=1)",
    "literal_cos(cos+m)(s=0.5,m=0.5,g=1)",
]


def masks_of(masks: RankingMasks, rows: slice) -> RankingMasks:
    return RankingMasks(*(mask[rows] for mask in masks))


class Reference:
    """The inputs of the reference: 8 pairs, of which each has up to 3 hard negatives, laid out one after the other."""

    def __init__(self, path: Path) -> None:
        self.expected = json.loads(path.read_text())
        inputs = self.expected["inputs"]
        self.x, self.y, hard = (torch.tensor(inputs[name], dtype=torch.float64) for name in "xyh")
        mask = torch.tensor(inputs["hmask"], dtype=torch.bool)  # (8, 3)
        self.every_hard = hard.flatten(0, 1)
        self.hard, self.owner = hard[mask], mask.nonzero()[:, 0]

    def case(self, name: str) -> dict[str, Any]:
        (case,) = (case for case in self.expected["cases"] if case["name"] == name)
        return case

    def loss(self, case: dict[str, Any], rows: slice) -> Tensor:
        # The reference's "none" is a batch whose data have no hard negatives.
        columns = slice(0, 0) if case["hard_set"] == "none" else slice(None)
        masks = masks_of_own(self.owner[columns], len(self.x))
        loss = make_loss(
            **{name: case[name] for name in ("margin", "scale", "gamma")},
            margin_kind=case["margin_kind"].removeprefix("literal_"),
            hard_set=case["hard_set"].replace("none", "own"),
        )
        return loss(self.x, self.y, self.hard[columns], masks_of(masks, rows), rows=rows)


@pytest.fixture(scope="module")
def reference(fixtures_dir: Path) -> Reference:
    return Reference(fixtures_dir / "paraphrase_losses.json")


def close(value: Tensor, expected: float) -> None:
    torch.testing.assert_close(value, torch.tensor(expected, dtype=value.dtype), **TOLERANCE)


# ---- the reference


def test_the_cases_of_the_reference_are_those_tested_here(reference: Reference) -> None:
    assert [case["name"] for case in reference.expected["cases"]] == CASES


@pytest.mark.parametrize("name", CASES)
def test_every_reading_equals_the_reference_as_a_mean_and_pair_by_pair(reference: Reference, name: str) -> None:
    case = reference.case(name)
    close(reference.loss(case, slice(0, 8)), case["loss"])
    for i, expected in enumerate(case["per_anchor"]):
        close(reference.loss(case, slice(i, i + 1)), expected)


def test_the_margin_in_both_directions_equals_labse_in_the_reference(reference: Reference) -> None:
    expected = reference.expected["bidirectional_additive_margin"]
    none, masks = pairs_alone(reference.x)
    for key, scale in (("scale20_margin0.3", 20.0), ("scale1_margin0.3(LaBSE paper form, no scale)", 1.0)):
        one_way, both = (
            make_loss(margin_kind="additive", margin=0.3, scale=scale, bidirectional=both) for both in (False, True)
        )
        close(one_way(reference.x, reference.y, none, masks, rows=slice(0, 8)), expected[key]["forward"])
        close(one_way(reference.y, reference.x, none, masks, rows=slice(0, 8)), expected[key]["backward"])
        close(both(reference.x, reference.y, none, masks, rows=slice(0, 8)), expected[key]["sum"])


def test_without_a_margin_it_is_the_ranking_loss_of_sentence_transformers(reference: Reference) -> None:
    expected = reference.expected["sentence_transformers_6.2.0"]
    none, alone = pairs_alone(reference.x)
    x, y, rows = reference.x, reference.y, slice(0, 8)
    pairs = make_loss(margin=0.0)(x, y, none, alone, rows=rows)
    close(pairs, expected["MultipleNegativesRankingLoss scale=20, pairs"])
    # That library has a full matrix of candidates: here each pair has 3 negatives, and each is one of all pairs.
    masks = masks_of_own(torch.arange(8).repeat_interleave(3), 8)
    triplets = make_loss(margin=0.0, hard_set="all")(x, y, reference.every_hard, masks, rows=rows)
    close(triplets, expected["MultipleNegativesRankingLoss scale=20, 3 negatives per anchor (unmasked)"])
    both = make_loss(margin=0.0, bidirectional=True)(x, y, none, alone, rows=rows)
    close(both / 2, expected["symmetric (mean of both directions), pairs"])


def test_the_margin_of_every_kind_equals_the_examples(reference: Reference) -> None:
    for example in reference.expected["angular_examples"]:
        cosine = torch.tensor(example["cos"], dtype=torch.float64)
        close(with_margin(cosine, example["margin"], "angular"), example["cos(theta+m)"])
        close(with_margin(cosine, example["margin"], "additive"), example["cos - m"])


def test_the_printed_scale_leaves_a_perfect_encoder_a_loss_of_1_3(reference: Reference) -> None:
    # An anchor on its paraphrase, seven others on the far side.
    x = torch.tensor([[1.0, 0.0]] + 7 * [[-1.0, 0.0]], dtype=torch.float64)
    none, masks = pairs_alone(x)
    first = masks_of(masks, slice(None, 1))
    for scale, key in (
        (0.5, "best_possible_loss_B=8_scale0.5 (cos_pos=1 with margin .5, all negatives cos=-1)"),
        (20.0, "best_possible_loss_B=8_scale20"),
    ):
        loss = make_loss(scale=scale)(x, x, none, first, rows=slice(0, 1))
        close(loss, reference.expected["scale_sanity"][key])


def preset(name: str) -> AdditiveMarginScale:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        options: Any = OmegaConf.to_container(compose(f"recipe/paraphrase/loss/{name}").recipe.loss)
        loss: AdditiveMarginScale = build(options, "loss")
    return loss


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("ams", "angular_safe_own(s=20,m=0.5,g=1)"),
        ("ams_all", "angular_all_hard(s=20,m=0.5,g=1)"),
        ("ams_others", "angular_literal_j!=i(s=20,m=0.5,g=1)"),
        ("paper_literal", "printed_values_angular_own(s=0.5,m=0.5,g=1)"),
        ("in_batch", "plain_infonce(s=20,m=0,no hard)"),
    ],
)
def test_every_preset_is_the_case_of_the_reference_that_it_is_named_after(
    reference: Reference, name: str, case: str
) -> None:
    masks = masks_of_own(reference.owner, 8)
    loss = preset(name)(reference.x, reference.y, reference.hard, masks, rows=slice(0, 8))
    close(loss, reference.case(case)["loss"])


def test_the_preset_additive_margin_is_labse_whatever_hard_negatives_there_are(reference: Reference) -> None:
    masks = masks_of_own(reference.owner, 8)
    loss = preset("additive_margin")(reference.x, reference.y, reference.hard, masks, rows=slice(0, 8))
    close(loss, reference.expected["bidirectional_additive_margin"]["scale20_margin0.3"]["sum"])


# ---- paper and pencil


def test_matches_a_hand_computed_case_of_two_pairs_and_one_hard_negative() -> None:
    # Orthogonal pairs, margin pi/6: cos(0 + pi/6) is sqrt(3)/2 against 0, and for anchor 0 a hard negative at 3/5.
    eye, hard = torch.eye(2, dtype=torch.float64), torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    masks = masks_of_own(torch.tensor([0]), 2)
    p, n, h = math.exp(math.sqrt(3)), 1.0, 3 * math.exp(1.2)
    expected = (-math.log(p / (p + n + h)) - math.log(p / (p + n))) / 2
    loss = make_loss(margin=math.pi / 6, scale=2.0, gamma=3.0)(eye, eye, hard, masks, rows=slice(0, 2))
    torch.testing.assert_close(loss, torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=0)


def test_exchanged_a_pair_meets_the_hard_negatives_of_its_positive() -> None:
    # The positive is at 60 degrees of the anchor; the anchor's negative is orthogonal to it, the positive's own is
    # orthogonal to the positive.
    anchor = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    positive = torch.tensor([[0.5, math.sqrt(3) / 2]], dtype=torch.float64)
    hard = torch.tensor([[0.0, 1.0], [math.sqrt(3) / 2, -0.5]], dtype=torch.float64)
    masks = RankingMasks(
        in_batch=torch.tensor([[False]]),
        hard_of_anchor=torch.tensor([[True, False]]),
        hard_of_positive=torch.tensor([[False, True]]),
        hard_of_others=torch.tensor([[False, False]]),
    )
    loss = make_loss(margin=0.0, scale=2.0, bidirectional=True)(anchor, positive, hard, masks, rows=slice(0, 1))
    torch.testing.assert_close(loss.item(), 2 * math.log(1 + math.exp(-1)), rtol=1e-12, atol=0)


def test_the_guard_makes_the_similarity_fall_with_the_angle_all_the_way() -> None:
    cosine = torch.linspace(-1, 1, 2001, dtype=torch.float64)
    for margin in (0.0, 0.3, 0.5, 1.5):
        safe, plain = with_margin(cosine, margin, "angular_safe"), with_margin(cosine, margin, "angular")
        assert (safe.diff() > 0).all()
        ordinary = cosine > -math.cos(margin)
        torch.testing.assert_close(safe[ordinary], plain[ordinary], rtol=0, atol=0)
    assert (with_margin(cosine, 0.5, "angular").diff() < 0).any()  # which is why there is a guard
    # Opposite vectors: -1 - 0.5 sin(0.5).
    assert with_margin(cosine[:1], 0.5, "angular_safe").item() == pytest.approx(-1.2397127693, abs=1e-9)


# ---- the neighbours


def test_with_an_additive_margin_both_ways_it_is_the_loss_of_labse_in_value_and_gradient() -> None:
    torch.manual_seed(0)
    x, y = (side.requires_grad_() for side in torch.randn(2, 6, 5, dtype=torch.float64))
    group, rows = torch.tensor([0, 1, 1, 2, 3, 0]), slice(2, 5)
    none, masks = pairs_alone(x, group)
    mine = masks_of(masks, rows)
    loss = make_loss(margin_kind="additive", margin=0.3, bidirectional=True)(x, y, none, mine, rows=rows)
    labse = partial(
        additive_margin_softmax, margin=0.3, scale=20.0, offset=2, groups=group[rows], candidate_groups=group
    )
    expected = labse(x[rows], y) + labse(y[rows], x)
    torch.testing.assert_close(loss, expected)
    gradients, expected_gradients = (torch.autograd.grad(value, (x, y)) for value in (loss, expected))
    assert all(gradient.abs().max() > 0 for gradient in expected_gradients)
    torch.testing.assert_close(gradients, expected_gradients)


def test_gamma_0_is_the_loss_without_hard_negatives(reference: Reference) -> None:
    case = reference.case("default_angular_own(s=20,m=0.5,g=1)")
    without = reference.loss({**case, "hard_set": "none"}, slice(0, 8))
    torch.testing.assert_close(reference.loss({**case, "gamma": 0.0}, slice(0, 8)), without, rtol=0, atol=0)


def test_the_parts_of_two_devices_make_the_whole() -> None:
    torch.manual_seed(0)
    x, y, hard = torch.randn(6, 4), torch.randn(6, 4), torch.randn(5, 4)
    masks = masks_of_own(torch.tensor([0, 0, 2, 4, 5]), 6)
    loss = make_loss(hard_set="all", bidirectional=True)
    expected = loss(x, y, hard, masks, rows=slice(0, 6))
    parts = [loss(x, y, hard, masks_of(masks, rows), rows=rows) for rows in (slice(0, 3), slice(3, 6))]
    torch.testing.assert_close(torch.stack(parts).mean(), expected)


# ---- gradients


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("hard_set", HARD_SETS)
@pytest.mark.parametrize("kind", MARGIN_KINDS)
def test_gradients_are_those_of_finite_differences(kind: str, hard_set: str, bidirectional: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    x, y, hard = (torch.randn(n, 3, dtype=torch.float64, generator=generator) for n in (4, 4, 3))
    masks = masks_of_own(torch.tensor([1, 1, 3]), 4)
    mine = masks_of(masks, slice(1, None))
    loss = make_loss(margin=0.4, margin_kind=kind, scale=4.0, gamma=2.0, hard_set=hard_set, bidirectional=bidirectional)
    inputs = [side.requires_grad_() for side in (x, y, hard)]
    assert torch.autograd.gradcheck(lambda *sides: loss(*sides, mine, rows=slice(1, 4)), inputs)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", MARGIN_KINDS)
def test_equal_and_opposite_vectors_give_finite_losses_and_gradients_at_any_scale(
    kind: str, dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    vectors = torch.cat([torch.eye(8), torch.randn(24, 8), torch.zeros(1, 8)]).to(dtype)
    for sign in (1, -1):
        for scale in (0.5, 20.0, 1000.0):
            x, y, hard = (side.clone().requires_grad_() for side in (vectors, sign * vectors, vectors))
            loss = make_loss(margin_kind=kind, scale=scale, hard_set="all", bidirectional=True)
            value = loss(x, y, hard, masks_of_own(torch.arange(33), 33), rows=slice(0, 33))
            assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
            assert torch.isfinite(value)
            for gradient in torch.autograd.grad(value, (x, y, hard)):
                assert torch.isfinite(gradient).all()


def test_a_pair_on_its_end_keeps_the_gradient_that_it_has_beside_it() -> None:
    # A paraphrase one part in a million off its anchor may not be thrown about by rounding: by the chain rule its
    # gradient is at most scale * sin(margin) of a unit vector.
    anchor = torch.randn(1, 64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    for step in (0.0, 1e-7, 1e-6, 1e-4, 1e-2):
        off = anchor.detach() + step * torch.randn(1, 64, generator=torch.Generator().manual_seed(1))
        similarity = with_margin(torch.nn.functional.cosine_similarity(anchor, off), 0.5, "angular_safe")
        (gradient,) = torch.autograd.grad(similarity.sum(), anchor)
        assert (gradient.norm() * anchor.norm()).item() <= 1.05 * math.sin(0.5) + 1e-3


def test_a_pair_without_any_negative_has_loss_0_and_gradient_0() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    none, masks = pairs_alone(x, torch.zeros(3, dtype=torch.int64))
    loss = make_loss(bidirectional=True)(x, x + 1, none, masks, rows=slice(0, 3))
    (gradient,) = torch.autograd.grad(loss, x)
    assert loss.item() == 0
    assert gradient.abs().max() == 0


def test_cosines_are_exact_under_autocast() -> None:
    torch.manual_seed(0)
    x, y, hard = torch.randn(6, 64), torch.randn(6, 64), torch.randn(4, 64)
    masks = masks_of_own(torch.tensor([0, 1, 2, 3]), 6)
    loss = make_loss()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        under = loss(x, y, hard, masks, rows=slice(0, 6))
    torch.testing.assert_close(under, loss(x, y, hard, masks, rows=slice(0, 6)), rtol=0, atol=0)


# ---- options


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"margin_kind": "angle"}, r"recipe\.loss\.margin_kind=angle: expected one of angular, angular_safe"),
        ({"hard_set": "none"}, r"recipe\.loss\.hard_set=none: expected one of own, all, others"),
        ({"margin": 1.6}, r"recipe\.loss\.margin=1\.6: expected radians"),
        ({"margin": -0.1, "margin_kind": "angular"}, r"recipe\.loss\.margin=-0\.1: expected radians"),
        ({"margin": 2.0, "margin_kind": "additive"}, r"recipe\.loss\.margin=2\.0: expected cosine units"),
        ({"margin": math.nan}, r"recipe\.loss\.margin=nan"),
        ({"scale": 0.0}, r"recipe\.loss\.scale=0\.0: expected a number above 0"),
        ({"scale": math.inf}, r"recipe\.loss\.scale=inf"),
        ({"gamma": -1.0}, r"recipe\.loss\.gamma=-1\.0: expected a number, at least 0"),
    ],
)
def test_a_wrong_option_is_refused_by_name_when_the_loss_is_made(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_loss(**wrong)


def test_an_additive_margin_may_be_wider_than_a_right_angle() -> None:
    assert make_loss(margin_kind="additive", margin=1.9).margin == 1.9
