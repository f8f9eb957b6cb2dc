import random
import re

import pytest

from xsent.text.english.numbers import replace_numbers


def replace(sentence: str, per_number: int = 25) -> list[str]:
    return replace_numbers(sentence, per_number=per_number, rng=random.Random(0))


FORMS = [
    ("It has 1,234,567 people.", r"It has [1-9],\d{3},\d{3} people\."),
    ("It has 3,000 people.", r"It has [1-9],000 people\."),
    ("It costs $2.3 billion.", r"It costs \$[1-9]\.[1-9] billion\."),
    ("It costs €14.75.", r"It costs €[1-9]\d\.\d[1-9]\."),
    ("It fell by 0.5 percent.", r"It fell by 0\.[1-9] percent\."),
    ("He won 88% of the points.", r"He won [1-9]\d% of the points\."),
    ("He scored his 3rd goal.", r"He scored his (?:2nd|3rd|[4-9]th) goal\."),
    ("It was his 60th goal.", r"It was his (?:\d1st|\d2nd|\d3rd|\d[04-9]th|1[1-3]th) goal\."),
    ("In the 17th century it fell.", r"In the (?:2nd|3rd|[4-9]th|1\dth|20th) century it fell\."),
    ("In the 1960s it fell.", r"In the 19[1-9]0s it fell\."),
    ("It fell in 1945.", r"It fell in (?:190[5-9]|19[1-7]\d|198[0-5])\."),
    ("It opens at 9:30 am.", r"It opens at [1-9]:[0-5][05] am\."),
    ("It opens at 11:29 pm.", r"It opens at 1[0-2]:[0-5]\d pm\."),
    ("It opens at 16:00.", r"It opens at (?:1\d|2[0-3]):[0-5][05]\."),
    ("It was at 0230 UTC.", r"It was at [0-2]\d[0-5]\d UTC\."),
    ("He came on May 26, and left.", r"He came on May (?:[2-9]|1\d|2[0-8]), and left\."),
    ("He came on 26 May.", r"He came on (?:[2-9]|1\d|2[0-8]) May\."),
    ("He weighs 90kg.", r"He weighs [1-9]0kg\."),
    ("The 28-year-old came.", r"The [1-9]\d-year-old came\."),
    ("They sold 1200 cars.", r"They sold [1-9]\d00 cars\."),
    ("It took twenty-one days.", r"It took (?:twen|thir|for|fif|six|seven|eigh|nine)ty-(?!one)\w+ days\."),
    ("It took thirteen days.", r"It took \w+teen days\."),
    ("It took two hundred days.", r"It took (?:three|four|five|six|seven|eight|nine) hundred days\."),
    ("Two men came.", r"[TFSEN]\w+ men came\."),
    ("The second prize is hers.", r"The (?:third|\w+th) prize is hers\."),
]


@pytest.mark.parametrize(("sentence", "form"), FORMS, ids=[sentence for sentence, _ in FORMS])
def test_a_number_keeps_its_form_and_not_its_value(sentence: str, form: str) -> None:
    variants = replace(sentence)
    assert variants
    assert sentence not in variants
    assert [variant for variant in variants if not re.fullmatch(form, variant)] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "One never knows which one it is.",  # a pronoun
        "He scored 1 goal and 0 points.",  # "goal" has to stay singular
        "The JAS 39C, the U-235, COVID-19 and 802.11n are names.",
        "It happened on 9/11 at 10.0.0.1, see #7.",
        "World War II began, and the Group of Seven met.",
        "About two-thirds and one-half came.",
        "At first he was first among equals.",
        "Wait a second for the second of them.",
        "It was the 1995-96 season.",
    ],
)
def test_numbers_in_codes_and_names_stay(sentence: str) -> None:
    assert replace(sentence) == []


def test_years_and_spans_stay_in_their_order() -> None:
    for variant in replace("He ruled from 1418 to 1450 and lost in 1460."):
        first, second, third = (int(year) for year in re.findall(r"\d{4}", variant))
        assert first < second < third
    numbers = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    variants = replace("It lasts between three and six months.")
    assert variants
    for variant in variants:
        low, high = (numbers.index(word) for word in variant.split() if word in numbers)
        assert low < high


def test_the_article_follows_the_number() -> None:
    variants = replace("He has an 80-page book.")
    assert "He has a 70-page book." in variants
    assert all("a 8" not in variant and "an 7" not in variant for variant in variants)


def test_each_number_is_replaced_so_often_at_most() -> None:
    variants = replace("He has 45 cats and 67 dogs.", per_number=3)
    assert len(variants) == len(set(variants)) == 6
    assert sum("67 dogs" in variant for variant in variants) == sum("45 cats" in variant for variant in variants) == 3
