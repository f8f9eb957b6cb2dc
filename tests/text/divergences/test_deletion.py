import json
from pathlib import Path
from random import Random

from tests.text.divergences.helpers import annotated
from xsent.text.divergences import AnnotatedPair, SubtreeDeletion
from xsent.text.divergences.deletion import candidate_spans
from xsent.text.divergences.json_format import Divergence, Reason

DELETION = SubtreeDeletion(allow_half=False, attempts=20)
# I know the very old man well .: the only subtree of two words or more and less than half is "the old man".
HEADS = [1, -1, 4, 4, 1, 1, 1]
KNOW = annotated("I know the old man well .", "Je connais bien ce vieil homme .", "0-0 2-3 3-4 4-5 5-2", heads=HEADS)


def test_candidates_equal_the_reference(fixtures_dir: Path) -> None:
    fixture = json.loads((fixtures_dir / "divergent_mbert.json").read_text(encoding="utf-8"))["subtree_candidates"]
    heads = fixture["heads(-1 root; hand-made)"]
    for allow_half, column in (
        (False, "eligible_paper(size>=2 and size < n/2)"),
        (True, "eligible_released(size>=2 and size <= n/2)"),
    ):
        expected = [tuple(row["span"]) for row in fixture["candidates"] if row[column] and row["contiguous"]]
        assert candidate_spans(heads, allow_half=allow_half) == expected


def test_spans_have_no_gap_and_half_of_the_sentence_only_in_the_released_variant() -> None:
    # Of eight words the last four are a subtree, and within it the last two.
    heads = [-1, 0, 0, 0, 0, 4, 4, 6]
    assert candidate_spans(heads, allow_half=False) == [(6, 8)]
    assert candidate_spans(heads, allow_half=True) == [(4, 8), (6, 8)]
    # Less than half of an odd number of words is the half rounded down.
    assert candidate_spans([-1, 0, 0, 0, 3], allow_half=False) == [(3, 5)]
    assert candidate_spans([-1, 0, 1, 2, 2], allow_half=False) == []
    # A subtree with a gap stays: "b" and "d" belong together, "c" between them does not.
    assert candidate_spans([-1, 0, 0, 1, 0, 0], allow_half=False) == []


def test_both_sides_are_deleted_from_and_the_opposite_side_is_labelled() -> None:
    english, french = ("I", "know", "well", "."), ("Je", "connais", "bien", ".")
    kind, unchanged = ("a", "subtree_deletion"), ("O",) * 4
    source_labels = ("O", "O", "ADD", "ADD", "ADD", "O", "O")
    target_labels = ("O", "O", "O", "ADD", "ADD", "ADD", "O")
    assert {DELETION.make(KNOW, Random(number)) for number in range(20)} == {
        Divergence(*kind, "source", english, KNOW.target, unchanged, target_labels, "- the old man", "test"),
        Divergence(*kind, "target", KNOW.source, french, source_labels, unchanged, "- ce vieil homme", "test"),
    }


def test_all_words_aligned_to_the_subtree_are_deleted() -> None:
    # "any longer" is "ne ... plus" around the verb.
    heads = [1, -1, 3, 1, 1]
    pair = annotated("He sleeps any longer .", "Il ne dort plus .", "0-0 1-2 2-3 3-1 3-3", heads=heads)
    results = (DELETION.make(pair, Random(n)) for n in range(20))
    result = next(record for record in results if record.side == "target")
    assert result.target == ("Il", "dort", ".")
    assert result.note == "- ne plus"


def test_a_deletion_needs_links_and_remaining_words() -> None:
    unaligned = annotated("I know the old man well .", "Je sais", "0-0 1-1", heads=HEADS)
    assert DELETION.make(unaligned, Random(0)) == Reason.NOTHING_ALIGNED
    short = annotated("I know the old man well .", "homme", "4-0", heads=HEADS)
    sides = {result.side for result in (DELETION.make(short, Random(n)) for n in range(20))}
    assert sides == {"source"}


def test_short_and_flat_sentences_have_no_deletion() -> None:
    assert DELETION.make(annotated("a b c", "u", heads=[-1, 0, 1]), Random(0)) == Reason.TOO_SHORT
    assert DELETION.make(annotated("a b c d e", "u"), Random(0)) == Reason.NO_SUBTREE


def test_every_candidate_can_be_drawn() -> None:
    heads = [-1, 0, 1, 0, 3, 0, 5, 0]
    links = " ".join(f"{at}-{at}" for at in range(8))
    pair = annotated("a b c d e f g h", "s t u v w x y z", links, heads=heads)
    notes = {DELETION.make(pair, Random(n)).note for n in range(60)}
    assert notes == {f"- {words}" for words in ("b c", "d e", "f g", "t u", "v w", "x y")}


def test_deletions_of_real_seeds_keep_every_constraint(real_pairs: list[AnnotatedPair]) -> None:
    result = [(pair, DELETION.make(pair, Random(pair.key))) for pair in real_pairs]
    assert sum(isinstance(record, Divergence) for _, record in result) > 290
    for pair, record in result:
        if not isinstance(record, Divergence):
            continue
        old, new = (pair.source, record.source) if record.side == "source" else (pair.target, record.target)
        assert 0 < len(new) < len(old)
        assert set(record.source_labels + record.target_labels) == {"O", "ADD"}
        assert len(record.source) == len(record.source_labels)
        assert len(record.target) == len(record.target_labels)
        if record.side == "source":
            assert 2 <= len(old) - len(new) < len(old) / 2
        else:
            assert 2 <= record.source_labels.count("ADD") < len(pair.source) / 2
