from pathlib import Path

import pytest

from xsent.data.test_sets.clsd_files import read_rows
from xsent.text.distractors.llm.answers import Rules, Text, fold, list_items, parse_distractors

RULES = Rules(max_length_ratio=3.0, wrong_language=0.9)
TEXT = Text("deu", "Der Zug nach Berlin fährt heute um acht Uhr ab.")
GOOD = ("Der Zug nach Berlin fährt morgen um acht Uhr ab.", "Der Zug nach Bremen fährt heute um acht Uhr ab.")


@pytest.mark.parametrize(
    "answer",
    [
        "1. eins\n2. zwei",
        "1) eins\n2) zwei\n",
        "\n 1.eins\n\n 2.  zwei ",
        "１．eins\n２．zwei",
        "1、eins\n2、zwei",
        "1. eins\r\n2. zwei\r\n",
        "Here are the sentences:\n1. eins\n2. zwei",
        "Hier sind sie:\n\n```\n1. eins\n2. zwei\n```",
        '```json\n["eins", "zwei"]\n```',
        '["eins",\n "zwei"]',
        'Sure:\n["eins", "zwei"]',
        'Sure:\n```json\n["eins", "zwei"]\n```',
    ],
)
def test_a_list_is_read_in_each_of_its_forms(answer: str) -> None:
    assert list_items(answer) == ["eins", "zwei"]


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "eins\nzwei",
        "1. eins\nzwei",
        "1. eins\n3. zwei",
        "2. eins\n3. zwei",
        "1. eins\n1. zwei",
        "1. eins\n2. zwei\nI hope this helps!",
        "First remark\nSecond remark:\n1. eins\n2. zwei",
        "- eins\n- zwei",
        '{"distractors": ["eins", "zwei"]}',
        '["eins", 2]',
        '["eins", "zwei"',
        '["eins"] ["zwei"]',
        '["1. eins", "2. zwei"]',
        "[" * 100_000,
        "1.5 Millionen\n2.5 Millionen",
        "These are the sentences:",
    ],
)
def test_what_is_no_list_or_more_than_one_is_an_error(answer: str) -> None:
    with pytest.raises(ValueError, match=r"^expected .*found"):
        parse_distractors(answer, TEXT, 2, RULES)


def test_numbers_at_the_start_of_a_sentence_stay() -> None:
    items = ["5 Männer kamen.", "1,5 Millionen kamen.", "2. Liga: 3.5 Tore"]
    assert list_items("\n".join(f"{number}. {item}" for number, item in enumerate(items, start=1))) == items


@pytest.mark.parametrize("quotes", ['""', "“”", "„“", "«»", "''"])
def test_quotes_around_a_distractor_go_unless_its_text_has_them_too(quotes: str) -> None:
    quoted = [f"{quotes[0]}{distractor}{quotes[1]}" for distractor in GOOD]
    for answer in ("\n".join(quoted), f"1. {quoted[0]}\n2. {quoted[1]}"):
        assert parse_distractors(answer, TEXT, 2, RULES) == GOOD
        text = Text("deu", f"{quotes[0]}{TEXT.text}{quotes[1]}")
        assert parse_distractors(answer, text, 2, RULES) == tuple(quoted)
    # Quotes around parts stay.
    parts = ('"Der Zug" nach Berlin fährt morgen um "acht"', '"Der Zug" nach Bremen fährt heute um "acht"')
    assert parse_distractors(f"1. {parts[0]}\n2. {parts[1]}", TEXT, 2, RULES) == parts


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        ("...", "a distractor has no words"),
        ("+ %", "a distractor has no words"),
        ("der zug nach BERLIN fährt heute  um acht Uhr ab", "a distractor equals the text"),
        ("Der Zug nach Berlin fährt morgen, um acht Uhr, ab!", "two distractors are equal"),
        ("Zug.", "a distractor is shorter than its text by too much"),
        ("Der Zug nach Berlin " * 10, "a distractor is longer than its text by too much"),
        ("The train to Berlin leaves tomorrow at eight o'clock.", "a distractor is in eng, not in deu"),
        ("Der Zug\ud800 nach Bremen fährt heute um acht Uhr ab.", "a distractor has a line break or another control"),
        ("Der Zug\u2028nach Bremen fährt heute um acht Uhr ab.", "a distractor has a line break or another control"),
    ],
)
def test_a_distractor_that_will_not_do_is_an_error_that_says_why(second: str, reason: str) -> None:
    answer = f"1. {GOOD[0]}\n2. {second}"
    with pytest.raises(ValueError, match=f"^{reason}"):
        parse_distractors(answer, TEXT, 2, RULES)
    if "eng" in reason:  # unless languages are not checked
        assert parse_distractors(answer, TEXT, 2, Rules(3.0, None)) == (GOOD[0], second)


