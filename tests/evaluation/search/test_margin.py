"""Margin scores, xSIM and Tatoeba accuracy: reference numbers, and cases by hand."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.evaluation.builders import builder
from xsent.data.readers.tatoeba import TestBitext
from xsent.evaluation.noise.scoring import cosine_distances
from xsent.evaluation.retrieval.evaluator import RetrievalEvaluator
from xsent.evaluation.search.exact import Neighbours, knn, knn_both
from xsent.evaluation.search.margin import answers, best_neighbours, best_targets, margin_scores, pair_margins
from xsent.similarity import cos_sim


@pytest.fixture(scope="module")
def xy(reference: dict[str, Any]) -> tuple[Tensor, Tensor]:
    return tuple(torch.tensor(reference["inputs"][side], dtype=torch.float64) for side in "xy")


@pytest.mark.parametrize("margin", ["ratio", "distance", "absolute"])
def test_margin_scores_equal_the_reference(reference: dict[str, Any], xy: tuple[Tensor, Tensor], margin: str) -> None:
    cosines = cos_sim(*xy)
    a = torch.tensor(reference["mean_knn_cos_x"], dtype=torch.float64)
    b = torch.tensor(reference["mean_knn_cos_y"], dtype=torch.float64)
    torch.testing.assert_close(cosines.topk(4, dim=1).values.mean(dim=1), a, rtol=0, atol=1e-8)
    expected = torch.tensor(reference["scores"][margin], dtype=torch.float64)
    positive = (a[:, None] + b[None]) > 0
    result = margin_scores(cosines, a[:, None], b[None], margin)
    torch.testing.assert_close(result[positive], expected[positive], rtol=0, atol=1e-8)


@pytest.mark.parametrize("candidates", ["knn", "all"])
@pytest.mark.parametrize("margin", ["ratio", "distance", "absolute"])
def test_predictions_equal_those_of_the_release(
    reference: dict[str, Any], xy: tuple[Tensor, Tensor], margin: str, candidates: str
) -> None:
    forward, _ = best_targets(*xy, margin=margin, k=4, candidates=candidates)
    expected = reference["xsim"][margin]
    key = "released_prediction" if candidates == "knn" else "prediction_if_all_targets_are_candidates"
    assert forward.rows.tolist() == expected[key]


xsim = builder(
    RetrievalEvaluator, name="xsim", metric="error", margin="ratio", k=4, candidates="knn", comparison="index"
)


def make_evaluator(target: list[str], **changes: Any) -> RetrievalEvaluator:
    return xsim(TestBitext("deu-eng", "deu", "eng", [f"source {i}" for i in range(20)], target), **changes)


def score(evaluator: RetrievalEvaluator, x: Tensor, y: Tensor, target: list[str]) -> dict[str, float]:
    vector_of = {f"source {i}": row for i, row in enumerate(x)}
    # The duplicates of the reference have different vectors, so they need different texts.
    vector_of |= dict(zip(target, y, strict=True))
    return evaluator.score(torch.stack([vector_of[text] for text in evaluator.sentences()])).metrics


@pytest.mark.parametrize("margin", ["ratio", "distance", "absolute"])
def test_xsim_equals_the_release(reference: dict[str, Any], xy: tuple[Tensor, Tensor], margin: str) -> None:
    target = [f"target {i}" for i in range(20)]
    metrics = score(make_evaluator(target, margin=margin), *xy, target)
    assert metrics["xsim/deu-eng/error"] == pytest.approx(100 * reference["xsim"][margin]["released_errors"] / 20)


def test_textual_comparison_counts_a_line_with_the_same_text_as_right(
    reference: dict[str, Any], xy: tuple[Tensor, Tensor]
) -> None:
    lines = reference["xsim_textual_duplicates"]["target_lines"]
    forward, _ = best_targets(*xy, margin="ratio", k=4, candidates="knn")
    evaluator = make_evaluator(lines, comparison="textual")
    assert sum(evaluator._errors(forward, lines)) == reference["xsim_textual_duplicates"]["released_errors"]


def test_tatoeba_accuracy_equals_the_reference_in_both_directions(
    reference: dict[str, Any], xy: tuple[Tensor, Tensor]
) -> None:
    target = [f"target {i}" for i in range(20)]
    tatoeba = make_evaluator(target, metric="accuracy", margin="absolute", k=1)
    metrics = score(tatoeba, *xy, target)
    expected = reference["tatoeba"]
    assert metrics["xsim/deu-eng/accuracy"] == pytest.approx(expected["accuracy_x_to_y_percent"])
    assert metrics["xsim/eng-deu/accuracy"] == pytest.approx(expected["accuracy_y_to_x_percent"])
    assert metrics["xsim/deu/accuracy"] == metrics["xsim/mean/accuracy"] == pytest.approx(expected["average"])
    assert knn(*xy, 1).rows.squeeze(1).tolist() == expected["prediction_x_to_y"]


def test_average_cosine_distance_equals_the_reference(reference: dict[str, Any], xy: tuple[Tensor, Tensor]) -> None:
    assert float(cosine_distances(*xy).mean()) == pytest.approx(reference["average_pairwise_cosine_distance"], abs=1e-8)


def test_the_identity_has_ratio_4_and_distance_three_quarters_at_k_4() -> None:
    # With X = Y = I and k = 4 = n every neighbourhood is 1/4.
    eye = torch.eye(4)
    for margin, expected in [("ratio", 4.0), ("distance", 0.75), ("absolute", 1.0)]:
        forward, back = best_targets(eye, eye, margin=margin, k=4, candidates="knn")
        assert forward.scores.tolist() == pytest.approx([expected] * 4)
        assert forward.rows.tolist() == back.rows.tolist() == [0, 1, 2, 3]


def test_a_constant_encoder_is_right_once_and_its_ties_are_reported() -> None:
    # All vectors are equal: the lowest row wins, which is right for the first sentence only.
    target = [f"target {i}" for i in range(20)]
    evaluator = make_evaluator(target, metric="accuracy", margin="absolute", k=1)
    result = evaluator.score(torch.ones(40, 3))
    assert result.metrics["xsim/deu-eng/accuracy"] == pytest.approx(5.0)
    assert [row["tied"] for row in result.details] == [1.0, 1.0]


def test_identical_sentences_are_both_right() -> None:
    # The first two targets are the same line: both are right.
    target = ["same", "same", *(f"target {i}" for i in range(18))]
    evaluator = make_evaluator(target, metric="accuracy", margin="absolute", k=1, comparison="textual")
    rows = {text: number for number, text in enumerate(dict.fromkeys(target))}
    vectors = torch.stack(
        [
            torch.eye(19)[rows[target[int(text.split()[1])] if text.startswith("source") else text]]
            for text in evaluator.sentences()
        ]
    )
    assert evaluator.score(vectors).metrics["xsim/deu-eng/accuracy"] == 100


@pytest.mark.parametrize(
    ("option", "value"),
    [("margin", "ration"), ("candidates", "any"), ("comparison", "text"), ("metric", "f1"), ("k", 0)],
)
def test_invalid_options_are_errors(option: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"evaluator.{option}={value}"):
        make_evaluator([], **{option: value})


# ---- of neighbours that were searched before, and of known pairs


def test_margins_average_only_existing_neighbours() -> None:
    # The first row has two neighbours, the second one, the third none.
    inf = float("inf")
    neighbours = Neighbours(
        torch.tensor([[0.8, 0.4], [0.6, -inf], [-inf, -inf]], dtype=torch.float64),
        torch.tensor([[1, 0], [0, -1], [-1, -1]]),
    )
    back = Neighbours(torch.tensor([[0.6, 0.4], [0.8, -inf]], dtype=torch.float64), torch.tensor([[1, 0], [0, -1]]))
    forward, backward = best_neighbours(neighbours, back, margin="distance", k=2)
    # A = 0.6, 0.6, none; B = 0.5, 0.8. Row 0: 0.8 - (0.6 + 0.8) / 2 = 0.1 beats 0.4 - 0.55.
    torch.testing.assert_close(forward.scores, torch.tensor([0.1, 0.05, -inf], dtype=torch.float64))
    assert forward.rows.tolist() == [1, 0, 0]
    torch.testing.assert_close(backward.scores, torch.tensor([0.05, 0.1], dtype=torch.float64))
    assert backward.rows.tolist() == [1, 0]


@pytest.mark.parametrize("margin", ["absolute", "distance", "ratio"])
@pytest.mark.parametrize("k", [1, 4])
def test_best_neighbours_equal_best_targets(tied_xy: tuple[Tensor, Tensor], margin: str, k: int) -> None:
    expected = best_targets(*tied_xy, margin=margin, k=k, candidates="knn")
    result = best_neighbours(*knn_both(*tied_xy, max(k, 2)), margin=margin, k=k)
    for row, expected_row in zip(result, expected, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(row, expected_row, strict=True))


SOURCE = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
TARGET = torch.tensor([[2.0, 0.0], [0.6, 0.8]])  # cosines 1 and 0.6; 0 and 0.8


@pytest.mark.parametrize(
    ("margin", "expected"),
    [
        ("absolute", [1.0, 0.8]),
        # Mean cosines of both neighbours: 0.8 and 0.4 of the sources, 0.5 and 0.7 of the targets.
        ("distance", [1 - 0.65, 0.8 - 0.55]),
        ("ratio", [1 / 0.65, 0.8 / 0.55]),
    ],
)
def test_margins_by_hand(margin: str, expected: list[float]) -> None:
    result = pair_margins(SOURCE, TARGET, (SOURCE, TARGET), margin=margin, k=2)
    assert result.tolist() == pytest.approx(expected)


def test_more_candidates_change_the_neighbourhood() -> None:
    # With the first target twice among the candidates the first source has two neighbours of cosine 1.
    around = (SOURCE, torch.cat([TARGET, TARGET[:1]]))
    result = pair_margins(SOURCE, TARGET, around, margin="ratio", k=2)
    assert result.tolist() == pytest.approx([1 / ((1 + 0.5) / 2), 0.8 / 0.55])


def test_k_above_the_number_of_candidates_uses_all() -> None:
    around = (SOURCE, TARGET)
    two, four = (pair_margins(SOURCE, TARGET, around, margin="ratio", k=k).tolist() for k in (2, 4))
    assert two == four


# ---- margin gaps


@pytest.mark.parametrize("candidates", ["knn", "all"])
def test_the_gap_is_the_right_score_less_the_best_wrong_one(candidates: str) -> None:
    # Cosines of the query at 0 degrees: its translation is at 60 (0.5), others at 30 and at 90.
    def at(*degrees: float) -> Tensor:
        angles = torch.tensor(degrees, dtype=torch.float64).deg2rad()
        return torch.stack([angles.cos(), angles.sin()], dim=1)

    forward, backward = answers(at(0, 30, 90), at(60, 30, 90), margin="absolute", k=2, candidates=candidates)
    root = math.sqrt(3) / 2
    assert forward.gaps() == pytest.approx([0.5 - root, 1 - root, 1 - root], abs=1e-6)
    assert backward.gaps() == pytest.approx([0.5 - root, 1 - root, 1 - 0.5], abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.sampled_from(["absolute", "distance", "ratio"]),
    st.booleans(),
)
def test_with_all_candidates_the_gap_is_above_zero_where_the_answer_is_right(
    seed: int, k: int, margin: str, textual: bool
) -> None:
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(5, 3, generator=rng).abs()
    y = torch.cat([x + 0.3 * torch.randn(5, 3, generator=rng).abs(), torch.rand(2, 3, generator=rng)])
    texts = ["a", "b", "a", "c", "d", "b", "e"]
    for row, text in enumerate(texts):  # equal texts have equal vectors
        y[row] = y[texts.index(text)] if textual else y[row]
    forward, _ = answers(x, y, margin=margin, k=k, candidates="all")
    gaps = forward.gaps(texts if textual else None)
    rows = forward.best.rows.tolist()
    is_right = [texts[row] == texts[query] if textual else row == query for query, row in enumerate(rows)]
    is_clear = abs(gaps) > 1e-9
    assert ((gaps > 0) == is_right)[is_clear].all()


def test_without_a_wrong_answer_there_is_no_gap() -> None:
    one = torch.ones(1, 2)
    forward, _ = answers(one, one, margin="ratio", k=4, candidates="knn")
    assert math.isnan(forward.gaps()[0])
    pool = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    forward, _ = answers(pool[:2], pool, margin="absolute", k=2, candidates="knn")
    # Both neighbours have the text of the right answer: the wrong one is beyond them.
    assert forward.gaps(["a", "a", "a", "b"]).tolist() == [1, 1]
    assert math.isnan(forward.gaps(["a"] * 4)[0])
