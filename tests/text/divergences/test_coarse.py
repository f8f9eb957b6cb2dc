from random import Random

from tests.text.divergences.helpers import annotated
from xsent.text.divergences import AnnotatedPair, Insertion, Uneven
from xsent.text.divergences.json_format import Divergence, Reason
from xsent.text.divergences.phrases import SeedCorpus

UNEVEN = Uneven(shortest=0.8, attempts=80, label_both=False)
INSERTION = Insertion(longest=2.0, attempts=80)
PAIR = annotated("a b c d", "u v w x y")


def draws(maker: Uneven | Insertion, corpus: list[AnnotatedPair], number: int = 40) -> set[Divergence | Reason]:
    seeds = SeedCorpus([PAIR, *corpus], longest=9)
    return {maker.make(PAIR, Random(n), seeds) for n in range(number)}


def test_one_side_is_replaced_by_that_of_another_pair() -> None:
    result = draws(UNEVEN, [annotated("e f g h", "q r s t", key="b")])
    assert result == {
        Divergence("a", "uneven", "source", tuple("efgh"), PAIR.target, ("CHA",) * 4, ("O",) * 5, "> e f g h", "test"),
        Divergence("a", "uneven", "target", PAIR.source, tuple("qrst"), ("O",) * 4, ("CHA",) * 4, "> q r s t", "test"),
    }


def test_sides_of_very_different_length_are_drawn_again() -> None:
    # 4 of 5 words are enough on the source side, 3 of 4 are too few on the target side.
    corpus = [annotated("e f g h", "q r s", key="b"), annotated("e f g h i j k", "q r s t u v", key="c")]
    assert {record.side for record in draws(UNEVEN, corpus) if isinstance(record, Divergence)} == {"source"}


def test_a_pair_alone_has_no_other_sentence() -> None:
    assert draws(UNEVEN, []) == draws(INSERTION, []) == {Reason.NO_OTHER_SENTENCE}
    assert draws(INSERTION, [annotated("a b c d", "z", key="b")]) == {Reason.NO_OTHER_SENTENCE}


def test_a_sentence_is_added_before_or_after_the_side_that_is_not_longer() -> None:
    result = draws(INSERTION, [annotated("e f", "q r s", key="b")])
    old, new = ("O",) * 4, ("ADD",) * 2
    assert result == {
        Divergence("a", "insert", "source", tuple("abcdef"), PAIR.target, old + new, ("O",) * 5, "+ e f", "test"),
        Divergence("a", "insert", "source", tuple("efabcd"), PAIR.target, new + old, ("O",) * 5, "+ e f", "test"),
    }


def test_a_side_more_than_twice_as_long_as_the_other_is_drawn_again() -> None:
    six, seven = annotated("e f g h i j", "q", key="b"), annotated("e f g h i j k", "q", key="c")
    assert {len(record.source) for record in draws(INSERTION, [six, seven]) if isinstance(record, Divergence)} == {10}
    assert draws(INSERTION, [seven]) == {Reason.NO_OTHER_SENTENCE}
    # The target is extended if it is shorter.
    pair = annotated("a b c d", "u v", key="z")
    result = INSERTION.make(pair, Random(0), SeedCorpus([pair, annotated("e", "q", key="b")], longest=9))
    assert (result.side, sorted(result.target)) == ("target", ["q", "u", "v"])


def test_both_sides_of_an_uneven_pair_can_be_labelled() -> None:
    both = Uneven(shortest=0.8, attempts=80, label_both=True)
    result = draws(both, [annotated("e f g h", "q r s t", key="b")])
    labels = {(record.source_labels, record.target_labels) for record in result if isinstance(record, Divergence)}
    assert labels == {(("CHA",) * 4, ("CHA",) * 5), (("CHA",) * 4, ("CHA",) * 4)}
