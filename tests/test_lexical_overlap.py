import json
import math
import re
from pathlib import Path

import pytest

from xsent.lexical_overlap import difficulty, indel_similarity, intra_jaccard, jaccard, words


def test_jaccard_agrees_with_the_reference(fixtures_dir: Path) -> None:
    fixtures = json.loads((fixtures_dir / "clsd.json").read_text())
    for pair in fixtures["jaccard"]["pairs"]:
        assert words(pair["a"]) == set(pair["tokens_a"])
        assert words(pair["b"]) == set(pair["tokens_b"])
        expected = math.nan if pair["jaccard"] is None else pair["jaccard"]
        assert jaccard(pair["a"], pair["b"]) == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_the_twelve_values_of_table_4_come_out_of_its_sentences(shared_data: Path) -> None:
    text = shared_data.parent / "papers" / "text" / "clsd.txt"
    if not text.is_file():
        pytest.skip(f"{text} is not there")
    rows = re.findall(r"^Adv\d: (.*?) (0\.\d{3})$", text.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(rows) == 12
    for item in range(0, 12, 4):
        values = intra_jaccard([sentence for sentence, _ in rows[item : item + 4]])
        assert [f"{value:.3f}" for value in values] == [printed for _, printed in rows[item : item + 4]]


def test_characters_that_are_added_and_removed_count_against_both_lengths() -> None:
    # "abcd" to "abd": one is removed of seven. "abcd" to "abxd": one removed, one added, of eight.
    assert indel_similarity("abcd", "abd") == pytest.approx(1 - 1 / 7)
    assert indel_similarity("abcd", "abxd") == pytest.approx(1 - 2 / 8)


def test_difficulty_is_of_distractors_with_their_originals_and_among_themselves() -> None:
    # Originals share 1 of 3 and 2 of 2 words with the distractors, which share 1 of 3 with each other.
    table = difficulty([("red house", ["red car", "house red"])])
    assert table.original.mean == pytest.approx((1 / 3 + 1) / 2)
    assert table.original.sd == pytest.approx(1 / 3)
    assert table.original.n == 2
    assert table.intra.mean == pytest.approx(1 / 3)
    assert (table.intra.sd, table.intra.n) == (0, 2)


def test_texts_without_words_have_no_similarity_and_are_left_out() -> None:
    assert math.isnan(jaccard("a b", "!"))
    assert all(math.isnan(value) for value in intra_jaccard(["only one here"]))
    empty = difficulty([("a", ["b"])])
    assert math.isnan(empty.original.mean)
    assert empty.intra.n == 0
