import re
from collections import Counter
from pathlib import Path

import pytest

from tests.helpers import write_nl_augmenter
from xsent.text.noise.lexicons import Lexicons, bundled, from_folder
from xsent.text.noise.tokenizer import split_pieces
from xsent.text.word_lists import load_sections

LISTS = ["abbreviations", "acronyms", "calendar", "contractions", "dyslexia", "misspellings", "slang"]
ABBREVIATIONS = "abbreviation_transformation"
RULES = "insert_abbreviation/replacement_rules_en.txt"
ACRONYMS = "replace_abbreviation_and_acronyms/abbreviations.txt"


def test_the_bundled_lists_are_long_enough_for_real_noise() -> None:
    lists = bundled()
    assert len(load_sections("abbreviations")["phrases"]) >= 150
    assert len(load_sections("abbreviations")["words"]) >= 250
    assert len(lists.abr3.pairs) >= 100
    assert len(lists.homo) >= 250
    assert len(lists.dysl.pairs) >= 34
    assert len(lists.spel) >= 400
    slang = load_sections("slang")
    assert len(slang["nouns"]) + len(slang["adjectives"]) + len(slang["adverbs"]) >= 200
    assert all(1 <= len(errors) <= 6 for errors in lists.spel.values())


@pytest.mark.parametrize("name", LISTS)
def test_an_entry_stands_once_and_gives_something_else(name: str) -> None:
    for entries in load_sections(name).values():
        split = [re.split(r" [=>] ", entry) for entry in entries]
        assert all(len(pair) == 2 for pair in split)
        assert [word for word, count in Counter(word for word, _ in split).items() if count > 1] == []
        for word, replacements in split:
            assert word not in replacements.split(" / ")
            assert all(text.strip() == text != "" for text in replacements.split(" / "))


def test_weekdays_and_months_are_complete() -> None:
    week = bundled().week
    assert len(week.short) == 18  # May has no short form
    assert all(week.full[short] == name for name, short in week.short.items())


def test_a_bundled_entry_is_found_at_the_start_of_a_sentence_too() -> None:
    words = bundled().abr1.words
    assert words["You"] == words["you"]


def test_every_homophone_can_be_found_and_is_not_its_own() -> None:
    lists = bundled().homo
    assert all(group and word not in group for word, group in lists.items())
    assert all(word == word.lower() and len(split_pieces(word)) == 1 for word in lists)
    assert lists["eye"] == ("I",)
    assert lists["i"] == ("eye",)
    assert "they're" in lists["their"]


SPELLINGS = """license licence, practice practise, judgment judgement, fulfil fulfill, gauge gage, center centre,
dependent dependant, publicly publically, theater theatre, program programme, gray grey, defense defence,
offense offence, catalog catalogue, check cheque, jewelry jewellery, skillful skilful, traveler traveller, aging ageing,
acknowledgment acknowledgement, toward towards, skeptical sceptical"""
AMERICAN = {british: american for american, british in map(str.split, SPELLINGS.split(","))}


def to_american(word: str) -> str:
    """British and American spellings of a word become one text."""
    if word in AMERICAN:
        return AMERICAN[word]
    word = re.sub(r"(?<=\w\w)our(s|ed|ing|ite|ites|ful|able)?$", r"or\1", word)
    word = re.sub("ise(s|d|r|rs)?$|ising$|isation$", lambda match: match.group().replace("is", "iz", 1), word)
    word = re.sub("lyse(d|s)?$", r"lyze\1", word)
    return re.sub("(?<=[aeo])ll(ed|ing|er|ers)$", r"l\1", word)


def test_no_misspelling_is_the_spelling_of_another_country() -> None:
    assert to_american("favourite") == to_american("favorite") == "favorite"
    assert to_american("travelling") == to_american("traveling")
    assert to_american("realise") == to_american("realize")
    for word, errors in bundled().spel.items():
        assert to_american(word) not in map(to_american, errors)


