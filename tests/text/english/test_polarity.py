import pytest

from xsent.text.english.polarity import invert_polarity

CASES = {
    # "not" after an auxiliary
    "The pilot was identified.": "The pilot was not identified.",
    "They can open the door.": "They cannot open the door.",
    "He will come tomorrow.": "He will not come tomorrow.",
    "The team has won the match.": "The team has not won the match.",
    "It's easy.": "It's not easy.",
    "They're here and he was late.": "They're not here and he was late.",
    # do-support, in the right tense and number
    "He graduated in 1950.": "He did not graduate in 1950.",
    "She writes books.": "She does not write books.",
    "They need help.": "They do not need help.",
    "The soldiers took the town.": "The soldiers did not take the town.",
    "The house has a roof.": "The house does not have a roof.",
    "He originally named the place.": "He did not originally name the place.",
    "The protest started around noon.": "The protest did not start around noon.",
    # taking it out again
    "The pilot was not identified.": "The pilot was identified.",
    "It isn't allowed.": "It is allowed.",
    "We cannot see the moon.": "We can see the moon.",
    "We can't see the moon.": "We can see the moon.",
    "You won't like the food.": "You will like the food.",
    "He didn't go home.": "He went home.",
    "He did not stop.": "He stopped.",
    "She does not study French.": "She studies French.",
    "The Sun doesn't have a crust.": "The Sun has a crust.",
    "They do not accept cards.": "They accept cards.",
    "Don't touch the glass.": "Touch the glass.",
    "It’s not illegal.": "It’s illegal.",
}


@pytest.mark.parametrize(("sentence", "expected"), CASES.items(), ids=CASES)
def test_a_statement_is_denied_or_a_denial_taken_back(sentence: str, expected: str) -> None:
    assert expected in invert_polarity(sentence)


LEFT_ALONE = {
    "Is it true that he was late?": [],  # a question
    "Nobody was there.": [],  # denies already
    "He did nothing.": [],
    "The will of the people broke.": ["The will of the people did not break."],  # "will" is a noun
    "In May it opens.": ["In May it does not open."],  # "May" is a month
    "It is not only old but ugly.": [],  # needs its "not"
    "I don't know whether or when.": [],
    "It happened at 9:30 am local time.": ["It did not happen at 9:30 am local time."],
    "The song performed by them was good.": ["The song performed by them was not good."],  # a participle
    "I've had to go.": [],
}


@pytest.mark.parametrize(("sentence", "expected"), LEFT_ALONE.items(), ids=LEFT_ALONE)
def test_unclear_sentences_stay(sentence: str, expected: list[str]) -> None:
    assert invert_polarity(sentence) == expected


def test_every_statement_gives_one_sentence_contracted_where_the_sentence_has_contractions() -> None:
    assert set(invert_polarity("It's late and he is here.")) == {
        "It's not late and he is here.",
        "It's late and he isn't here.",
    }
    assert set(invert_polarity("He was old and she is young.")) == {
        "He was not old and she is young.",
        "He was old and she is not young.",
    }
