"""xSIM++ against the reference numbers."""

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.evaluation.builders import builder
from xsent.evaluation.retrieval.xsimpp import XsimppEvaluator
from xsent.evaluation.search.margin import best_targets


@dataclass(frozen=True)
class Augmented:
    source: list[str]
    target: list[str]
    augmented: list[str]
    made_from: dict[str, tuple[str, str]]
    source_lang: str = "deu"
    target_lang: str = "eng"
    name: str = field(default="deu-eng")


make_evaluator = builder(XsimppEvaluator, name="xsimpp", margin="ratio", k=4, candidates="knn")


def test_errors_predictions_and_report_equal_the_release(reference: dict[str, Any]) -> None:
    expected = reference["xsim_plus_plus"]
    x, y, augmented = (
        torch.tensor(rows, dtype=torch.float64)
        for rows in (reference["inputs"]["x"], reference["inputs"]["y"], expected["augmented_y"])
    )
    pool = torch.cat([y, augmented])
    forward, _ = best_targets(x, pool, margin="ratio", k=4, candidates="knn")
    assert forward.rows.tolist() == expected["prediction_index_into_concat(y,augmented)"]

    target = [f"target {i}" for i in range(20)]
    negatives = [f"negative {i}" for i in range(30)]
    made_from = {
        text: (target[owner], kind)
        for text, owner, kind in zip(negatives, expected["augmented_owner"], expected["augmented_errtype"], strict=True)
    }
    evaluator = make_evaluator(Augmented([f"source {i}" for i in range(20)], target, negatives, made_from))
    vector_of = {f"source {i}": row for i, row in enumerate(x)} | dict(zip(target + negatives, pool, strict=True))
    result = evaluator.score(torch.stack([vector_of[text] for text in evaluator.sentences()]))
    assert result.metrics["xsimpp/deu/error"] == pytest.approx(100 * expected["errors"] / 20)
    for kind, n in expected["released_report"].items():
        name = "misaligned" if kind == "Misaligned" else kind
        assert result.metrics[f"xsimpp/deu/{name}"] == pytest.approx(100 * n / 20)
        assert result.metrics[f"xsimpp/mean/{name}"] == pytest.approx(100 * n / 20)
    (row,) = result.details
    assert (row["queries"], row["pool"], row["comparison"], row["direction"]) == (20, 50, "textual", "deu-eng")


def axes(*rows: int) -> Tensor:
    return torch.eye(6)[list(rows)]


SET = Augmented(
    ["s0", "s1", "s2", "s3"], ["t0", "t1", "t2", "t3"], ["n0", "n1"], {"n0": ("t0", "number"), "n1": ("t1", "entity")}
)


def score(evaluator: XsimppEvaluator, rows: dict[str, int]) -> dict[str, float]:
    return evaluator.score(axes(*(rows[text] for text in evaluator.sentences()))).metrics


def test_a_negative_of_another_sentence_counts_as_misaligned() -> None:
    # s0 finds its own negative, s1 that of t0, s2 its translation, s3 the translation of s2.
    rows = {"t0": 0, "t1": 1, "t2": 2, "t3": 3, "n0": 4, "n1": 5, "s0": 4, "s1": 4, "s2": 2, "s3": 2}
    metrics = score(make_evaluator(SET, margin="absolute", k=1), rows)
    assert metrics["xsimpp/deu/error"] == 75
    assert metrics["xsimpp/deu/number"] == 25
    assert metrics["xsimpp/deu/entity"] == 0  # no such error
    assert metrics["xsimpp/deu/misaligned"] == 50


def test_the_mean_pools_sentences_not_languages() -> None:
    # 1 of 1 and 1 of 4 wrong are 2 of 5.
    small = Augmented(["f0"], ["t0"], SET.augmented, SET.made_from, source_lang="fra")
    rows = {"t0": 0, "t1": 1, "t2": 2, "t3": 3, "n0": 4, "n1": 5, "s0": 4, "s1": 1, "s2": 2, "s3": 3, "f0": 5}
    metrics = score(make_evaluator(SET, small, margin="absolute", k=1), rows)
    assert (metrics["xsimpp/deu/error"], metrics["xsimpp/fra/error"]) == (25, 100)
    assert metrics["xsimpp/mean/error"] == pytest.approx(40)


def test_a_translation_with_the_same_text_is_right() -> None:
    twins = Augmented(["s0", "s1"], ["same", "same"], ["n0"], {"n0": ("same", "number")})
    metrics = score(make_evaluator(twins, margin="absolute", k=1), {"same": 0, "n0": 1, "s0": 0, "s1": 0})
    assert metrics["xsimpp/deu/error"] == 0


@pytest.mark.parametrize(
    ("option", "value"), [("margin", "ration"), ("candidates", "any"), ("missing", "skip"), ("k", 0)]
)
def test_invalid_options_are_errors(option: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"evaluator.{option}={value}"):
        make_evaluator(SET, **{option: value})