def test_the_folder_replaces_the_bundled_lists(nl_augmenter: Lexicons) -> None:
    # Numbers of the method's description; eight lines of the rule file are comments to its reader ("#? = ...").
    assert len(nl_augmenter.abr1.phrases) == 3876
    assert len(nl_augmenter.abr1.words) == 752
    assert len(nl_augmenter.abr2.rules) == 3462 - 8
    assert len(nl_augmenter.abr3.pairs) == 130
    assert len(nl_augmenter.dysl.pairs) == 34
    assert (len(nl_augmenter.spel), sum(map(len, nl_augmenter.spel.values()))) == (7760, 40634)
    slang = nl_augmenter.slng
    assert (len(slang.nouns), len(slang.adjectives), len(slang.adverbs)) == (665, 732, 26)
    assert nl_augmenter.homo == bundled().homo
    assert len(nl_augmenter.cont.full) < len(bundled().cont.full)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_nl_augmenter(tmp_path)
    return tmp_path


def test_a_small_folder_is_read(folder: Path) -> None:
    lists = from_folder(folder)
    assert lists.slng.nouns == (("man", "bloke", "blokes"),)
    assert lists.slng.adverbs == (("totally", "totes"),)
    assert [rule.short for rule in lists.abr2.rules] == ["cu"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (f"{ABBREVIATIONS}/word_abbrev_dict.json", '{"a": "b",\n"c" "d"}', r"word_abbrev_dict.json:2: expected JSON"),
        (f"{ABBREVIATIONS}/phrase_abbrev_dict.json", '{"see you": 3}', "key 'see you': expected a text.*found 3"),
        (f"{ABBREVIATIONS}/phrase_abbrev_dict.json", '{"": "x"}', "key ''"),
        ("replace_spelling/spell_errors.json", '{"the": []}', r"key 'the': expected a list of texts.*found \[\]"),
        ("replace_spelling/spell_errors.json", '["the"]', "expected a JSON object"),
        ("dyslexia_words_swap/data.json", '{"similar": {"of": ""}}', "key 'similar': expected an object"),
        (RULES, "cu = see you\nul8r see\n", "_en.txt:2: expected 'short = phrase'"),
        (RULES, "cu = see ?+\n", r"_en.txt:1: expected a word.*found '\?\+'"),
        (RULES, "cu = see you\nso = (so good\n", r"_en.txt:2: expected a word.*found '\(so'"),
        (RULES, 'oh = oh "\n', "_en.txt:1: expected a word"),
        (RULES, "so = so + good\n", r"_en.txt:1: expected a word.*found '\+'"),
        (RULES, "cu = see you ul8r = see you later\n", "_en.txt:1: expected one 'short = phrase'"),
        (ACRONYMS, "HR:Human\nIT\n", "abbreviations.txt:2: expected 'short:full"),
        ("slangificator/Slang_Nouns.txt", "man,bloke\n", "Slang_Nouns.txt:1: expected 3 columns.*'man,bloke'"),
        ("slangificator/Slang_Adverbs.txt", "a,b\n\nc,d\n", "Slang_Adverbs.txt:2: expected 2 columns"),
    ],
)
def test_an_invalid_entry_is_reported_with_its_location(folder: Path, name: str, content: str, message: str) -> None:
    (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        from_folder(folder)


def test_a_file_that_is_no_utf8_or_missing_is_named(folder: Path) -> None:
    nouns = folder / "slangificator/Slang_Nouns.txt"
    nouns.write_bytes(b"man,bloke,blokes\nm\xe4n,a,b\n")
    with pytest.raises(ValueError, match=r"Slang_Nouns.txt:2: expected UTF-8, found byte 0xe4"):
        from_folder(folder)
    nouns.unlink()
    with pytest.raises(FileNotFoundError, match=r"Slang_Nouns\.txt"):
        from_folder(folder)
