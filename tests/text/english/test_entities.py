import random

import pytest

from xsent.text.english.entities import Entity, NameCollector, Names
from xsent.text.word_lists import load_sections


def replacements(names: Names, sentence: str, entity: Entity) -> list[str]:
    return names.draw(sentence, entity, 1000, random.Random(0))


CASES = {
    "He came on Monday.": ("Monday", "weekday"),
    "France won.": ("France", "country"),
    "He left the United States.": ("United States", "the country"),
    "A German submarine sank.": ("German", "people and language"),
    "Two Americans sank.": ("Americans", "people, plural"),
    "He met Angela Miller in secret.": ("Angela Miller", "woman"),
    "He met Prime Minister Wickham yesterday.": ("Wickham", "surname"),
    "Later Dr. Quibell agreed.": ("Quibell", "surname"),
    "A storm hit Lake Onega.": ("Lake Onega", "lake"),
    "They crossed the Mara River.": ("Mara River", "the river"),
    "She studied at Lund University.": ("Lund University", "university"),
    "He left the University of Lund.": ("University of Lund", "the university"),
    "It is on Macbeth Street.": ("Macbeth Street", "street"),
    "The rain in Tobruk stopped.": ("Tobruk", "place"),
    "The 2008 Singapore Grand Prix began.": ("Singapore", "country"),
    "It rains in May.": ("May", "month"),
    "Obviously Vidal said yes.": ("Vidal", "surname"),
}


@pytest.mark.parametrize(("sentence", "expected"), CASES.items(), ids=CASES)
def test_a_name_is_found_with_its_kind(sentence: str, expected: tuple[str, str]) -> None:
    (entity,) = Names({}).find(sentence)
    assert (sentence[entity.start : entity.end], entity.kind) == expected


def test_a_capital_alone_makes_no_name() -> None:
    for sentence in ("However, rain fell.", "May I go?", "The Papers were found.", "I am here."):
        assert Names({}).find(sentence) == []


def test_a_title_and_a_people_before_a_person_are_told_apart() -> None:
    sentence = "Yesterday German Chancellor Angela Miller spoke."
    entities = [(sentence[name.start : name.end], name.kind) for name in Names({}).find(sentence)]
    assert entities == [("German", "people and language"), ("Angela Miller", "woman")]


def test_another_name_is_of_the_same_kind_and_not_in_the_sentence() -> None:
    names = Names({})
    sentence = "It rained from Monday to Friday in France."
    monday, friday, france = names.find(sentence)
    weekdays = set(load_sections("names")["weekday"])
    assert set(replacements(names, sentence, monday)) == weekdays - {"Monday", "Friday"}
    countries = {name for name in load_sections("names")["country"] if not name.startswith("the ")}
    assert set(replacements(names, sentence, france)) == countries - {"France"}
    assert friday.kind == "weekday"
    # A name with the article gives way to one with the article.
    sentence = "He left the Netherlands."
    (entity,) = names.find(sentence)
    drawn = replacements(names, sentence, entity)
    assert drawn
    assert all(f"the {name}" in load_sections("names")["country"] for name in drawn)


def test_a_corpus_adds_names_whatever_its_order() -> None:
    corpus = ["He saw Anna Quibell.", "It is on Macbeth Street.", "Obviously Vidal said yes.", "Then Vidal added more."]
    entities = []
    for lines in (corpus, corpus[::-1]):
        collector = NameCollector()
        for line in lines:
            collector.add(line)
        entities.append(collector.names())
    assert (
        entities[0]
        == entities[1]
        == {"woman": ["Anna Quibell"], "street": ["Macbeth Street"], "surname": ["Quibell", "Vidal"]}
    )
    names = Names(entities[0])
    sentence = "Quibell came first."
    assert [entity.kind for entity in names.find(sentence)] == ["surname"]
    assert "Vidal" in replacements(names, sentence, names.find(sentence)[0])
    # A name that only one neighbour tells is not learned.
    collector = NameCollector()
    collector.add("The rain in Tobruk stopped.")
    assert collector.names() == {}
    collector.add("It is hot in Tobruk.")
    assert collector.names() == {"place": ["Tobruk"]}
