"""Reconstruction: R2 of linear maps between spaces whose relation is known."""

import pytest
import torch
from torch import Tensor

from tests.evaluation.builders import builder
from xsent.data.readers.tatoeba import TestBitext
from xsent.evaluation.evaluator import score_spaces
from xsent.evaluation.similarity.reconstruction import ReconstructionEvaluator
from xsent.evaluation.suite import Suite

PAIRS = TestBitext("deu-eng", "deu", "eng", [f"deu {i}" for i in range(1000)], [f"eng {i}" for i in range(1000)])
DIM = 8

make_evaluator = builder(
    ReconstructionEvaluator, name="reconstruction", test_share=0.25, penalties=[0.01, 1.0, 100.0], seed=1
)


def spaces() -> dict[str, Tensor]:
    """Original vectors, all of them turned and shifted, the first half of their dimensions, and noise."""
    generator = torch.Generator().manual_seed(0)
    original, noise = torch.randn(2, 2000, DIM, generator=generator)
    turned = original @ torch.linalg.qr(torch.randn(DIM, DIM, generator=generator)).Q + 3
    return {"original": original, "meaning": turned, "half": original[:, : DIM // 2], "noise": noise}


@pytest.mark.parametrize("in_suite", [False, True])
def test_r2_is_the_share_of_the_variance_that_a_linear_map_gives_back(in_suite: bool) -> None:
    evaluator = make_evaluator(PAIRS)
    scored = score_spaces(Suite(name="suite", members={"": evaluator}) if in_suite else evaluator, spaces())
    r2 = {tuple(name.split("/")[1:3]): value for name, value in scored.metrics.items()}
    # An affine map of full rank hides nothing, whatever it does to cosines.
    assert r2["meaning", "original"] == pytest.approx(1, abs=1e-6)
    assert r2["original", "meaning"] == pytest.approx(1, abs=1e-6)
    # Half of the dimensions, all of one variance, tell nothing about the other half.
    assert r2["half", "original"] == pytest.approx(0.5, abs=0.05)
    assert r2["original", "half"] == pytest.approx(1, abs=1e-6)
    assert r2["noise", "original"] == pytest.approx(0, abs=0.05)


def test_the_metrics_have_the_names_that_are_announced() -> None:
    evaluator = make_evaluator(PAIRS)
    assert sorted(score_spaces(evaluator, spaces()).metrics) == sorted(evaluator.metric_names_between(list(spaces())))


def test_vectors_of_one_space_are_refused() -> None:
    with pytest.raises(ValueError, match=r"there is only original: give a run of recipe=oracle"):
        score_spaces(make_evaluator(PAIRS), {"original": torch.randn(2000, DIM)})
