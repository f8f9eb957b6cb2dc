import random
import re
from pathlib import Path
from typing import Any

import pytest

from xsent.lexical_overlap import words as overlap_words
from xsent.text.distractors.json_format import check_distractors
from xsent.text.distractors.protocol import Request
from xsent.text.distractors.rules import RuleMaker
from xsent.text.distractors.rules.edits import Edit, apply_edits, describe_edits, find_edit
from xsent.text.distractors.rules.maker import KINDS

SENTENCES = {
    "eng": "On Monday the large dog ate 12 fish before the children came home from school in Paris.",
    "deu": "Am Montag kaufte der große Hund 12 Bücher in Berlin, bevor die Lehrer immer nach Norden fuhren.",
    "fra": "Lundi, le grand chien a mangé 12 poissons à Paris avant l'arrivée des parents avec le roi.",
    "spa": "El lunes, el gran perro comió 12 peces en Madrid antes de la llegada de los padres con el rey.",
}


def maker(count: int = 4, seed: int = 1, combine: bool = True) -> RuleMaker:
    return RuleMaker(count=count, seed=seed, kinds=KINDS, combine=combine)


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_gets_as_many_valid_distractors_as_asked_for_by_all_kinds_in_turn(language: str) -> None:
    text = SENTENCES[language]
    [result] = maker().make([Request("1", language, text)], progress=False)
    assert result.failure == ""
    assert len(check_distractors({language: text}, language, result.distractors, "here", distinct=True)) == 4
    assert len(result.notes) == len({note.split(":")[0] for note in result.notes}) == 4


@pytest.mark.parametrize("language", SENTENCES)
def test_a_note_names_the_words_that_were_changed_and_what_came_in_their_place(language: str) -> None:
    text = SENTENCES[language]
    for distractor, change in maker(combine=False).distractors(text, language).items():
        old, new = change.split(": ", 1)[1].split(" > ")
        distractors = [
            text[: at.start()] + new + text[at.end() :] for at in re.finditer(rf"\b{re.escape(old)}\b", text)
        ]
        assert distractor in distractors


@pytest.mark.parametrize("language", SENTENCES)
def test_other_texts_and_their_order_change_nothing(language: str) -> None:
    requests = [Request(name, name, text) for name, text in SENTENCES.items()]
    together = {result.request.id: result for result in maker().make(requests[::-1], progress=False)}
    [alone] = maker().make([Request(language, language, SENTENCES[language])], progress=False)
    assert together[language] == alone


def test_another_seed_draws_other_changes_and_too_little_to_change_is_a_reason_for_none() -> None:
    assert len({tuple(maker(seed=seed).distractors(SENTENCES["deu"], "deu")) for seed in range(5)}) > 1
    [result] = maker().make([Request("1", "deu", "Montags!")], progress=False)
    assert result.distractors == ()
    assert result.failure.startswith("only 0 of 4")


def test_two_places_are_changed_where_single_changes_are_too_few() -> None:
    text = "Der Hund schlief mit dem alten Ball."  # a group of four (three others), and an opposite
    alone = RuleMaker(count=12, seed=1, kinds=["antonym", "neighbour"], combine=False).distractors(text, "deu")
    combined = RuleMaker(count=12, seed=1, kinds=["antonym", "neighbour"], combine=True).distractors(text, "deu")
    assert len(alone) == 4
    assert len(combined) == 4 + 3
    assert sum("; " in note for note in combined.values()) == 3


def test_opposites_are_never_combined_with_each_other() -> None:
    distractors = RuleMaker(count=9, seed=1, kinds=["antonym", "negation"], combine=True).distractors(
        "Das ist nicht alt.", "deu"
    )
    assert set(distractors) == {"Das ist nicht neu.", "Das ist alt."}


def test_an_unknown_language_is_refused_before_any_work_with_those_that_are_known() -> None:
    requests = [Request("1", "deu", "Ja."), Request("2", "jpn", "はい。")]
    for work in (lambda: maker().check(["deu", "jpn"]), lambda: next(maker().make(requests, progress=False))):
        with pytest.raises(ValueError, match=r"no rules for jpn: expected languages of deu, eng, fra, spa"):
            work()


KINDS_MESSAGE, COUNT_MESSAGE = "expected some of number, entity", "expected an integer of at least 1"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *(("kinds", kinds, KINDS_MESSAGE) for kinds in (["rhyme"], [], 3, None, "number", ["number", 3], [["number"]])),
        *(("count", count, COUNT_MESSAGE) for count in (0, 2.5, "x", True, None)),
        *(("seed", seed, "expected an integer of at least 0") for seed in (-1, 2.5, None)),
        *(("combine", combine, "expected true or false") for combine in (3, "yes", None)),
    ],
)
def test_a_value_of_another_type_or_range_is_refused(name: str, value: Any, message: str) -> None:
    values = {"count": 4, "seed": 1, "kinds": KINDS, "combine": True, name: value}
    with pytest.raises(ValueError, match=rf"maker\.{name}={re.escape(str(value))}: {message}"):
        RuleMaker(**values)


def test_the_difference_of_two_sentences_is_of_whole_words_without_the_signs_around_them() -> None:
    edit = find_edit("He came on Monday, late.", "He came on Sunday, late.", "entity")
    assert edit == Edit(11, 17, "Sunday", "entity")
    assert apply_edits("He came on Monday, late.", [edit]) == "He came on Sunday, late."
    assert describe_edits("He came on Monday, late.", [edit]) == "entity: Monday > Sunday"
    # Any two sentences are one difference apart.
    rng = random.Random(0)
    for _ in range(500):
        first, second = (
            " ".join(rng.choices(["a", "an", "apple,", "pear", "(pear)"], k=rng.randint(1, 5))) for _ in "12"
        )
        if first != second:
            assert apply_edits(first, [find_edit(first, second, "any")]) == second


@pytest.mark.parametrize("language", SENTENCES)
def test_most_sentences_of_flores_get_four_distractors_that_differ_in_little(language: str, shared_data: Path) -> None:
    folder = shared_data / "flores200" / "dev"
    [path] = folder.glob(f"{language}_*.dev")
    lines = path.read_text(encoding="utf-8").split("\n")[:300]
    requests = [Request(str(number), language, line) for number, line in enumerate(lines)]
    results = [result for result in maker().make(requests, progress=False) if not result.failure]
    assert len(results) >= 0.7 * len(lines)
    for result in results:
        check_distractors(
            {language: result.request.text}, language, result.distractors, result.request.id, distinct=True
        )
        for distractor in result.distractors:
            # Two changes of four words at most.
            assert len(overlap_words(distractor) - overlap_words(result.request.text)) <= 8
            assert abs(len(distractor.split()) - len(result.request.text.split())) <= 6
