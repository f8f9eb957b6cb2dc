"""CLSD evaluator: P@1, pivot, truncated candidates, tables."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from tests.evaluation.builders import Items, builder
from xsent.evaluation.clsd import tables
from xsent.evaluation.clsd.base import CandidateScores, score_candidates
from xsent.evaluation.clsd.evaluator import ClsdEvaluator
from xsent.evaluation.evaluator import score_spaces


class NoPivot:
    device = "cpu"

    def check(self, sets: Sequence[Items]) -> None: ...

    def __call__(self, sets: Sequence[Items]) -> Sequence[Items] | None:
        return None

    def made_by(self, clsd: Items) -> str:
        return "capitals"


class English(NoPivot):
    """Pivot that writes all texts in capitals."""

    def __call__(self, sets: Sequence[Items]) -> Sequence[Items] | None:
        return [
            replace(
                items,
                source=[text.upper() for text in items.source],
                target=[text.upper() for text in items.target],
                distractors=[[text.upper() for text in row] for row in items.distractors],
            )
            for items in sets
        ]


def make_evaluator(*sets: Items, **changes: Any) -> ClsdEvaluator:
    make = builder(ClsdEvaluator, name="clsd", directions=None, levenshtein=[0, 0.5, 1], jaccard=[0, 0.5, 1])
    evaluator: ClsdEvaluator = make(*sets, **{"pivot": NoPivot(), **changes})
    evaluator.check()
    return evaluator


# Angles in degrees: the nearer to the source at 0, the larger the cosine.
ANGLES = {"s0": 0, "le chat dort": 10, "le chien dort": 20, "le chat mange": 30}
ANGLES |= {"s1": 0, "il pleut": 40, "il neige": 15, "elle pleut": 50}


def at_angles(angles: dict[str, float], sentences: Sequence[str]) -> Tensor:
    turned = torch.tensor([math.radians(angles[text]) for text in sentences])
    return torch.stack([turned.cos(), turned.sin()], dim=1)


# ---- score_candidates


def test_right_answers_equal_those_of_the_released_notebook(fixtures_dir: Path) -> None:
    fixture = json.loads((fixtures_dir / "clsd.json").read_text())
    inputs = {name: torch.tensor(values) for name, values in fixture["inputs"].items()}
    result = score_candidates(inputs["S"], [inputs["T"], *inputs["D"].unbind(dim=1)])
    np.testing.assert_allclose(result.cosines[:, 0], fixture["cos_S_T"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result.cosines[:, 1:], fixture["cos_S_D"], rtol=1e-5, atol=1e-6)
    assert result.right.astype(int).tolist() == fixture["correct"]
    # Two items have a distractor with the translation's direction, one of twice its length; another distractor wins.
    assert result.cosines[3, 0] == result.cosines[3, 3]
    assert result.cosines[5, 0] == result.cosines[5, 1]
    assert not result.tied.any()


@pytest.mark.parametrize("position", range(5))
def test_a_distractor_with_the_vector_of_the_translation_is_a_tie_at_any_position(position: int) -> None:
    generator = torch.Generator().manual_seed(0)
    source = torch.randn(64, 321, generator=generator)
    target = source + 0.1 * torch.randn(64, 321, generator=generator)
    distractors = [torch.randn(64, 321, generator=generator) for _ in range(5)]
    distractors[position] = 2 * target  # exactly twice as long: no rounding differs
    result = score_candidates(source, [target, *distractors])
    for scores in (result, score_candidates(torch.ones(3, 4), [torch.ones(3, 4)] * 3)):  # also if all are equal
        assert scores.tied.all()
        assert not scores.right.any()


def test_vectors_of_half_precision_are_compared_in_single_precision() -> None:
    source = torch.tensor([[1.0, 0.0]]).half()
    target, distractor = torch.tensor([[1.0, 0.02]]).half(), torch.tensor([[1.0, 0.03]]).half()
    # 1 / sqrt(1 + 0.0004) and 1 / sqrt(1 + 0.0009) are both 1 in half precision, whose steps below 1 are 0.0005.
    assert (F.normalize(target) * source).sum() == (F.normalize(distractor) * source).sum() == 1
    result = score_candidates(source, [target, distractor])
    assert result.cosines.dtype == np.float32
    assert result.right.tolist() == [True]


def test_only_the_last_bucket_includes_its_upper_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MEASURES", {"jaccard": lambda translation, distractor: float(distractor)})
    items = Items(target=["t"] * 5, distractors=[["0"], ["0.5"], ["0.99"], ["1"], ["nan"]])
    scores = CandidateScores(np.zeros((5, 2), dtype=np.float32), np.zeros(5, dtype=np.int64))
    sets = [tables.SetScores(tables.ScoredSet(items, scores, None, 0), None)]
    counted = tables.error_buckets(sets, {"jaccard": [0, 0.5, 1]})
    assert [(bucket.bucket, bucket.errors) for bucket in counted] == [("0_to_0.5", 1), ("0.5_to_1", 3)]


# ---- the evaluator


def test_the_share_of_items_whose_translation_is_nearest() -> None:
    scored = make_evaluator(Items()).score(at_angles(ANGLES, make_evaluator(Items()).sentences()))
    # "il neige" at 15 degrees beats "il pleut" at 40.
    assert scored.metrics["clsd/toy_deu-fra/p_at_1"] == 50
    assert scored.metrics["clsd/toy_deu-fra/ties"] == 0
    assert scored.metrics["clsd/mean/p_at_1"] == 50
    assert scored.metrics["clsd/fra/errors"] == 1
    # Of "il pleut" and "il neige" 1 of 3 words is shared, and 2 x 4 of 16 characters ("il ", "e") stay.
    assert scored.metrics["clsd/fra/jaccard_0_to_0.5"] == 100
    assert scored.metrics["clsd/fra/levenshtein_0.5_to_1"] == 100
    first, second = scored.tables["clsd_items"]
    assert (first["id"], first["right"], first["nearest_distractor"]) == ("7", 1, "le chien dort")
    assert (second["right"], second["nearest"], second["nearest_distractor"]) == (0, 1, "il neige")
    assert second["cosine"] == pytest.approx(math.cos(math.radians(40)))
    assert scored.details[0]["pool"] == 3


def test_the_mean_is_over_sets_whatever_their_size() -> None:
    single = Items(
        name="one", ids=["0"], source=["s0"], target=["le chat dort"], distractors=[["le chien dort", "il neige"]]
    )
    several = make_evaluator(Items(), single)
    metrics = several(lambda sentences: at_angles(ANGLES | {"il neige": 15}, sentences))
    assert metrics["clsd/one_deu-fra/p_at_1"] == 100
    assert metrics["clsd/mean/p_at_1"] == 75
    assert metrics["clsd/fra/errors"] == 1


def test_a_pivot_counts_items_that_are_right_in_only_one_of_both_languages() -> None:
    both = make_evaluator(Items(), pivot=English())
    turned = {text.upper(): angle for text, angle in ANGLES.items()} | {"IL PLEUT": 1.0, "LE CHIEN DORT": 3.0}
    scored = both.score(at_angles(ANGLES | turned, both.sentences()))
    metrics = scored.metrics
    assert (metrics["clsd/toy_deu-fra/p_at_1"], metrics["clsd/toy_deu-fra/pivot_p_at_1"]) == (50, 50)
    assert (metrics["clsd/toy_deu-fra/only_direct"], metrics["clsd/fra/only_pivot"]) == (1, 1)
    first, second = scored.tables["clsd_disagreements"]
    assert (first["id"], first["right"], first["pivot_nearest_distractor"]) == ("7", "direct", "LE CHIEN DORT")
    assert (second["id"], second["right"], second["pivot_translation"]) == ("8", "pivot", "IL PLEUT")
    assert [row["pivot_right"] for row in scored.tables["clsd_items"]] == [0, 1]
    assert [row["way"] for row in scored.details] == ["direct", "pivot"]


class TruncatingEncoder:
    """Encoder with a maximum length of eight characters."""

    def truncated(self, sentences: Sequence[str]) -> NDArray[np.bool_]:
        return np.array([len(text) > 8 for text in sentences])


def test_truncated_candidates_are_counted_if_the_encoder_reports_them() -> None:
    evaluator = make_evaluator(Items())
    vectors = at_angles(ANGLES, evaluator.sentences())
    assert math.isnan(evaluator.score(vectors).metrics["clsd/toy_deu-fra/truncated"])
    truncating = make_evaluator(Items())
    truncating.bind_encoder(TruncatingEncoder())
    scored = truncating.score(vectors)
    # All three candidates of the first item, and "elle pleut" of the second one.
    assert scored.metrics["clsd/toy_deu-fra/truncated"] == 4
    assert [row["truncated"] for row in scored.tables["clsd_items"]] == [3, 1]
    truncating.bind_encoder(object())  # another encoder, without `truncated`
    assert math.isnan(truncating.score(vectors).metrics["clsd/toy_deu-fra/truncated"])


def test_rows_of_a_table_have_a_column_for_their_space() -> None:
    evaluator = make_evaluator(Items())
    scored = score_spaces(evaluator, {"meaning": at_angles(ANGLES, evaluator.sentences())})
    assert scored.metrics["clsd/meaning/toy_deu-fra/p_at_1"] == 50
    assert {row["space"] for row in scored.tables["clsd_items"]} == {"meaning"}


def test_without_errors_their_shares_are_nan() -> None:
    right = Items(ids=["7"], source=["s0"], target=["le chat dort"], distractors=[["le chien dort"]])
    metrics = make_evaluator(right)(lambda sentences: at_angles(ANGLES, sentences))
    assert metrics["clsd/fra/errors"] == 0
    assert math.isnan(metrics["clsd/fra/jaccard_0_to_0.5"])


@pytest.mark.parametrize("edges", [[0.5], [0, 0.5, 0.5], [1, 0]])
def test_edges_that_do_not_ascend_are_an_error(edges: list[float]) -> None:
    with pytest.raises(ValueError, match=r"evaluator\.jaccard=.*: expected two edges or more, ascending"):
        make_evaluator(jaccard=edges)


def test_difficulty_is_logged_once_for_each_set_of_candidates(caplog: pytest.LogCaptureFixture) -> None:
    again = Items(source_lang="spa", source=["s1", "s0"])  # other queries, the same candidates
    scored = make_evaluator(Items(), again)
    with caplog.at_level("INFO"):
        (row,) = scored.score(at_angles(ANGLES, scored.sentences())).tables["clsd_difficulty"]
    assert (row["set"], row["language"], row["original_jaccard_n"]) == ("toy", "fra", 4)
    # 2 of 4 words twice; 1 of 3 and 1 of 3.
    assert row["original_jaccard_mean"] == pytest.approx((1 / 2 + 1 / 2 + 1 / 3 + 1 / 3) / 4)
    assert sum("Jaccard" in message for message in caplog.messages) == 1
