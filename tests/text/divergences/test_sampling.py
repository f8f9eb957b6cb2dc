import json
from pathlib import Path
from random import Random

import pytest

from xsent.text.divergences.sampling import balanced_pairs, concatenation_pairs, ranking_pairs, single_pairs

FOUR = ["phrase_replacement", "subtree_deletion", "particularization", "generalization"]
LETTERS = {"seed": "seed", **dict(zip("rdpg", FOUR, strict=True))}


def test_pairs_equal_the_reference(fixtures_dir: Path) -> None:
    fixture = json.loads((fixtures_dir / "divergent_mbert.json").read_text(encoding="utf-8"))[
        "divergence_ranking_pairs"
    ]
    ranked = fixture["expected_pairs(x ranks above y; r|d = one of the two, fair coin)"]
    for available, ranking, concatenation in zip(
        fixture["available_types_per_seed"], ranked, fixture["concatenation_pairs"], strict=True
    ):
        kinds = [LETTERS[letter] for letter, is_available in available.items() if is_available]
        assert concatenation_pairs(kinds) == [(LETTERS[x], LETTERS[y]) for x, y in concatenation]
        assert len(balanced_pairs(kinds, Random(0))) == 1
        for number in range(10):
            pairs = ranking_pairs(kinds, Random(number))
            assert [x for x, _ in pairs] == [LETTERS[x] for x, _ in ranking]
            for (_, y), (_, expected) in zip(pairs, ranking, strict=True):
                assert y in [LETTERS[letter] for letter in expected.split("|")]


def test_balanced_pairs_and_the_coarser_kinds_of_a_ranking_are_drawn_uniformly() -> None:
    rng = Random(0)
    balanced = [balanced_pairs(FOUR, rng)[0] for _ in range(4000)]
    assert set(balanced) == {("seed", kind) for kind in FOUR}
    coarse = [tuple(y for x, y in ranking_pairs(FOUR, rng) if x != "seed") for _ in range(4000)]
    assert len(set(coarse)) == 4
    for drawn in (balanced, coarse):
        for outcome in set(drawn):
            # A quarter each; 0.0068 is the standard deviation of the share.
            assert abs(drawn.count(outcome) / 4000 - 0.25) < 0.035


def test_lexical_substitutions_alone_are_ranked_below_the_seed_only() -> None:
    assert ranking_pairs(["generalization"], Random(0)) == [("seed", "generalization")]
    assert ranking_pairs(["generalization", "subtree_deletion"], Random(0)) == [
        ("seed", "generalization"),
        ("generalization", "subtree_deletion"),
    ]


def test_a_seed_without_divergences_or_with_the_coarse_ones_of_comparisons_gives_no_pairs() -> None:
    rng = Random(0)
    for kinds in ([], ["uneven", "insert"]):
        assert ranking_pairs(kinds, rng) == balanced_pairs(kinds, rng) == concatenation_pairs(kinds) == []
    assert single_pairs([], FOUR) == []


def test_single_kinds_are_requested_and_available() -> None:
    assert single_pairs(FOUR, ["subtree_deletion"]) == [("seed", "subtree_deletion")]
    assert single_pairs(["uneven", *FOUR], ["uneven"]) == [("seed", "uneven")]
    assert single_pairs(FOUR[:3], ["particularization", "generalization"]) == [("seed", "particularization")]
    with pytest.raises(ValueError, match=r"found \['lexical'\]"):
        single_pairs(FOUR, ["lexical"])
