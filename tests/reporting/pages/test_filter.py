"""The page of scored pairs: what is written into it, and what a browser makes of it."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.filtering.test_filter import WordJudge, rows
from tests.reporting.pages.helpers import blocks_of, contrast, find, fits_width, run_folder, use_phone
from xsent.evaluation.score_report import Histogram, ScoredPair, ScoreReport
from xsent.jobs.filtering.filter import FilterResult, filter_bitext, options_from
from xsent.reporting.pages.filter import _side, try_divergence_page, write_divergence_page
from xsent.run import load_config

HOSTILE = "</script><script>document.title = 'taken over'</script><b>bold</b> <!-- &amp;"
EVERY = ("lowest", "near", "highest", "random")


def report(pairs: Sequence[ScoredPair], *, file: str = "text.tsv", judge: str = "run", **changes: Any) -> ScoreReport:
    """Of a file that holds these pairs alone; the threshold is 0.5."""
    equivalent = sum(pair.score > 0.5 for pair in pairs)
    histogram = Histogram(-2.5, 1.0, (1, 0, 1, 4, 0))
    divergent = len(pairs) - equivalent
    counts = equivalent, divergent
    score_report = ScoreReport(file, judge, ("eng", "ara"), 0.5, True, True, *counts, histogram, list(pairs))
    return score_report._replace(**changes)


def pair(line: int, score: float, source: str, target: str, *marked: Sequence[int]) -> ScoredPair:
    source_marks, target_marks = marked or ((), ())
    words = tuple(source.split(" ")), tuple(target.split(" "))
    return ScoredPair(line, score, (source, target), *words, tuple(source_marks), tuple(target_marks), EVERY)


def test_a_page_that_cannot_be_written_is_logged_and_stops_no_filter(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "page.html").mkdir()
    try_divergence_page(tmp_path / "page.html", report([pair(1, 1.0, "a", "b")]), rows=1, words=1)
    assert "page.html: page not written" in caplog.text


# ---- what is written


def test_no_text_of_the_bitext_becomes_part_of_the_pages_own(tmp_path: Path) -> None:
    hostile = report([pair(1, 1.0, HOSTILE, HOSTILE, (0,), (1,))], file=HOSTILE, judge=HOSTILE)
    text = write_divergence_page(tmp_path / "page.html", hostile, rows=25, words=50).read_text(encoding="utf-8")
    assert "taken over" in text
    assert "<script>document" not in text
    assert "<b>bold" not in text
    assert "<!--" not in text


@pytest.mark.slow
def test_the_page_stays_under_five_megabytes_whatever_the_text_and_says_what_it_left_out(tmp_path: Path) -> None:
    words = ("ا" * 500,) * 200
    long_pair = ScoredPair(1, 0.0, (" ".join(words), " ".join(words)), words, words, tuple(range(200)), (), EVERY)
    long = report([long_pair._replace(line=line) for line in range(1, 301)])
    path = write_divergence_page(tmp_path / "page.html", long, rows=25, words=120)
    assert 2_000_000 < path.stat().st_size < 5_000_000
    left_out = re.search(r"([\d,]+) of the sample were left out", path.read_text(encoding="utf-8"))
    assert left_out
    assert int(left_out[1].replace(",", "")) > 150


def test_a_sample_says_what_it_is_of(tmp_path: Path) -> None:
    sample = report([pair(1, 1.0, "a", "b"), pair(2, 0.0, "c", "d")._replace(parts=("near",))], equivalent=7_000)
    text = write_divergence_page(tmp_path / "page.html", sample, rows=25, words=50).read_text(encoding="utf-8")
    assert (
        "a sample of 2 of the 7,001 pairs: the 1 with the lowest scores, the 2 nearest to the threshold, the 1 with the"
        " highest, and 1 at random"
    ) in text


def test_bars_stand_on_the_side_of_their_class(tmp_path: Path) -> None:
    page = write_divergence_page(tmp_path / "page.html", report([pair(1, 1.0, "a", "b")]), rows=1, words=1)
    columns = blocks_of(page)["scores"]["charts"]["scores"]["columns"]
    assert list(zip(columns["verdict"], columns["text"], columns["count"], strict=True)) == [
        ("divergent", "-2.5 to -1.5: 1 pairs", 1),
        ("divergent", "-1.5 to -0.5: 0 pairs", 0),
        ("divergent", "-0.5 to 0.5: 1 pairs", 1),
        ("equivalent", "0.5 to 1.5: 4 pairs", 4),
        ("equivalent", "1.5 to 2.5: 0 pairs", 0),
    ]
    assert "0.5 keeps 4 of 6 pairs (66.7%)" in page.read_text()


def sides_of(text: str, words: str, *divergent: int) -> str:
    """The text, with divergent parts in brackets."""
    parts, _ = _side(text, words.split(" "), divergent, 120)
    return "".join(f"[{part}]" if is_marked else part for part, is_marked in parts)


@pytest.mark.parametrize(
    ("text", "words", "divergent", "shown"),
    [
        (
            "Hello,  world !",
            "Hello , world !",
            (1, 2, 3),
            "Hello,  [world] !",
        ),  # spaces stay, punctuation is not marked
        ("l'eau (froide)", "l' eau ( froide )", (0, 1, 2, 3, 4), "[l'eau] ([froide])"),
        ("« Oui » dit-elle", '" Oui " dit-elle', (0, 1, 3), "« [Oui] » [dit-elle]"),  # the tokenizer changed quotes
        ("a “b” c", 'a " b " c', (2,), "a “[b]” c"),
        ("1 000 chats", "1000 chats", (0,), "[1000] chats"),  # a changed word is marked among the words
    ],
)
def test_divergent_words_are_marked_in_the_original_text(
    text: str, words: str, divergent: tuple[int, ...], shown: str
) -> None:
    assert sides_of(text, words, *divergent) == shown


@pytest.mark.parametrize(("auc", "is_near"), [(52.5, True), (None, True), (75.0, False)])
def test_the_page_warns_of_a_judge_near_chance(auc: float | None, is_near: bool, tmp_path: Path) -> None:
    figures = {"test/divergence_heldout/synthetic/roc_auc": auc, "test/divergence_heldout/synthetic/f1": 33.3}
    run = run_folder(tmp_path / "run", metrics=figures)
    toys = report([pair(1, 1.0, "a", "b")])
    text = write_divergence_page(tmp_path / "page.html", toys, rows=1, words=1, run=run).read_text()
    assert ("This judge is near chance" in text) == is_near
    assert "divergence_heldout synthetic" in text
    toys = toys._replace(is_trained=False)
    untrained = write_divergence_page(tmp_path / "untrained.html", toys, rows=1, words=1).read_text()
    assert "was not trained to find divergences" in untrained


@pytest.mark.parametrize(("rows", "words", "message"), [(0, 5, "page.rows=0"), (5, 0, "page.words=0")])
def test_a_page_of_nothing_is_refused(tmp_path: Path, rows: int, words: int, message: str) -> None:
    with pytest.raises(ValueError, match=f"{message}: expected at least 1"):
        write_divergence_page(tmp_path / "page.html", report([]), rows=rows, words=words)


# ---- what a browser makes of it


TOYS = [
    pair(1, 2.0, "one house", "بيت واحد"),
    pair(2, -1.25, "a big dog that I saw", "كلب كبير", (3, 4, 5), ()),
    pair(3, 0.5, f"x {HOSTILE}", "y", (1,), (0,)),
    pair(4, 0.75, "a small Dog here now", "كلب صغير", (0, 3, 4), (1,)),
    pair(5, 1.5, "five", "خمسة"),
    pair(6, 1.25, "six", "ستة"),
    pair(1007, 0.625, "seven words of which but five are shown", "سبعة", (0, 6), ()),
]


@pytest.fixture
def page(open_page: Callable[[Path], Any], tmp_path: Path) -> Any:
    """Seven pairs, three on the screen at a time, five words of a sentence."""
    return open_page(write_divergence_page(tmp_path / "page.html", report(TOYS), rows=3, words=5))


def texts(page: Any, selector: str) -> list[str]:
    """Texts of the elements that are visible."""
    return [element.text for element in find(page, selector) if element.is_displayed()]


def lines(page: Any) -> list[str]:
    return texts(page, ".pairs .line")


def status(page: Any) -> str:
    return str(find(page, ".status")[0].text)


def choose(page: Any, name: str, value: str) -> None:
    find(page, f"[name={name}] option[value='{value}'], input[name={name}][value='{value}']")[0].click()


def turn(page: Any, to: str) -> None:
    find(page, f"button.{to}")[0].click()


def test_pairs_come_a_page_at_a_time_the_lowest_first_or_in_the_chosen_order(page: Any) -> None:
    shown_lines = []
    for number in (1, 2, 3):
        assert status(page) == f"7 of 7 pairs, page {number} of 3"
        assert [button.is_enabled() for button in find(page, "button.previous")] == [number > 1]
        assert [button.is_enabled() for button in find(page, "button.next")] == [number < 3]
        shown_lines += lines(page)
        if number < 3:
            turn(page, "next")
    assert shown_lines == ["2", "3", "1,007", "4", "6", "5", "1"]
    turn(page, "previous")
    assert lines(page) == ["4", "6", "5"]
    choose(page, "order", "score -1")
    assert texts(page, ".score") == ["2.000", "1.500", "1.250"]
    choose(page, "order", "line 1")
    assert lines(page) == ["1", "2", "3"]


def test_words_are_marked_on_both_sides_and_neighbours_share_a_mark(page: Any) -> None:
    choose(page, "order", "line 1")
    turn(page, "next")
    (four,) = find(page, ".pairs li[data-line='4']")
    sides = four.find_elements("css selector", ".sentence")
    assert [side.text for side in sides] == ["a small Dog here now", "كلب صغير"]
    marks = [[mark.text for mark in side.find_elements("css selector", "mark")] for side in sides]
    assert marks == [["a", "here now"], ["صغير"]]
    # By more than colour: underlined too.
    assert "underline" in four.find_element("css selector", "mark").value_of_css_property("text-decoration")
    assert [side.get_attribute("lang") for side in sides] == ["en", "ar"]
    assert [page.execute_script("return getComputedStyle(arguments[0]).direction", side) for side in sides] == [
        "ltr",
        "rtl",
    ]


def test_a_long_sentence_is_cut_and_markup_in_the_text_stays_text(page: Any) -> None:
    words = find(page, "[name=words]")[0]
    words.send_keys("seven")
    assert texts(page, ".sentence")[0] == "seven words of which but … and 3 more words"
    assert texts(page, "mark") == ["seven"]
    words.clear()
    words.send_keys("</script>")
    assert status(page) == "1 of 7 pairs, page 1 of 1"
    assert texts(page, ".sentence")[0].startswith("x </script><script>document.title = 'taken")
    assert find(page, ".pairs script, .pairs b") == []
    assert page.title == "Divergences in text.tsv"


def test_classes_and_search_choose_together_from_the_first_page_on(page: Any) -> None:
    turn(page, "next")
    choose(page, "verdict", "divergent")
    assert (lines(page), status(page)) == (["2", "3"], "2 of 7 pairs, page 1 of 1")
    choose(page, "verdict", "equivalent")
    assert status(page) == "5 of 7 pairs, page 1 of 2"
    find(page, "[name=words]")[0].send_keys(" DOG ")
    assert lines(page) == ["4"]
    choose(page, "verdict", "")
    assert lines(page) == ["2", "4"]
    find(page, "[name=words]")[0].send_keys("nowhere")
    assert (texts(page, ".pairs li"), status(page)) == ([], "0 of 7 pairs, page 1 of 1")


def test_everything_can_be_done_from_the_keyboard(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    find(page, "[data-chart=scores]")[0].send_keys(Keys.TAB)
    page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert status(page) == "2 of 7 pairs, page 1 of 1"
    page.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    names = []
    for _ in range(3):
        page.switch_to.active_element.send_keys(Keys.TAB)
        names.append(page.switch_to.active_element.get_attribute("name"))
    # All pairs are in every part: there is none to choose.
    assert names[:2] == ["order", "words"]
    assert page.switch_to.active_element.text == "Next"
    page.switch_to.active_element.send_keys(Keys.ENTER)
    assert status(page) == "7 of 7 pairs, page 2 of 3"


def test_moving_the_threshold_counts_what_it_keeps_and_changes_the_classes(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    (threshold,) = find(page, "[name=threshold]")
    choose(page, "verdict", "equivalent")
    assert status(page).startswith("5 of 7 pairs")
    threshold.send_keys(Keys.ARROW_RIGHT)  # an edge of the bars: 1.5 instead of 0.5
    assert texts(page, "output") == ["1.5 keeps 0 of 6 pairs (0.0%)"]  # by the histogram, which is of all pairs
    assert (lines(page), status(page)) == (["1"], "1 of 7 pairs, page 1 of 1")
    choose(page, "verdict", "divergent")
    assert lines(page) == ["2", "3", "1,007"]
    assert status(page).startswith("6 of 7 pairs")
    for _ in range(2):
        threshold.send_keys(Keys.ARROW_LEFT)
    assert texts(page, "output") == ["-0.5 keeps 5 of 6 pairs (83.3%)"]
    assert lines(page) == ["2"]


def test_parts_of_a_sample_can_be_chosen(open_page: Callable[[Path], Any], tmp_path: Path) -> None:
    parts = [("lowest",), ("near", "random"), ("near",), ("highest", "random"), ("random",), ("random",), ("random",)]
    pairs = [toy._replace(parts=names) for toy, names in zip(TOYS, parts, strict=True)]
    page = open_page(write_divergence_page(tmp_path / "page.html", report(pairs, equivalent=100), rows=25, words=9))
    for part, expected in {"lowest": ["1"], "near": ["2", "3"], "highest": ["4"], "": ["2", "3", "1,007"]}.items():
        choose(page, "parts", part)
        assert lines(page)[:3] == expected


def test_a_phone_needs_no_sideways_scrolling(open_page: Callable[[Path], Any], tmp_path: Path) -> None:
    wide = report([*TOYS, pair(8, 0.0, "w" * 79, "و" * 300, (0,), (0,))], file="a-name-without-any-space" * 5)
    page = open_page(write_divergence_page(tmp_path / "page.html", wide, rows=25, words=50))
    use_phone(page)
    assert fits_width(page)


def rgb(colour: str) -> list[int]:
    """Of ``rgb(r, g, b)``."""
    return [int(part) for part in re.findall(r"\d+", colour)[:3]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_light_and_dark(page: Any, scheme: str) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    card = find(page, ".pairs li")[0].value_of_css_property("background-color")
    assert (sum(rgb(card)) > 3 * 128) == (scheme == "light")
    for selector in (".sentence", ".line", ".class", "mark"):
        text = find(page, selector)[0]
        behind = text.value_of_css_property("background-color") if selector == "mark" else card
        assert contrast(rgb(text.value_of_css_property("color")), rgb(behind)) >= 4.5, selector  # level AA


def test_the_page_of_a_filtered_file_says_what_its_rows_say(open_page: Callable[[Path], Any], tmp_path: Path) -> None:
    filtered = filtered_file(tmp_path)
    page = open_page(write_divergence_page(tmp_path / "page.html", filtered.report, rows=500, words=50))
    header, *records = rows(tmp_path / "scored.tsv")
    verdicts = [row[header.index("verdict")] for row in records]
    counts = [text.split()[0] for text in texts(page, ".classes dd")]
    assert counts == [str(verdicts.count("divergent")), str(verdicts.count("equivalent"))]
    choose(page, "order", "line 1")
    items = page.execute_script("""return [...document.querySelectorAll('.pairs li')].map((item) => [
        item.querySelector('.score').textContent, item.dataset.verdict,
        ...[...item.querySelectorAll('.sentence')].map((side) => [...side.querySelectorAll('mark')].map(
            (mark) => mark.textContent).join(' '))])""")
    assert items == [[f"{float(row[2]):.3f}", row[4], *(words_of_cell(cell) for cell in row[5:])] for row in records]
    assert sum(blocks_of(tmp_path / "page.html")["scores"]["charts"]["scores"]["columns"]["count"]) == len(records)


def filtered_file(tmp_path: Path) -> FilterResult:
    pytest.importorskip("sacremoses", reason="words are cut by sacremoses: pip install 'xsent[divergence]'")
    words = [f"w{number}" for number in range(9)]
    (tmp_path / "text.tsv").write_text(
        "".join(f"{' '.join(words[: 1 + n % 7])}\t{' '.join(words[n % 3 : 1 + n % 8])} .\n" for n in range(200))
    )
    options = options_from(load_config("filter", ["workers=1"]))
    return filter_bitext(
        tmp_path / "text.tsv",
        tmp_path / "scored.tsv",
        load=WordJudge,
        device="cpu",
        options=options,
        work_dir=None,
        keep_work=False,
    )


def words_of_cell(cell: str) -> str:
    """The words of ``3:weak 4:signal`` without punctuation, which no page marks."""
    words = [] if cell == "-" else [entry.split(":", 1)[1] for entry in cell.split(" ")]
    return " ".join(word for word in words if word != ".")
