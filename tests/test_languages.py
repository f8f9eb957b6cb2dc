import pytest

from xsent.languages import to_iso639_1, to_iso639_3


@pytest.mark.parametrize("code", ["en", "eng", "eng_Latn", "en-US", "EN"])
def test_one_language_has_one_code_whatever_the_file_says(code: str) -> None:
    assert to_iso639_3(code) == "eng"


@pytest.mark.parametrize(
    ("member", "macrolanguage"),
    [("cmn", "zho"), ("arb", "ara"), ("pes", "fas"), ("ayr", "aym"), ("swh", "swa"), ("zho_Hans", "zho")],
)
def test_a_member_that_stands_for_its_macrolanguage_becomes_it(member: str, macrolanguage: str) -> None:
    assert to_iso639_3(member) == macrolanguage


@pytest.mark.parametrize(
    ("two", "three"),
    [("isv", "isv"), ("de", "deu"), ("gn", "grn"), ("ay", "aym"), ("ro", "ron"), ("ja", "jpn"), ("tl", "tgl")],
)
def test_two_letters_become_three(two: str, three: str) -> None:
    assert to_iso639_3(two) == three


def test_tagalog_stays_tagalog() -> None:
    assert to_iso639_3("tgl") == "tgl"


@pytest.mark.parametrize("code", ["xx", "jp", "foo", "", "und", "germann", "en-"])
def test_an_unknown_language_is_an_error_that_names_it(code: str) -> None:
    with pytest.raises(ValueError, match=f"unknown language '{code}'"):
        to_iso639_3(code)


def test_the_error_offers_codes_near_the_unknown_one() -> None:
    with pytest.raises(ValueError, match=r"near it: .*\bdeu\b"):
        to_iso639_3("deuu")


@pytest.mark.parametrize(
    ("code", "short"), [("deu", "de"), ("zho", "zh"), ("tgl", "tl"), ("aym", "ay"), ("yue", "yue")]
)
def test_the_code_of_the_hub_is_the_short_one_if_there_is_one(code: str, short: str) -> None:
    assert to_iso639_1(code) == short
    assert to_iso639_3(short) in (code, "zho")  # Cantonese is a part of Chinese
