from xsent.text.english.tokens import replace_span, starts_sentence, takes_an, tokenize

WITH_AN = ["apple", "hour", "honest man", "unimportant", "orange", "8", "80", "11", "18-year-old", "FBI", "uncle"]
WITH_A = ["house", "university", "European", "one-way", "useful", "180", "1,100", "UN", "NASA", "US", "Ukrainian"]


def test_the_article_follows_the_sound() -> None:
    assert [text for text in WITH_AN if not takes_an(text)] == []
    assert [text for text in WITH_A if takes_an(text)] == []


def test_only_the_article_is_corrected() -> None:
    assert replace_span("He ate an apple.", 10, 15, "pear") == "He ate a pear."
    assert replace_span("A pear fell.", 2, 6, "apple") == "An apple fell."
    assert replace_span("He ate the apple.", 11, 16, "pear") == "He ate the pear."


def test_tokens_have_their_offsets() -> None:
    sentence = "Don't go: it's 28-year-old “X”."
    expected = ["Don't", "go", ":", "it's", "28-year-old", "“", "X", "”", "."]
    assert [token.text for token in tokenize(sentence)] == expected
    assert all(sentence[token.start : token.end] == token.text for token in tokenize(sentence))


def test_the_start_of_a_sentence_is_known() -> None:
    for sentence, word in (("He left. Then rain", "Then"), ('He said: "Go home', "Go"), ("First words", "First")):
        assert starts_sentence(sentence, sentence.index(word))
    assert not starts_sentence("In Paris now", 3)
