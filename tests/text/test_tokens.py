from __future__ import annotations

import pytest

from xsent.text.tokens import replaced, starts_sentence, takes_an, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("apple", True), ("house", False), ("hour", True), ("honest man", True), ("university", False),
        ("unimportant", True), ("European", False), ("one-way", False), ("orange", True), ("useful", False),
        ("8", True), ("80", True), ("11", True), ("18-year-old", True), ("180", False), ("1,100", False),
        ("FBI", True), ("UN", False), ("NASA", False), ("US", False), ("uncle", True), ("Ukrainian", False),
    ],
)  # fmt: skip
def test_the_article_follows_the_sound(text: str, expected: bool) -> None:
    assert takes_an(text) is expected


def test_an_article_is_set_right_and_nothing_else_changes() -> None:
    assert replaced("He ate an apple.", 10, 15, "pear") == "He ate a pear."
    assert replaced("A pear fell.", 2, 6, "apple") == "An apple fell."
    assert replaced("He ate the apple.", 11, 16, "pear") == "He ate the pear."


def test_words_keep_their_places() -> None:
    sentence = "Don't go: it's 28-year-old “X”."
    assert [token.text for token in tokens(sentence)] == ["Don't", "go", ":", "it's", "28-year-old", "“", "X", "”", "."]
    assert all(sentence[token.start : token.end] == token.text for token in tokens(sentence))


@pytest.mark.parametrize(
    ("sentence", "word", "expected"),
    [("He left. Then rain", "Then", True), ('He said: "Go home', "Go", True), ("In Paris now", "Paris", False),
     ("First words", "First", True)],
)  # fmt: skip
def test_the_start_of_a_sentence_is_known(sentence: str, word: str, expected: bool) -> None:
    assert starts_sentence(sentence, sentence.index(word)) is expected
