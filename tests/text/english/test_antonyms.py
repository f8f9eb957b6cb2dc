import pytest

from xsent.text.english.antonyms import replace_with_antonyms
from xsent.text.word_lists import load_sections

CASES = {
    "The large house burned.": "The small house burned.",
    "Large houses burned.": "Small houses burned.",
    "It is an old custom.": "It is a new custom.",
    "It is a usual custom.": "It is an unusual custom.",
    "Prices increased.": "Prices decreased.",
    "Prices are increasing.": "Prices are decreasing.",
    "She buys shoes.": "She sells shoes.",
    "She bought shoes.": "She sold shoes.",
    "Most reject it.": "Most accept it.",
    "It floats because of its shape.": "It floats despite its shape.",
    "It floats because it is hollow.": "It floats although it is hollow.",
    "More than ten came.": "Less than ten came.",
    "No one came.": "Everyone came.",
    "It no longer works.": "It still works.",
    "He always came.": "He never came.",
}


@pytest.mark.parametrize(("sentence", "expected"), CASES.items(), ids=CASES)
def test_a_word_becomes_its_opposite_in_the_same_form(sentence: str, expected: str) -> None:
    assert expected in replace_with_antonyms(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "As long as he likes New York, he stays.",  # a fixed expression and a name
        "Northern Rock met him at the Old Bailey.",
        "He is ten years old.",
        "They went to high school.",
    ],
)
def test_names_and_fixed_expressions_are_left_alone(sentence: str) -> None:
    assert replace_with_antonyms(sentence) == []


def test_the_list_has_at_least_200_pairs_and_no_word_has_two_opposites() -> None:
    assert len(load_sections("antonyms")["words"]) + len(load_sections("antonyms")["verbs"]) >= 200
    pairs = [entry.replace(" = ", " > ").split(" > ") for entry in load_sections("antonyms")["words"]]
    assert all(len(pair) == 2 for pair in pairs)
    both = [entry.split(" = ") for entry in load_sections("antonyms")["words"] if " = " in entry]
    first = [pair[0] for pair in pairs] + [pair[1] for pair in both]
    assert sorted({word for word in first if first.count(word) > 1}) == []
