import gzip
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from xsent.text.noise.abbreviation_rules import Rules, apply_rules, parse_rule
from xsent.text.noise.abbreviations import Abbreviations, Acronyms, abbreviate, toggle_acronyms
from xsent.text.noise.lexicons import Lexicons, bundled
from xsent.text.noise.tokenizer import split_pieces


def test_abr1_equals_a_plain_loop_over_the_list(shared_data: Path, nl_augmenter: Lexicons) -> None:
    lexicon = nl_augmenter.abr1
    with gzip.open(shared_data / "english" / "english.tsv.gz", "rt", encoding="utf-8", newline="\n") as lines:
        sentences = [line.split("\t")[0] for line, _ in zip(lines, range(100), strict=False)]
    for seed, sentence in enumerate([*sentences, "I don't know what to do, so I see you later"]):
        rng = Random(seed)
        text = sentence
        for phrase, (short,) in lexicon.phrases.items():
            if rng.random() < 0.6:
                text = text.replace(phrase, short)
        words = [piece.text for piece in split_pieces(text)]
        words = [lexicon.words[word][0] if word in lexicon.words and rng.random() < 0.6 else word for word in words]
        assert abbreviate(sentence, Random(seed), probability=0.6, lexicon=lexicon) == " ".join(words)


def test_a_short_form_can_complete_a_later_phrase_only() -> None:
    lexicon = Abbreviations({"one two": ("three",), "three four": ("five",), "zero one": ("one",)}, {})
    assert abbreviate("one two four", Random(0), probability=1, lexicon=lexicon) == "five"
    assert abbreviate("zero one two", Random(0), probability=1, lexicon=lexicon) == "zero three"


@pytest.mark.parametrize(
    "sentence",
    [
        "I am looking forward to it",
        "He brought two",
        "They are going together",
        "You haven't",
        "I see your car",
        "you took it",
        "a lottery",
        "I know that you haven’t",
    ],
)
def test_bundled_phrases_do_not_match_within_words(sentence: str) -> None:
    listed = ["looking for", "ought to", "going to", "you have", "see you", "you too", "a lot"]
    lexicon = bundled().abr1
    # "haven't" is shortened, but not "you have" before it.
    present = {lexicon.entries[i][0] for i in lexicon.find_phrases(sentence)}
    assert present <= {"haven't", "haven’t"}
    chosen = Abbreviations(dict.fromkeys(listed, ("x",)), {}, whole_words=True)
    words = [piece.text for piece in split_pieces(sentence)]
    assert abbreviate(sentence, Random(0), probability=1, lexicon=chosen) == " ".join(words)


def test_a_phrase_ends_where_a_letter_a_digit_or_an_ending_begins() -> None:
    lexicon = Abbreviations({"or not": ("x",)}, {}, whole_words=True)
    text = "or not, (or not) 'or not' or not's 5or not or not5 o'or not or notü or-or not-or"
    assert abbreviate(text, Random(0), probability=1, lexicon=lexicon) == " ".join(
        piece.text for piece in split_pieces("x, (x) 'x' or not's 5or not or not5 o'or not or notü or-x-or")
    )


def test_contracted_phrases_are_found_with_either_apostrophe() -> None:
    for text in ("I don't care", "I don’t care"):
        assert abbreviate(text, Random(0), probability=1, lexicon=bundled().abr1) == "idc"


def test_every_bundled_word_can_be_found() -> None:
    assert [word for word in bundled().abr1.words if len(split_pieces(word)) != 1] == []


def test_rules_leave_the_small_words_of_a_sentence_alone() -> None:
    sentence = "the to for and that they be this you with are your was have from there has can had in of"
    assert apply_rules(sentence, Random(0), lexicon=bundled().abr2) == sentence


