"""Made divergences as a test set, candidates, and what single annotators said."""

import json
from pathlib import Path
from typing import Any

import pytest

from xsent.data.readers.divergences import read_candidates, read_dev_divergences, read_divergences
from xsent.data.test_sets.refresd import read_annotations
from xsent.text.divergences.json_format import Divergence, to_json

SEED = Divergence("1", "seed", "", ("a", "day"), ("un", "jour"), ("O", "O"), ("O", "O"), "", "here")
VARIANT = Divergence("1", "generalization", "source", ("a", "time"), ("un", "jour"), ("O", "CHA"), ("O", "CHA"), "", "")
ADDED = Divergence("1", "subtree_deletion", "target", ("a", "day"), ("un",), ("O", "ADD"), ("O",), "", "")


def test_seeds_are_equivalent_and_changed_words_are_highlighted(tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    path.write_text("".join(to_json(record) + "\n" for record in (SEED, VARIANT, ADDED)))
    (test_set,) = read_divergences(str(path), None)
    assert (test_set.name, test_set.annotators) == ("synthetic", 1)
    assert test_set.equivalent == [True, False, False]
    assert test_set.kinds == ["seed", "generalization", "subtree_deletion"]
    assert test_set.highlights == [((0, 0), (0, 0)), ((0, 1), (0, 1)), ((0, 1), (0,))]
    assert (test_set.source[1], test_set.target[2]) == ("a time", "un")


def test_a_line_that_is_no_divergence_is_an_error_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    path.write_text(f"{to_json(SEED)}\nno\n")
    with pytest.raises(ValueError, match=r"made\.jsonl:2"):
        read_divergences(str(path), None)
    path.write_text("")
    with pytest.raises(ValueError, match=r"expected at least 1 divergence"):
        read_divergences(str(path), None)
    with pytest.raises(ValueError, match="expected synthetic"):
        read_divergences(str(path), ["wikimatrix"])


def test_dev_pairs_in_a_row_are_of_different_seeds_and_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    kinds = ("seed", "generalization", "subtree_deletion")
    records = [
        Divergence(str(seed), kind, "", (f"s{seed}", kind), ("t",), ("O", "O"), ("O",), "", "")
        for seed in range(12)
        for kind in kinds
    ]
    path.write_text("".join(to_json(record) + "\n" for record in records))
    test_set = read_dev_divergences(str(path), 6)
    seeds = [pair.source[0] for pair in test_set.pairs]
    assert seeds == ["s0", "s2", "s4", "s6", "s8", "s10"] * 3  # at equal distances
    assert sorted(zip(seeds, test_set.kinds, strict=True)) == sorted((s, kind) for s in set(seeds) for kind in kinds)
    assert [test_set.kinds[start : start + 6].count("seed") for start in (0, 6, 12)] == [2, 2, 2]
    with pytest.raises(ValueError, match=r"evaluator\.dev_seeds=13: expected at most 12, the seeds of .*made\.jsonl"):
        read_dev_divergences(str(path), 13)


def test_candidates_are_two_columns_whatever_else_a_line_has(tmp_path: Path) -> None:
    path = tmp_path / "pool.tsv"
    path.write_text("a\tb\torigin\n\tc\nd\t\n")
    candidates = read_candidates(str(path))
    assert (candidates.source, candidates.target) == (["a", "d"], ["b", "c"])


@pytest.mark.parametrize(
    ("text", "message"), [("a\tb\nc\n", r":2: expected at least 2 columns by TAB, found 1"), ("a\t\n", "found 1 and 0")]
)
def test_candidates_without_a_side_are_an_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "pool.tsv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_candidates(str(path))


# ---- annotations


def record(annotator: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": "1",
        "annotator": annotator,
        "label": "some_meaning_difference",
        "source_highlights": "0 1",
        "target_highlights": "0",
        **changes,
    }


def written(folder: Path, *records: dict[str, Any]) -> str:
    path = folder / "annotations.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def test_labels_become_levels_and_highlights_numbers(tmp_path: Path) -> None:
    first, second = read_annotations(written(tmp_path, record("A"), record("B", label="unrelated")))
    assert (first.pair, first.annotator, first.level, first.source, first.target) == ("1", "A", 1, (0, 1), (0,))
    assert second.level == 2


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (record("A"), ":2: expected each annotator once a pair, found A twice on 1"),
        (record("B", source_highlights="0 1 1"), ":2: expected 2 source words in pair 1 as for annotator A, found 3"),
        (record("B", label="other"), ":2: expected a label of no_meaning_difference, .*, found 'other'"),
        (record("B", target_highlights="2"), ":2: target_highlights: expected 0 or 1 a word, found '2'"),
        (record("B", id=1), ":2: expected text in id, found 1"),
        ({"id": "1"}, ":2: expected an object with id, annotator"),
        (record("B", id="2"), ": expected pairs with several annotators, found none"),
    ],
)
def test_what_cannot_be_compared_is_an_error_with_file_and_line(
    tmp_path: Path, second: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=rf"annotations\.jsonl{message}"):
        read_annotations(written(tmp_path, record("A"), second))


def test_a_line_that_is_no_json_is_an_error_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "annotations.jsonl"
    path.write_text("no\n")
    with pytest.raises(ValueError, match=r"annotations\.jsonl:1: expected a JSON object"):
        read_annotations(str(path))
