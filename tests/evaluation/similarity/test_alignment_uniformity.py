"""Alignment and uniformity against the reference, brute force and closed forms."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.evaluation.builders import builder
from xsent.data.readers.tatoeba import TestBitext
from xsent.evaluation.similarity import alignment_uniformity
from xsent.evaluation.similarity.alignment_uniformity import AlignmentUniformityEvaluator, align, uniform


@pytest.fixture(scope="module")
def reference(fixtures_dir: Path) -> dict[str, Any]:
    return json.loads((fixtures_dir / "align_uniform.json").read_text())


def test_both_equal_the_reference(reference: dict[str, Any]) -> None:
    x, y = (torch.tensor(reference["inputs"][side], dtype=torch.float64) for side in "xy")
    assert align(x, y, alpha=2) == pytest.approx(reference["align_alpha2"]["released"], abs=1e-8)
    assert align(x, y, alpha=1) == pytest.approx(reference["align_alpha1"]["released"], abs=1e-8)
    assert uniform(x, t=2) == pytest.approx(reference["uniform_x"]["released"], abs=1e-8)
    assert uniform(y, t=2) == pytest.approx(reference["uniform_y"]["released"], abs=1e-8)
    assert uniform(torch.cat([x, y]), t=2) == pytest.approx(reference["uniform_concat(x;y)"], abs=1e-8)


def test_extreme_values() -> None:
    # Squared distances: 0 of equal points, 4 of opposite ones, 2 of unit vectors along axes.
    assert uniform(torch.ones(50, 7), t=2) == pytest.approx(0, abs=1e-8)
    assert uniform(torch.tensor([[1.0, 0.0], [-3.0, 0.0]]), t=2) == pytest.approx(-8, abs=1e-8)
    for dim in (2, 5, 40):
        assert uniform(torch.eye(dim), t=2) == pytest.approx(-4, abs=1e-8)
    # A narrow kernel does not underflow, and one point has no uniformity.
    assert uniform(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), t=1000) == pytest.approx(-4000)
    assert math.isnan(uniform(torch.ones(1, 3), t=2))


def test_alignment_is_two_less_twice_the_mean_cosine() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(30, 9), torch.randn(30, 9)
    assert align(x, y, alpha=2) == pytest.approx(2 - 2 * F.cosine_similarity(x, y).mean().item(), abs=1e-6)
    assert align(x, 5 * x, alpha=2) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("tile", [1, 4, 7, 1024])
@pytest.mark.parametrize("n", [2, 7, 29])
def test_tiles_equal_the_matrix_of_all_distances(monkeypatch: pytest.MonkeyPatch, tile: int, n: int) -> None:
    monkeypatch.setattr(alignment_uniformity, "TILE", tile)
    torch.manual_seed(n)
    x = torch.randn(n, 5, dtype=torch.float64)
    expected = torch.pdist(F.normalize(x)).square().mul(-2).exp().mean().log().item()
    assert uniform(x, t=2) == pytest.approx(expected, abs=1e-10)


make_evaluator = builder(AlignmentUniformityEvaluator, name="au", alpha=2, t=2)


def test_metrics_of_each_side_and_their_mean() -> None:
    # German: two axes, -4. English: two opposite points, -8. Distances of translations: 0 and 2.
    vectors = {"eins": (1, 0), "zwei": (0, 1), "one": (1, 0), "two": (-1, 0), "un": (1, 0), "deux": (-1, 0)}
    german = TestBitext("deu-eng", "deu", "eng", ["eins", "zwei"], ["one", "two"])
    french = TestBitext("fra-eng", "fra", "eng", ["un", "deux"], ["one", "two"])
    evaluator = make_evaluator(german, french)
    result = evaluator.score(torch.tensor([vectors[text] for text in evaluator.sentences()], dtype=torch.float32))
    assert result.metrics == pytest.approx(
        {
            "au/deu/align": 1,
            "au/deu-eng/uniform": -4,
            "au/eng-deu/uniform": -8,
            "au/deu/uniform": -6,
            "au/fra/align": 0,
            "au/fra-eng/uniform": -8,
            "au/eng-fra/uniform": -8,
            "au/fra/uniform": -8,
            "au/mean/align": 0.5,
            "au/mean/uniform": -7,
        }
    )
    assert [row["direction"] for row in result.details] == ["deu-eng", "eng-deu", "fra-eng", "eng-fra"]


@pytest.mark.parametrize(("option", "value"), [("alpha", 0), ("t", -1)])
def test_a_parameter_out_of_range_is_an_error(option: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"evaluator.{option}={value}"):
        make_evaluator(**{option: value})
