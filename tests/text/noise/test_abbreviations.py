"""``abr1``, ``abr2`` and ``abr3``: the published cases, the plain walk that ``abr1`` shortens, and rules by hand."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from xsent.text.noise.abbreviations import Abbreviations, Acronyms, Rules, abr1, abr2, abr3, rule
from xsent.text.noise.lexicons import Lexicons, bundled
from xsent.text.noise.tokenizer import pieces


def published(fixtures_dir: Path, name: str) -> list[tuple[str, str]]:
    fixture = json.loads((fixtures_dir / "rolaser.json").read_text(encoding="utf-8"))
    return [(case["in"], case["out"][0]) for case in fixture["nl_augmenter_test_cases"]["cases"][name]]


def test_abr1_passes_the_published_cases(fixtures_dir: Path, nl_augmenter: Lexicons) -> None:
    for sentence, expected in published(fixtures_dir, "abr1"):
        assert abr1(sentence, Random(0), probability=0.5, lexicon=nl_augmenter.abr1) == expected


def test_abr1_equals_the_walk_through_the_whole_list(shared_data: Path, nl_augmenter: Lexicons) -> None:
    lexicon = nl_augmenter.abr1
    with gzip.open(shared_data / "english" / "english.tsv.gz", "rt", encoding="utf-8", newline="\n") as lines:
        sentences = [line.split("\t")[0] for line, _ in zip(lines, range(100), strict=False)]
    for seed, sentence in enumerate([*sentences, "I don't know what to do, so I see you later"]):
        rng = Random(seed)
        text = sentence
        for phrase, (short,) in lexicon.phrases.items():
            if rng.random() < 0.6:
                text = text.replace(phrase, short)
        words = [piece.text for piece in pieces(text)]
        words = [lexicon.words[word][0] if word in lexicon.words and rng.random() < 0.6 else word for word in words]
        assert abr1(sentence, Random(seed), probability=0.6, lexicon=lexicon) == " ".join(words)


def test_a_short_form_may_make_a_later_phrase_but_no_earlier_one() -> None:
    lexicon = Abbreviations({"one two": ("three",), "three four": ("five",), "zero one": ("one",)}, {})
    assert abr1("one two four", Random(0), probability=1, lexicon=lexicon) == "five"
    assert abr1("zero one two", Random(0), probability=1, lexicon=lexicon) == "zero three"


@pytest.mark.parametrize(
    "sentence",
    [
        "I am looking forward to it", "He brought two", "They are going together", "You haven't", "I see your car",
        "you took it", "a lottery", "I know that you haven’t",
    ],
)  # fmt: skip
def test_phrases_of_this_project_are_not_found_within_words(sentence: str) -> None:
    listed = ["looking for", "ought to", "going to", "you have", "see you", "you too", "a lot"]
    lexicon = bundled().abr1
    # "haven't" is shortened, but not "you have" before it.
    present = {lexicon.numbered[place][0] for place in lexicon.present(sentence)}
    assert present <= {"haven't", "haven’t"}
    chosen = Abbreviations(dict.fromkeys(listed, ("x",)), {}, whole_words=True)
    assert abr1(sentence, Random(0), probability=1, lexicon=chosen) == " ".join(one.text for one in pieces(sentence))


def test_a_phrase_ends_where_a_letter_a_digit_or_an_ending_begins() -> None:
    lexicon = Abbreviations({"or not": ("x",)}, {}, whole_words=True)
    found = "or not, (or not) 'or not' or not's 5or not or not5 o'or not or notü or-or not-or"
    assert abr1(found, Random(0), probability=1, lexicon=lexicon) == " ".join(
        piece.text for piece in pieces("x, (x) 'x' or not's 5or not or not5 o'or not or notü or-x-or")
    )


def test_contracted_phrases_are_found_with_either_apostrophe() -> None:
    lexicon = bundled().abr1
    assert abr1("I don't care", Random(0), probability=1, lexicon=lexicon) == "idc"
    assert abr1("I don’t care", Random(0), probability=1, lexicon=lexicon) == "idc"


def test_every_bundled_word_can_be_found() -> None:
    assert [word for word in bundled().abr1.words if len(pieces(word)) != 1] == []


def test_rules_leave_the_small_words_of_a_sentence_alone() -> None:
    sentence = "the to for and that they be this you with are your was have from there has can had in of"
    assert abr2(sentence, Random(0), lexicon=bundled().abr2) == sentence


def test_rules_change_fewer_words_than_the_released_ones(shared_data: Path, nl_augmenter: Lexicons) -> None:
    with gzip.open(shared_data / "english" / "english.tsv.gz", "rt", encoding="utf-8", newline="\n") as lines:
        sentences = [line.split("\t")[0] for line, _ in zip(lines, range(3000), strict=False)]
    kept = []
    for rules in (bundled().abr2, nl_augmenter.abr2):
        pairs = [(one.split(), Counter(abr2(one, Random(0), lexicon=rules).split())) for one in sentences]
        kept.append(sum((Counter(words) & after).total() for words, after in pairs))
    assert kept[0] > kept[1]


def test_abr1_without_luck_only_sets_pieces_apart() -> None:
    assert abr1("Me, but you!", Random(0), probability=0, lexicon=bundled().abr1) == "Me , but you !"


def test_abr1_takes_all_short_forms_of_a_word() -> None:
    lexicon = Abbreviations({}, {"because": ("cuz", "bc")})
    assert {abr1("because", Random(seed), probability=1, lexicon=lexicon) for seed in range(20)} == {"cuz", "bc"}


def test_abr2_passes_the_published_cases(fixtures_dir: Path, nl_augmenter: Lexicons) -> None:
    for sentence, expected in published(fixtures_dir, "abr2"):
        assert abr2(sentence, Random(0), lexicon=nl_augmenter.abr2) == expected


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
    rules = [
        ("cu", "see you"), ("cul8r", "see you later"), ("wanna", 'want to ("?")'), ("omy", "oh (,) my"),
        ("ho", "(w)hole other"), ("v", "very+ good"), ("sg", "so so* good"),
    ]  # fmt: skip
    lexicon = Rules(tuple(rule(label, phrase) for label, phrase in rules))
    assert abr2(sentence, Random(0), lexicon=lexicon) == expected


@pytest.mark.parametrize(
    "phrase",
    [
        "",
        "?+ you",
        "[a|b]+ you",
        "a|b",
        "%rgx",
        '("?") you',
        "(so",
        "so)",
        "s(o",
        "a (b)(c)",
        "()",
        '"!',
        'oh"',
        '""',
        '"a"b"',
        "so +",
        "so *",
        "+",
        "a (+)",
        '"x"+',
        "b(a(c))",
    ],
)
def test_a_rule_in_another_notation_is_an_error(phrase: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        rule("x", phrase)


def test_abr3_passes_the_published_cases(fixtures_dir: Path, nl_augmenter: Lexicons) -> None:
    for sentence, expected in published(fixtures_dir, "abr3"):
        assert abr3(sentence, Random(0), lexicon=nl_augmenter.abr3) == expected


PAIRS = Acronyms((("A.S.A.P.", "As soon as possible"), ("ASAP", "As soon as possible"), ("LET", "Leaving early today"),
                  ("HR", "Human resources"), ("ACCT", "Account")))  # fmt: skip


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
    ],
)
def test_abr3_swaps_either_form_for_the_other(sentence: str, expected: str) -> None:
    assert abr3(sentence, Random(0), lexicon=PAIRS) == expected


def test_abr3_changes_one_to_all_of_the_matches() -> None:
    found = {abr3("HR, HR and HR", Random(seed), lexicon=PAIRS).count("human") for seed in range(60)}
    assert found == {1, 2, 3}


def test_abr3_leaves_the_rest_of_a_sentence_as_it_is() -> None:
    assert abr3("“HR”  said:\tno…", Random(0), lexicon=PAIRS) == "“human resources”  said:\tno…"