def test_the_limit_of_length_is_a_ratio_both_ways() -> None:
    def allowed(length: int) -> bool:
        try:
            parse_distractors("1. " + "b" * length, Text("und", "a" * 100), 1, Rules(2.0, None))
        except ValueError:
            return False
        return True

    assert [allowed(length) for length in (49, 50, 100, 200, 201)] == [False, True, True, True, False]


@pytest.mark.parametrize(
    ("language", "text", "distractor"),
    [
        ("deu", "Er kommt.", "Er geht."),  # too short to tell
        ("deu", "New York Times, Washington Post", "New York Post, Washington Times"),  # names in another language
        ("zho", "他明天去北京。", "他明天去上海。"),
        ("tgl", "Pupunta siya sa Maynila bukas.", "Pupunta siya sa Cebu bukas."),
        ("jbo", "Mi xau nu lo karce be mi.", "The train to Berlin leaves tomorrow."),  # Lojban: py3langid lacks it
    ],
)
def test_nothing_is_said_of_a_language_that_cannot_be_told(language: str, text: str, distractor: str) -> None:
    assert parse_distractors(f"1. {distractor}", Text(language, text), 1, RULES) == (distractor,)


@pytest.mark.parametrize(
    ("first", "second", "are_equal"),
    [
        ("Es gab 1.5 Punkte.", "Es gab 15 Punkte.", False),  # a sign of a number
        ("Es waren -5 Grad.", "Es waren 5 Grad.", False),
        ("Es waren −5 Grad.", "Es waren +5 Grad.", False),
        ("Es stand 2:1.", "Es stand 21.", False),
        ("Von 5-7 Leuten.", "Von 57 Leuten.", False),
        ("Es kostet $5.", "Es kostet €5.", False),
        ("Um 5% mehr.", "Um 5 mehr.", False),
        ("Er kommt nicht.", "Er kommt nie.", False),
        ("कि", "की", False),  # vowel signs are marks, and letters to who reads them
        ("Straße, 5 km", "STRASSE 5 ㎞!", True),
        ("Das war 1998.", "Das war 1998", True),  # punctuation
        ("Er (5) kam 3 - 4 Mal.", "Er 5, kam 3 4 Mal", True),
        ("Es waren −5 Grad.", "Es waren -5 Grad", True),
        ("Von 5–7 Leuten.", "Von 5-7 Leuten.", True),
        ("Die U-Bahn, Covid-19 -", "Die UBahn Covid 19", True),
    ],
)
def test_texts_that_read_the_same_fold_to_the_same(first: str, second: str, are_equal: bool) -> None:
    assert (fold(first) == fold(second)) is are_equal
    if not are_equal:
        assert parse_distractors(f"1. {first}", Text("und", second), 1, Rules(3.0, None)) == (first,)


def test_nearly_all_released_answers_would_do(shared_data: Path) -> None:
    placed = read_rows(shared_data / "clsd" / "CLSD_wmt2019_adversarial_dataset.csv", distinct=True)[:150]
    rows = [row for _, row in placed]
    refused = 0
    for row in rows:
        for language, distractors in row.distractors.items():
            answer = "\n".join(f"{number}. {distractor}" for number, distractor in enumerate(distractors, start=1))
            try:
                parse_distractors(answer, Text(language, row.texts[language]), 4, RULES)
            except ValueError:
                refused += 1
    assert refused / (2 * len(rows)) < 0.02  # the paper's own check found more than 98 % of the distractors acceptable
