from xsent.text.english.entities import Names
from xsent.text.xsimpp_negatives import CAUSALITY, ENTITY, ERROR_TYPES, NUMBER, Augmentation, augment

SENTENCE = "In 2010 the small town of Lyon sold 45 buses to Germany."
NAMES = Names({})


def negatives(sentence: str = SENTENCE, seed: int = 1, per_number: int = 2, per_entity: int = 3) -> list[Augmentation]:
    return augment(sentence, NAMES, seed=seed, per_number=per_number, per_entity=per_entity)


def test_a_sentence_gives_all_three_types_in_order_and_nothing_twice() -> None:
    augmentations = negatives()
    types = [negative.error_type for negative in augmentations]
    assert types == sorted(types, key=ERROR_TYPES.index)
    counts = {kind: sum(negative.error_type == kind for negative in augmentations) for kind in ERROR_TYPES}
    assert counts == {CAUSALITY: 3, NUMBER: 4, ENTITY: 6}  # bought, large, did not sell; 2 numbers; 2 names
    assert len({negative.text for negative in augmentations}) == len(augmentations)
    assert SENTENCE not in {negative.text for negative in augmentations}


def test_each_changes_one_place_only() -> None:
    for negative in negatives():
        start = next(i for i, (a, b) in enumerate(zip(SENTENCE, negative.text, strict=False)) if a != b)
        end = next(i for i, (a, b) in enumerate(zip(SENTENCE[::-1], negative.text[::-1], strict=False)) if a != b)
        assert SENTENCE[start : len(SENTENCE) - end].count(" ") <= 2


def test_the_seed_decides_and_a_sentence_without_anything_to_change_gives_nothing() -> None:
    assert negatives(seed=1) == negatives(seed=1) != negatives(seed=2)
    assert negatives("Wow!") == []
