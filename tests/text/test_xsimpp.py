from __future__ import annotations

from xsent.text.entities import Names
from xsent.text.xsimpp import CAUSALITY, ENTITY, ERROR_TYPES, NUMBER, Augmentation, augment

SENTENCE = "In 2010 the small town of Lyon sold 45 buses to Germany."
NAMES = Names({})


def made(sentence: str = SENTENCE, seed: int = 1, per_number: int = 2, per_entity: int = 3) -> list[Augmentation]:
    return augment(sentence, NAMES, seed=seed, per_number=per_number, per_entity=per_entity)


def test_a_sentence_gives_all_three_types_in_order_and_nothing_twice() -> None:
    found = made()
    assert [one.error_type for one in found] == sorted((one.error_type for one in found), key=ERROR_TYPES.index)
    counts = {kind: sum(one.error_type == kind for one in found) for kind in ERROR_TYPES}
    assert counts == {CAUSALITY: 3, NUMBER: 4, ENTITY: 6}  # bought, large, did not sell; 2 numbers; 2 names
    assert len({one.text for one in found}) == len(found)
    assert SENTENCE not in {one.text for one in found}


def test_each_changes_one_place_only() -> None:
    for one in made():
        start = next(i for i, (a, b) in enumerate(zip(SENTENCE, one.text, strict=False)) if a != b)
        end = next(i for i, (a, b) in enumerate(zip(SENTENCE[::-1], one.text[::-1], strict=False)) if a != b)
        assert SENTENCE[start : len(SENTENCE) - end].count(" ") <= 2


def test_the_seed_decides() -> None:
    assert made(seed=1) == made(seed=1)
    assert made(seed=1) != made(seed=2)


def test_a_sentence_without_anything_to_change_gives_nothing() -> None:
    assert made("Wow!") == []
