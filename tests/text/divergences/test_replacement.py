from random import Random

import pytest

from tests.text.divergences.helpers import annotated
from xsent.text.divergences import AnnotatedPair, PhraseReplacement
from xsent.text.divergences.json_format import Divergence, Reason
from xsent.text.divergences.phrases import PhraseInventory, SeedCorpus

EITHER = PhraseReplacement(side="either", longest=9, casing="fitted", attempts=100)
SOURCE = PhraseReplacement(side="source", longest=9, casing="fitted", attempts=100)
AS_FOUND = PhraseReplacement(side="source", longest=9, casing="as_found", attempts=100)
# Of four words only two in a row may go, and only "DT NN" occurs with other words.
KIND, LABELS = ("a", "phrase_replacement"), ("O", "O", "CHA", "CHA")
CAT = annotated("I see the cat", "Je vois le chat", "0-0 1-1 2-2 3-3", tags="P V D N", target_tags="p v d n")


def replace(pair: AnnotatedPair, corpus: list[AnnotatedPair], maker: PhraseReplacement) -> set[Divergence | Reason]:
    seeds = SeedCorpus([pair, *corpus], longest=maker.longest)
    return {maker.make(pair, Random(number), seeds) for number in range(30)}


def test_a_phrase_is_replaced_by_one_with_its_tags_and_both_sides_are_labelled() -> None:
    donor = annotated("A dog", "X", tags="D N", key="b")
    words = ("I", "see", "a", "dog")
    record = Divergence(*KIND, "source", words, CAT.target, LABELS, LABELS, "the cat > a dog", "test")
    assert replace(CAT, [donor], SOURCE) == {record}


def test_a_target_phrase_is_replaced_if_the_target_is_tagged() -> None:
    donor = annotated("X", "un chien", tags="X", target_tags="d n", key="b")
    words = ("Je", "vois", "un", "chien")
    record = Divergence(*KIND, "target", CAT.source, words, LABELS, LABELS, "le chat > un chien", "test")
    assert replace(CAT, [donor], EITHER) == {record, Reason.NO_PHRASE}


def test_the_side_is_the_source_where_the_target_is_not_tagged() -> None:
    pair = annotated("I see the cat", "Je vois le chat", "2-2", tags="P V D N")
    result = replace(pair, [annotated("a dog", "X", tags="D N", key="b")], EITHER)
    assert {record.side for record in result} == {"source"}


def test_aligned_words_are_changed_without_limit_of_place_or_number() -> None:
    pair = annotated("I see the cat", "u v w x", "2-3 2-0 0-2", tags="P V D N")
    (result,) = replace(pair, [annotated("a dog", "X", tags="D N", key="b")], SOURCE)
    assert result.target_labels == ("CHA", "O", "O", "CHA")


def test_a_phrase_in_other_capitals_is_no_other_phrase_and_short_sentences_have_none() -> None:
    assert replace(CAT, [annotated("The Cat", "X", tags="D N", key="b")], SOURCE) == {Reason.NO_PHRASE}
    assert replace(annotated("a b c", "u"), [], SOURCE) == {Reason.TOO_SHORT}


def test_the_longest_phrase_has_half_of_the_words() -> None:
    words, donor = "a b c d e f g", "t u v w x y z"
    result = replace(annotated(words, words), [annotated(donor, donor, key="b")], SOURCE)
    assert {record.source_labels.count("CHA") for record in result} == {2, 3}


def test_new_words_have_a_capital_where_the_sentence_begins_and_nowhere_else() -> None:
    pair = annotated("He met the cat", "u", tags="P V D N")
    corpus = [annotated("The dog", "u", tags="D N", key="b"), annotated("often she saw", "u", tags="A P V", key="c")]
    notes = {record.note for record in replace(pair, corpus, SOURCE)}
    assert notes == {"the cat > the dog", "He met > She saw"}
    assert {record.note for record in replace(pair, corpus, AS_FOUND)} == {"the cat > The dog", "He met > she saw"}


@pytest.mark.parametrize(
    ("phrase", "tags"), [("Mary sleeps", "NNP VBZ"), ("I sleep", "PRP VBP"), ("NASA flies", "N V")]
)
def test_names_and_i_keep_their_capital(phrase: str, tags: str) -> None:
    pair = annotated("and now he works", "u", tags=f"C A {tags}")
    (result,) = replace(pair, [annotated(phrase, "u", tags=tags, key="b")], SOURCE)
    assert result.note == f"he works > {phrase}"


def test_unknown_options_are_named() -> None:
    with pytest.raises(ValueError, match="side=target: expected one of either, source"):
        PhraseReplacement(side="target", longest=9, casing="fitted", attempts=1)
    with pytest.raises(ValueError, match="casing=lower: expected one of fitted, as_found"):
        PhraseReplacement(side="source", longest=9, casing="lower", attempts=1)
    with pytest.raises(ValueError, match="expected 2 words or more, found 1"):
        PhraseInventory([], longest=1)


def test_the_inventory_is_that_of_a_plain_search(real_pairs: list[AnnotatedPair]) -> None:
    sample = real_pairs[:60]
    inventory = PhraseInventory([(pair.source, pair.tags) for pair in sample], longest=4)
    expected: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for pair in sample:
        for length in (2, 3, 4):
            for start in range(len(pair.source) - length + 1):
                words = tuple(word.lower() for word in pair.source[start : start + length])
                expected.setdefault(pair.tags[start : start + length], set()).add(words)
    for tags, phrases in expected.items():
        matches = [inventory.phrase(len(tags), number) for number in inventory.find(tags)]
        assert all(phrase.tags == tags for phrase in matches)
        assert sorted(tuple(word.lower() for word in phrase.words) for phrase in matches) == sorted(phrases)
    assert not inventory.find(("NN",))
    assert not inventory.find(("NN", "NO SUCH TAG"))
    assert not inventory.find(sample[0].tags[:5])
    assert not PhraseInventory([], longest=3).find(("X", "X"))


def test_replacements_of_real_seeds_keep_every_constraint(real_pairs: list[AnnotatedPair]) -> None:
    seeds = SeedCorpus(real_pairs, longest=9)
    sides = set()
    for pair in real_pairs:
        result = EITHER.make(pair, Random(pair.key), seeds)
        assert isinstance(result, Divergence)
        sides.add(result.side)
        source = result.side == "source"
        old, new = (pair.source, result.source) if source else (pair.target, result.target)
        marks = result.source_labels if source else result.target_labels
        changed = [at for at, mark in enumerate(marks) if mark == "CHA"]
        assert changed == list(range(changed[0], changed[-1] + 1))
        assert 2 <= len(changed) <= min(9, len(old) // 2)
        assert [word for at, word in enumerate(old) if at not in changed] == [
            word for at, word in enumerate(new) if at not in changed
        ]
        assert " ".join(old).lower() != " ".join(new).lower()
    assert sides == {"source", "target"}