def test_rules_change_fewer_words_than_the_released_ones(shared_data: Path, nl_augmenter: Lexicons) -> None:
    with gzip.open(shared_data / "english" / "english.tsv.gz", "rt", encoding="utf-8", newline="\n") as lines:
        sentences = [line.split("\t")[0] for line, _ in zip(lines, range(3000), strict=False)]
    unchanged = []
    for rules in (bundled().abr2, nl_augmenter.abr2):
        pairs = [(text.split(), Counter(apply_rules(text, Random(0), lexicon=rules).split())) for text in sentences]
        unchanged.append(sum((Counter(words) & after).total() for words, after in pairs))
    assert unchanged[0] > unchanged[1]


def test_abr1_with_probability_0_only_separates_pieces() -> None:
    assert abbreviate("Me, but you!", Random(0), probability=0, lexicon=bundled().abr1) == "Me , but you !"


def test_abr1_takes_all_short_forms_of_a_word() -> None:
    lexicon = Abbreviations({}, {"because": ("cuz", "bc")})
    assert {abbreviate("because", Random(seed), probability=1, lexicon=lexicon) for seed in range(20)} == {"cuz", "bc"}


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("see you later", "cul8r"),  # the longest rule
        ("see you", "cu"),
        ("See you soon", "Cu soon"),  # a capital stays
        ("see yourself", "see yourself"),  # whole words
        ("want to go", "wanna go"),
        ("want to? Go", "wanna Go"),  # what is optional goes with it
        ("i want to", "i want to"),  # at the end there is nothing that could be optional
        ("oh, my!", "omy!"),
        ("oh my!", "omy!"),
        ("whole other", "ho"),
        ("hole other", "ho"),
        ("very very very good", "v"),
        ("so good", "sg"),
        ("so so so good", "sg"),
        ("$5 so_good", "$5 so_good"),
        ("見る see you", "見る cu"),
    ],
)
def test_rules_match_by_hand(sentence: str, expected: str) -> None:
    phrases = {"cu": "see you", "cul8r": "see you later", "wanna": 'want to ("?")', "omy": "oh (,) my"}
    phrases |= {"ho": "(w)hole other", "v": "very+ good", "sg": "so so* good"}
    lexicon = Rules(tuple(parse_rule(short, phrase) for short, phrase in phrases.items()))
    assert apply_rules(sentence, Random(0), lexicon=lexicon) == expected


BAD_RULES = ["", "?+ you", "[a|b]+ you", "a|b", "%rgx", '("?") you', "(so", "so)", "s(o", "a (b)(c)", "()", "so +"]
BAD_RULES += ["so *", "+", '"!', 'oh"', '""', '"a"b"', "a (+)", '"x"+', "b(a(c))"]


@pytest.mark.parametrize("phrase", BAD_RULES)
def test_a_rule_in_another_notation_is_an_error(phrase: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_rule("x", phrase)


ASAP = "As soon as possible"
PAIRS = Acronyms(
    (("A.S.A.P.", ASAP), ("ASAP", ASAP), ("LET", "Leaving early today"), ("HR", "Human resources"), ("ACCT", "Account"))
)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Tell me ASAP, please", "Tell me as soon as possible, please"),
        ("as soon as possible", "A.S.A.P."),  # of two short forms the first
        ("As soon as you can", "As soon as you can"),
        ("Let me know", "Let me know"),  # a verb
        ("an account of it", "an ACCT of it"),
        ("It is hr's job", "It is human resources's job"),
        ("accounts", "accounts"),
        ("", ""),
        ("会計 ASAP", "会計 as soon as possible"),
        ("“HR”  said:\tno…", "“human resources”  said:\tno…"),
    ],
)
def test_abr3_swaps_either_form_for_the_other(sentence: str, expected: str) -> None:
    assert toggle_acronyms(sentence, Random(0), lexicon=PAIRS) == expected


def test_abr3_changes_one_to_all_of_the_matches() -> None:
    counts = {toggle_acronyms("HR, HR and HR", Random(seed), lexicon=PAIRS).count("human") for seed in range(60)}
    assert counts == {1, 2, 3}
