import json
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from xsent.text.annotation.word_alignment import (
    GoldLinks,
    Match,
    alignment_error_rate,
    argmax_links,
    itermax_links,
    link_words,
    parse_gold_links,
    softmax_links,
)

ARGMAX = partial(argmax_links, distortion=0.0)
ITERMAX = partial(itermax_links, distortion=0.0, rounds=2, discount=0.9)
SOFTMAX = partial(softmax_links, threshold=0.001)
MATCHERS = {"argmax": ARGMAX, "itermax": ITERMAX, "softmax": SOFTMAX}


def at_angles(*degrees: float) -> np.ndarray:
    """Vectors of length one, whose cosines are those of the angles between them."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


@pytest.mark.parametrize("name", MATCHERS)
def test_the_matchers_give_the_links_of_simalign_and_awesome_align(fixtures_dir: Path, name: str) -> None:
    fixture = json.loads((fixtures_dir / "word_alignment.json").read_text(encoding="utf-8"))
    source, target = (np.array(fixture["inputs"][f"{side}_vectors"]) for side in ("source", "target"))
    (expected,) = [links for key, links in fixture.items() if key.startswith(name)]
    assert MATCHERS[name](source, target).tolist() == expected


def test_argmax_links_mutual_nearest_neighbours_only() -> None:
    # The third of the source is nearest to the first of the target (20 degrees), which has a nearer one (5 degrees).
    links = ARGMAX(at_angles(0, 90, 25), at_angles(5, 80))
    assert links.tolist() == [[0, 0], [1, 1]]
    # A vector of length zero gives no NaN.
    assert [1, 0] in ARGMAX(np.array([[0.0, 0.0], [1.0, 0.0]]), at_angles(0, 90)).tolist()


def test_itermax_links_remaining_rows_at_a_discount() -> None:
    # Argmax links 0-0 and 1-1. Then the target's last (20 degrees) is nearest to the linked 0, the source's last (200
    # degrees) to the linked 1, at 0.9 times (cos + 1) / 2: 0.87 and 0.30; and both the other way round, too.
    source, target = at_angles(0, 90, 200), at_angles(0, 90, 20)
    assert ARGMAX(source, target).tolist() == [[0, 0], [1, 1]]
    assert ITERMAX(source, target).tolist() == [[0, 0], [0, 2], [1, 1], [2, 1]]


def test_itermax_of_one_round_is_argmax_and_more_rounds_only_add_links() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        source, target = rng.normal(size=(rng.integers(1, 9), 4)), rng.normal(size=(rng.integers(1, 9), 4))
        rounds = [itermax_links(source, target, distortion=0.0, rounds=n, discount=0.9).tolist() for n in (1, 2, 3)]
        assert rounds[0] == ARGMAX(source, target).tolist()
        assert all(link in longer for shorter, longer in pairwise(rounds) for link in shorter)


def test_softmax_links_rows_probable_in_both_directions() -> None:
    # exp(ln 3) = 3 against exp(0) = 1: probabilities of 3/4 and 1/4, both ways.
    source, target = np.log(3) * np.eye(2), np.eye(2)
    assert softmax_links(source, target, threshold=0.5).tolist() == [[0, 0], [1, 1]]
    assert softmax_links(source, target, threshold=0.2).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert softmax_links(source, target, threshold=0.8).tolist() == []


def test_distortion_links_a_word_that_occurs_twice_at_both_places() -> None:
    source, target = at_angles(0, 60, 0), at_angles(0, 180, 0)
    assert argmax_links(source, target, distortion=0.0).tolist() == [[0, 0]]
    assert argmax_links(source, target, distortion=0.5).tolist() == [[0, 0], [2, 2]]


@pytest.mark.parametrize("match", MATCHERS.values(), ids=MATCHERS.keys())
def test_exchanging_the_sides_exchanges_the_links_and_a_side_without_vectors_has_none(match: Match) -> None:
    assert match(np.zeros((0, 4)), np.ones((3, 4))).shape == (0, 2)
    assert match(np.ones((3, 4)), np.zeros((0, 4))).shape == (0, 2)
    rng = np.random.default_rng(2)
    source, target = rng.normal(size=(7, 5)), rng.normal(size=(5, 5))
    assert sorted(map(tuple, match(source, target)[:, ::-1])) == [tuple(link) for link in match(target, source)]


def test_words_are_linked_if_any_of_their_pieces_are_by_plain_integers() -> None:
    # Pieces 0-0, 1-1, 2-2 are linked; words are (a a b) and (c d d).
    pieces = at_angles(0, 70, 150)
    links = link_words(pieces, pieces, np.array([0, 0, 4]), np.array([0, 9, 9]), match=ARGMAX)
    assert json.dumps(links) == "[[0, 0], [0, 9], [4, 9]]"


def test_gold_links_are_counted_from_one_and_may_be_merely_possible() -> None:
    gold = parse_gold_links("1-1 2p3  10-2", "gold:1")
    assert gold.sure == {(0, 0), (9, 1)}
    assert gold.possible == {(0, 0), (9, 1), (1, 2)}


@pytest.mark.parametrize("link", ["0-1", "1-0", "1", "1-2-3", "1?2", "-1-2", "1-²"])
def test_a_gold_link_that_is_none_is_refused_with_its_place(link: str) -> None:
    with pytest.raises(ValueError, match=r"gold:7: expected links such as 1-1 and 2p3, counted from 1, found '"):
        parse_gold_links(f"1-1 {link}", "gold:7")


def test_the_error_rate_of_a_case_worked_out_by_hand() -> None:
    gold = GoldLinks(sure=frozenset({(0, 0)}), possible=frozenset({(0, 0), (0, 1)}))
    # Of three links two are possible and one is sure, which is all that is sure: 1 - (1 + 2) / (3 + 1).
    scores = alignment_error_rate([[(0, 0), (0, 1), (1, 1)]], [gold])
    assert scores == pytest.approx((2 / 3, 1.0, 0.25))


def test_the_error_rate_counts_links_over_all_sentences() -> None:
    gold = [parse_gold_links("1-1", "1"), parse_gold_links("1-1 2-2 3-3", "2")]
    # One of two links is right, of four sure ones: a mean over sentences would say another thing.
    assert alignment_error_rate([[(0, 1)], [(2, 2)]], gold) == pytest.approx((1 / 2, 1 / 4, 1 - 2 / 6))


def test_the_sure_links_of_the_gold_set_have_no_error(shared_data: Path) -> None:
    lines = (shared_data / "align" / "enfr.gold").read_text(encoding="utf-8").rstrip("\n").split("\n")
    gold = [parse_gold_links(line, f"enfr.gold:{number}") for number, line in enumerate(lines, start=1)]
    assert len(gold) == 447
    assert alignment_error_rate([links.sure for links in gold], gold) == (1.0, 1.0, 0.0)


def test_links_that_do_not_fit_the_gold_links_are_an_error() -> None:
    with pytest.raises(ValueError, match="longer"):
        alignment_error_rate([[(0, 0)]], [parse_gold_links("1-1", "1")] * 2)
    with pytest.raises(ValueError, match="expected links and sure gold links, found 0 and 1"):
        alignment_error_rate([[]], [parse_gold_links("1-1", "1")])
