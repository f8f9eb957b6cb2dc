from random import Random

import pytest

from tests.text.divergences.helpers import annotated
from xsent.text.divergences import AnnotatedPair, SpanDeletion, WordReplacement
from xsent.text.divergences.json_format import Divergence, Reason
from xsent.text.divergences.phrases import SeedCorpus
from xsent.text.divergences.spans import is_content_word

DELETION = SpanDeletion(longest=0.5, most_words=None, shortest_word=4, attempts=40)
REPLACEMENT = WordReplacement(most_words=None, shortest_word=4, attempts=100)
PAIR = annotated("The tired horse sleeps .", "Le cheval fatigué dort .", "0-0 1-2 2-1 3-3 4-4")


def deletions(pair: AnnotatedPair) -> list[Divergence | Reason]:
    return [DELETION.make(pair, Random(number)) for number in range(60)]


def replacements(pair: AnnotatedPair, *others: AnnotatedPair) -> set[Divergence | Reason]:
    seeds = SeedCorpus([pair, *others], longest=2)
    return {REPLACEMENT.make(pair, Random(number), seeds) for number in range(60)}


def test_a_deleted_span_is_at_most_half_of_the_side_and_its_counterparts_are_added_meaning() -> None:
    notes = {}
    for record in deletions(PAIR):
        assert isinstance(record, Divergence)
        remaining = record.source if record.side == "source" else record.target
        assert len(remaining) in (3, 4)
        notes[record.note] = record
    horse = notes["- horse"]
    assert horse.source == ("The", "tired", "sleeps", ".")
    assert horse.target_labels == ("O", "ADD", "O", "O", "O")
    assert set(horse.source_labels) == {"O"}
    assert notes["- cheval fatigué"].source_labels == ("O", "ADD", "ADD", "O", "O")
    assert not {"- .", "- The"} & set(notes)  # no content word


def test_a_counterpart_that_a_remaining_word_has_too_is_no_difference() -> None:
    shared = annotated("white horse", "Schimmel", "0-0 1-0")
    assert set(deletions(shared)) == {Reason.TOO_SHORT}
    shared = annotated("white horse", "Schimmel .", "0-0 1-0")
    assert all(record is Reason.NO_SPAN or "- Schimmel" in record.note for record in deletions(shared))


def test_a_word_with_a_link_is_replaced_by_a_content_word_and_both_count_as_changed() -> None:
    other = annotated("Big houses burn 100", "zwei a b c", key="b")
    records = {record.note: record for record in replacements(PAIR, other) if isinstance(record, Divergence)}
    assert set(records) == {
        *(f"{old} > {new}" for old in ("tired", "horse", "sleeps") for new in ("houses", "burn")),
        *(f"{old} > zwei" for old in ("cheval", "fatigué", "dort")),
    }
    record = records["horse > burn"]
    assert record.source == ("The", "tired", "burn", "sleeps", ".")
    assert (record.source_labels, record.target_labels) == (("O", "O", "CHA", "O", "O"), ("O", "CHA", "O", "O", "O"))


def test_a_new_word_has_the_capital_of_the_old_one() -> None:
    pair, other = annotated("Houses burn", "a b", "0-0"), annotated("Trees fall ,", "c d e", key="b")
    notes = {record.note for record in replacements(pair, other) if isinstance(record, Divergence)}
    assert notes == {"Houses > Trees", "Houses > Fall"}


def test_without_links_or_other_words_there_is_no_replacement() -> None:
    assert replacements(annotated("Two horses", "Deux chevaux")) == {Reason.NO_LINKED_WORD}
    assert replacements(annotated("Two horses", "Deux chevaux", "1-1")) == {Reason.NO_OTHER_WORD}


@pytest.mark.parametrize(
    ("word", "expected"),
    [("horse", True), ("the", False), ("don't", False), ("1969", False), ("马", True), ("،", False)],
)
def test_content_words_have_four_letters_or_a_script_without_capitals(word: str, expected: bool) -> None:
    assert is_content_word(word, 4) is expected


def test_pairs_above_most_words_have_neither_kind() -> None:
    assert SpanDeletion(longest=0.5, most_words=4, shortest_word=4, attempts=9).make(PAIR, Random(1)) is Reason.TOO_LONG
    maker = WordReplacement(most_words=4, shortest_word=4, attempts=9)
    assert maker.make(PAIR, Random(1), SeedCorpus([PAIR], longest=2)) is Reason.TOO_LONG
