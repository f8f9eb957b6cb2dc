"""The distillation losses against the reference's numbers and paper and pencil."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from xsent.losses import Distillation


@pytest.fixture
def reference(fixtures_dir: Path) -> dict[str, Any]:
    return json.loads((fixtures_dir / "rolaser.json").read_text(encoding="utf-8"))


def loss_of(student: Tensor, teacher: Tensor, distance: str, reduction: str) -> float:
    rows = slice(0, len(student))
    return Distillation(distance, reduction)(student, teacher, rows=rows).item()


def test_every_variant_is_that_of_the_released_criterion(reference: dict[str, Any]) -> None:
    case = reference["distillation"]
    student, teacher = (torch.tensor(case["inputs"][side], dtype=torch.float64) for side in ("student", "teacher"))
    released = case["mse_sum"]["released"]
    assert loss_of(student, teacher, "squared", "sum") == pytest.approx(released, abs=1e-8)
    per_sentence = case["mse_sum_div_sentences(what fairseq logs and what the gradient is scaled by)"]
    assert loss_of(student, teacher, "squared", "sum_over_dim") == pytest.approx(per_sentence, abs=1e-8)
    assert loss_of(student, teacher, "squared", "mean") == pytest.approx(case["mse_mean_over_all_elements"], abs=1e-8)
    assert loss_of(student, teacher, "cos", "sum") == pytest.approx(case["cos_sum"]["released"], abs=1e-8)
    assert loss_of(student, teacher, "snr", "sum") == pytest.approx(case["snr_sum"]["released"], abs=1e-8)
    contrast = case["cos_contrast_sum(all B*B pairs, margin 0)"]["released_arithmetic"]
    assert loss_of(student, teacher, "contrast", "sum") == pytest.approx(contrast, abs=1e-8)


def test_the_triplet_loss_is_that_of_the_reference(reference: dict[str, Any]) -> None:
    case = reference["validation_triplet"]
    teacher, standard, noisy = (
        torch.tensor(case["inputs"][side], dtype=torch.float64)
        for side in ("teacher_std", "student_std", "student_ugc")
    )
    measure = Distillation("squared", "sum_over_dim")
    of_standard, of_noisy = (measure(side, teacher, rows=slice(0, len(teacher))) for side in (standard, noisy))
    assert of_standard.item() * len(teacher) == pytest.approx(case["std_term_sum"], abs=1e-8)
    assert of_noisy.item() * len(teacher) == pytest.approx(case["ugc_term_sum"], abs=1e-8)
    assert (of_standard + of_noisy).item() == pytest.approx(case["loss_per_sentence"], abs=1e-8)


def test_matches_a_hand_computed_sentence() -> None:
    # (1, 0) and (0, 2): differences 1 and 2, a right angle, a teacher of length 2.
    student, teacher = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 2.0]])
    assert loss_of(student, teacher, "squared", "sum") == 5
    assert loss_of(student, teacher, "squared", "mean") == 2.5
    assert loss_of(student, teacher, "cos", "sum") == 1
    assert loss_of(student, teacher, "snr", "sum") == pytest.approx(math.sqrt(5) / 2)
    # With another row whose teacher points where the first student does: 1 of its own and 1 of the other.
    both = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    row = Distillation("contrast", "sum_over_dim")(student, both, rows=slice(0, 1))
    assert row.item() == 2


def test_mean_divides_by_what_was_summed() -> None:
    torch.manual_seed(0)
    student, teacher = torch.randn(5, 8), torch.randn(5, 8)
    squared = loss_of(student, teacher, "squared", "sum")
    assert squared == pytest.approx(5 * loss_of(student, teacher, "squared", "sum_over_dim"), rel=1e-6)
    assert squared == pytest.approx(5 * 8 * loss_of(student, teacher, "squared", "mean"), rel=1e-6)
    contrast = loss_of(student, teacher, "contrast", "sum")
    assert contrast == pytest.approx(5 * 5 * loss_of(student, teacher, "contrast", "mean"), rel=1e-6)


@pytest.mark.parametrize("distance", ["squared", "cos", "snr", "contrast"])
@pytest.mark.parametrize("reduction", ["sum_over_dim", "sum", "mean"])
def test_the_average_over_devices_is_the_loss_of_one_device(distance: str, reduction: str) -> None:
    torch.manual_seed(0)
    student = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    teacher = torch.randn(6, 4, dtype=torch.float64)
    loss = Distillation(distance, reduction)
    single = loss(student, teacher, rows=slice(0, 6))
    halves = [loss(student[part], teacher, rows=part) for part in (slice(0, 3), slice(3, 6))]
    average = torch.stack(halves).mean()
    torch.testing.assert_close(average, single)
    expected, gradient = (torch.autograd.grad(value, student, retain_graph=True)[0] for value in (single, average))
    assert expected.abs().sum() > 0
    torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize("distance", ["squared", "cos", "snr", "contrast"])
def test_gradients_are_those_of_finite_differences(distance: str) -> None:
    torch.manual_seed(0)
    student = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    teacher = torch.randn(3, 4, dtype=torch.float64)
    loss = Distillation(distance, "sum")
    assert torch.autograd.gradcheck(lambda x: loss(x, teacher, rows=slice(0, 3)), (student,))


def test_half_precision_is_compared_in_float32() -> None:
    student, teacher = torch.randn(4, 8).bfloat16(), torch.randn(4, 8)
    for distance in ("squared", "cos", "snr", "contrast"):
        loss = Distillation(distance, "sum_over_dim")(student, teacher, rows=slice(0, 4))
        assert loss.dtype == torch.float32


def test_unknown_options_are_refused_when_the_loss_is_made() -> None:
    with pytest.raises(ValueError, match=r"recipe\.loss\.distance=l1: expected one of squared, cos, snr, contrast"):
        Distillation("l1", "mean")
    with pytest.raises(ValueError, match=r"recipe\.loss\.reduction=avg: expected one of sum_over_dim, sum, mean"):
        Distillation("cos", "avg")
