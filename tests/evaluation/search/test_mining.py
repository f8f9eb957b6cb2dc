"""Mining strategies and best threshold: reference pairs, cases by hand, properties."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from xsent.evaluation.search.margin import Best
from xsent.evaluation.search.mining import STRATEGIES, MinedPairs, at_threshold, best_threshold, mine, select_pairs


@pytest.fixture(scope="module")
def xy(reference: dict[str, Any]) -> tuple[Tensor, Tensor]:
    x, y = (torch.tensor(reference["inputs"][side], dtype=torch.float64) for side in "xy")
    augmented = torch.tensor(reference["xsim_plus_plus"]["augmented_y"], dtype=torch.float64)
    return x[:12], torch.cat([y[:10], augmented[:5]])


def best(*entries: tuple[float, int]) -> Best:
    scores, rows = zip(*entries, strict=True)
    return Best(torch.tensor(scores, dtype=torch.float64), torch.tensor(rows), torch.zeros(len(rows), dtype=torch.bool))


def random_best(m: int, n: int, levels: int) -> tuple[Best, Best]:
    """Best rows in both directions of M x N scores with many ties."""
    scores = torch.randint(levels, (m, n)).double()
    return tuple(Best(s.amax(dim=1), s.argmax(dim=1), s.amax(dim=1) < 0) for s in (scores, scores.T))


def triples(pairs: MinedPairs) -> list[tuple[float, int, int]]:
    return list(zip(pairs.scores.tolist(), pairs.source.tolist(), pairs.target.tolist(), strict=True))


@pytest.mark.parametrize(
    ("strategy", "theirs"), [("forward", "fwd"), ("backward", "bwd"), ("intersect", "intersect"), ("max", "max")]
)
def test_every_strategy_gives_the_pairs_of_the_reference(
    reference: dict[str, Any], xy: tuple[Tensor, Tensor], strategy: str, theirs: str
) -> None:
    result = triples(mine(*xy, margin="ratio", k=4, strategy=strategy, threshold=None))
    expected = sorted(
        reference["mining"]["pairs(score,src,tgt)"][theirs], key=lambda pair: (-pair[0], pair[1], pair[2])
    )
    assert [pair[1:] for pair in result] == [tuple(pair[1:]) for pair in expected]
    assert [pair[0] for pair in result] == pytest.approx([pair[0] for pair in expected], abs=1e-7)


def test_the_best_threshold_equals_that_of_the_release(reference: dict[str, Any], xy: tuple[Tensor, Tensor]) -> None:
    mining = reference["mining"]
    pairs = mine(*xy, margin="ratio", k=4, strategy="max", threshold=None)
    gold = {tuple(pair) for pair in mining["gold"]}
    is_gold = torch.tensor([pair[1:] in gold for pair in triples(pairs)])
    result = best_threshold(pairs.scores, is_gold, len(gold))
    expected = mining["bucc_best"]
    assert result == pytest.approx(
        (expected["threshold"], expected["precision"], expected["recall"], expected["F1"]), abs=1e-6
    )


def test_max_accepts_the_better_of_two_pairs_that_share_a_sentence() -> None:
    # (0, 1) at 0.9 uses target 1, so (1, 1) at 0.8 is rejected; backward also has (1, 0) at 0.5.
    forward = best((0.9, 1), (0.8, 1))
    backward = best((0.5, 1), (0.9, 0))
    assert triples(select_pairs(forward, backward, strategy="max", threshold=None)) == [(0.9, 0, 1), (0.5, 1, 0)]
    assert triples(select_pairs(forward, backward, strategy="intersect", threshold=None)) == [(0.9, 0, 1)]


def test_only_pairs_above_the_threshold_are_kept() -> None:
    forward, backward = best((0.9, 0), (0.5, 1)), best((0.9, 0), (0.5, 1))
    for strategy in STRATEGIES:
        assert triples(select_pairs(forward, backward, strategy=strategy, threshold=0.5)) == [(0.9, 0, 0)]
        assert triples(select_pairs(forward, backward, strategy=strategy, threshold=0.9)) == []


def test_equal_scores_are_sorted_by_source_and_target() -> None:
    forward, backward = best((1.0, 2), (1.0, 0), (1.0, 1)), best((1.0, 1), (1.0, 2), (1.0, 0))
    for strategy in STRATEGIES:
        result = triples(select_pairs(forward, backward, strategy=strategy, threshold=None))
        assert result == [(1.0, 0, 2), (1.0, 1, 0), (1.0, 2, 1)]


@pytest.mark.parametrize(("m", "n"), [(1, 1), (30, 50), (200, 120)])
def test_max_equals_a_plain_greedy_search_and_uses_each_sentence_once(m: int, n: int) -> None:
    torch.manual_seed(m)
    forward, backward = random_best(m, n, levels=40)
    pool = [(-s, i, j) for i, (s, j) in enumerate(zip(forward.scores.tolist(), forward.rows.tolist(), strict=True))]
    pool += [(-s, i, j) for j, (s, i) in enumerate(zip(backward.scores.tolist(), backward.rows.tolist(), strict=True))]
    expected: list[tuple[float, int, int]] = []
    for minus, i, j in sorted(pool):
        if all(i != a and j != b for _, a, b in expected):
            expected.append((-minus, i, j))
    result = triples(select_pairs(forward, backward, strategy="max", threshold=None))
    assert result == expected
    assert len({i for _, i, _ in result}) == len({j for _, _, j in result}) == len(result)


def test_without_ties_every_mutual_pair_is_in_max() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(80, 12), torch.randn(60, 12)
    pairs = {s: set(triples(mine(x, y, margin="distance", k=4, strategy=s, threshold=None))) for s in STRATEGIES}
    assert pairs["intersect"]
    assert {pair[1:] for pair in pairs["intersect"]} <= {pair[1:] for pair in pairs["max"]}
    assert len(pairs["forward"]) == 80
    assert len(pairs["backward"]) == 60


def test_the_lowest_score_is_the_threshold_if_all_pairs_are_extracted() -> None:
    # The reference reads past the end of its list; its fixture expects threshold 1 and F1 1.
    result = best_threshold(torch.tensor([2.0, 1.0]), torch.tensor([True, True]), 2)
    assert result == (1.0, 1.0, 1.0, 1.0)


def test_pairs_with_equal_scores_are_extracted_together() -> None:
    # One pair has F1 1 but cannot be separated from two others of the same score; all three have 2 / (3 + 1).
    result = best_threshold(torch.tensor([1.0, 1.0, 1.0]), torch.tensor([True, False, False]), 1)
    assert result == pytest.approx((1.0, 1 / 3, 1.0, 0.5))


def test_the_order_of_the_pairs_does_not_matter() -> None:
    # 0.9 and 0.6 are gold, of three gold pairs. Prefixes: 2/4, 2/5, 4/6, 4/7; the best ends at 0.6, the next is 0.5.
    scores, is_gold = torch.tensor([0.5, 0.6, 0.9, 0.8]), torch.tensor([False, True, True, False])
    assert best_threshold(scores, is_gold, 3) == pytest.approx((0.55, 2 / 3, 2 / 3, 2 / 3))


def test_between_neighbouring_floats_the_threshold_still_separates() -> None:
    high = 1.0 + 2**-52
    result = best_threshold(torch.tensor([high, 1.0], dtype=torch.float64), torch.tensor([True, False]), 1)
    assert result == (high, 1.0, 1.0, 1.0)


def test_without_gold_pairs_the_threshold_is_infinite() -> None:
    nothing = (math.inf, 0.0, 0.0, 0.0)
    assert best_threshold(torch.tensor([0.9, 0.8]), torch.tensor([False, False]), 5) == nothing
    assert best_threshold(torch.empty(0), torch.empty(0, dtype=torch.bool), 5) == nothing


def test_scores_equal_to_the_threshold_are_extracted() -> None:
    result = at_threshold(torch.tensor([0.9, 0.5, 0.1]), torch.tensor([True, False, True]), 4, 0.5)
    assert result == pytest.approx((0.5, 1 / 2, 1 / 4, 2 / 6))


def test_invalid_arguments_are_errors() -> None:
    x = torch.eye(3)
    with pytest.raises(ValueError, match="strategy 'both': expected one of forward, backward, intersect, max"):
        mine(x, x, margin="ratio", k=4, strategy="both", threshold=None)
    with pytest.raises(ValueError, match="margin 'ration'"):
        mine(x, x, margin="ration", k=4, strategy="max", threshold=None)
    with pytest.raises(ValueError, match="nothing to search: 3 and 0"):
        mine(x, x[:0], margin="ratio", k=4, strategy="max", threshold=None)
    with pytest.raises(ValueError, match="at least 1 gold pair"):
        best_threshold(torch.ones(1), torch.ones(1, dtype=torch.bool), 0)
