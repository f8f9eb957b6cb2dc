"""Word alignment of documents: against all paths of the model, by hand, and properties."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from xsent.models.alignment.document_aligner import REACH, DocumentAligner

OPTIONS: dict[str, Any] = {
    "null_cosine": 0.5,
    "temperature": 0.1,
    "leave": 0.2,
    "stay": 0.7,
    "jump": 0.05,
    "spread": 1.5,
    "window": 1,
    "max_words": 100,
}


def aligner(**changes: Any) -> DocumentAligner:
    return DocumentAligner(**{**OPTIONS, **changes})


def links_by_all_paths(emissions: np.ndarray, model: DocumentAligner) -> np.ndarray:
    """The probability of each link, as a sum over all sequences of states."""
    length, positions = emissions.shape
    norm = sum(np.exp(-abs(offset) / model.spread) for offset in range(-REACH, REACH + 1))

    def move(before: int, after: int) -> float:
        offset = after - before - 1
        near = np.exp(-abs(offset) / model.spread) / norm if abs(offset) <= REACH else 0.0
        return float((1 - model.jump) * near + model.jump / positions)

    totals, everything = np.zeros((length, positions)), 0.0
    for path in product(product(range(positions), (True, False)), repeat=length):
        weight = 1 / positions
        for row, (position, matched) in enumerate(path):
            if row == 0:
                enter_null = model.leave
            else:
                before, was_matched = path[row - 1]
                enter_null = model.leave if was_matched else model.stay
                weight *= move(before, position) if matched else float(before == position)
            weight *= (1 - enter_null) * emissions[row, position] if matched else enter_null
        everything += weight
        for row, (position, matched) in enumerate(path):
            totals[row, position] += weight * matched
    return totals / everything


@pytest.mark.parametrize(("length", "positions"), [(1, 1), (1, 3), (4, 2), (3, 3)])
def test_links_are_the_sum_over_all_paths(length: int, positions: int) -> None:
    emissions = np.exp(np.random.default_rng(length).normal(size=(length, positions)))
    model = aligner()
    np.testing.assert_allclose(model.links(emissions), links_by_all_paths(emissions, model), rtol=1e-5, atol=1e-6)


def test_steps_beyond_the_reach_need_a_jump() -> None:
    emissions = np.exp(np.random.default_rng(0).normal(size=(2, REACH + 4)))
    model = aligner()
    np.testing.assert_allclose(model.links(emissions), links_by_all_paths(emissions, model), rtol=1e-5, atol=1e-6)


def test_a_single_pair_of_words_is_a_matter_of_their_cosine() -> None:
    # cos = null_cosine: both states are equally likely, so the prior 1 - leave decides in both directions. 0.8 is
    # matched, and of it 0.8 is the way back.
    source, target = aligner().align(np.array([[1.0, 0.0]], np.float32), np.array([[0.5, 0.75**0.5]], np.float32))
    assert source.unmatched == pytest.approx([1 - 0.8 * 0.8])
    assert target.unmatched == pytest.approx([1 - 0.8 * 0.8])


def words(*numbers: int) -> np.ndarray:
    """Orthogonal vectors; equal words have cosine 1. Word -1 is unknown."""
    return np.stack(
        [np.eye(40, dtype=np.float32)[number] if number >= 0 else np.zeros(40, np.float32) for number in numbers]
    )


def test_added_words_have_no_counterpart_and_the_others_do() -> None:
    source, target = aligner().align(words(*range(20)), words(*range(10), 30, 31, 32, *range(10, 20)))
    assert source.unmatched.max() < 0.1
    assert target.unmatched[10:13].min() > 0.9
    assert np.delete(target.unmatched, [10, 11, 12]).max() < 0.1
    assert source.counterpart.tolist() == [*range(10), *range(13, 23)]


def test_a_moved_passage_is_no_difference() -> None:
    source, target = aligner().align(words(*range(24)), words(*range(12, 24), *range(12)))
    assert max(source.unmatched.max(), target.unmatched.max()) < 0.2
    assert source.counterpart.tolist() == [*range(12, 24), *range(12)]


def test_a_repeated_passage_is_an_addition() -> None:
    # Every word of the target has a match with cosine 1, but 12 of its words are on the source side once.
    source, target = aligner().align(words(*range(24)), words(*range(24), *range(12)))
    assert source.unmatched.max() < 0.75
    assert target.unmatched.sum() > 8
    assert target.unmatched[12:24].max() < 0.2


def test_both_sides_are_treated_alike() -> None:
    rng = np.random.default_rng(3)
    first, second = (rng.normal(size=(size, 8)).astype(np.float32) for size in (9, 7))
    first, second = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (first, second))
    forward, backward = aligner().align(first, second), aligner().align(second, first)
    for one_way, other_way in zip(forward, backward[::-1], strict=True):
        np.testing.assert_array_equal(one_way.unmatched, other_way.unmatched)


def test_an_unknown_word_is_judged_by_its_neighbours() -> None:
    source, _ = aligner().align(words(0, 1, -1, 3, 4), words(0, 1, -1, 3, 4))
    assert source.unmatched[2] < 0.5
    source, _ = aligner().align(words(0, 1, 20, -1, 21, 3, 4), words(0, 1, 3, 4))
    assert source.unmatched[3] > 0.5


def test_identical_long_documents_stay_finite() -> None:
    rows = np.tile(words(*range(40)), (10, 1))
    source, target = aligner(max_words=400, temperature=0.01).align(rows, rows)
    assert np.isfinite(source.unmatched).all()
    assert np.isfinite(target.unmatched).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"jump": 0.0}, r"aligner\.jump=0\.0: expected a probability between 0 and 1"),
        ({"leave": 1.0}, r"aligner\.leave=1\.0: expected a probability between 0 and 1"),
        ({"temperature": 0.0}, r"aligner\.temperature=0\.0: expected a number above 0"),
        ({"window": -1}, r"aligner\.window"),
        ({"max_words": 0}, r"aligner\.max_words"),
    ],
)
def test_options_out_of_range_are_errors(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        aligner(**change)


def test_a_document_that_is_too_long_is_an_error() -> None:
    with pytest.raises(
        ValueError, match=r"^a document of 3 words: expected at most 2 \(aligner\.max_words\); split both"
    ):
        aligner(max_words=2).align(words(0), words(0, 1, 2))
