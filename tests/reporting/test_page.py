"""The page of a study: what is written into it, and what a browser makes of it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xsent.reporting.page import LARGEST, write_page
from xsent.reporting.panels import PairFigure, Sides
from xsent.reporting.projections import METHODS, Projection

SPACES = ("meaning", "language")
HOSTILE = "</script><script>document.title = 'taken over'</script><b>&amp; bold</b>"
# Two spaces, two sides, two sentences each: the point in the middle is the first sentence's meaning, English.
TSNE = [[0, 0], [4, 4], [1, 3], [4, 2], [-4, -4], [-4, 4], [-3, 0], [4, -4]]
# Here it is the second sentence's language vector, Chinese.
PCA = [[3, 3], [2, 3], [1, 3], [-3, 3], [-3, -3], [3, -3], [-2, 3], [0, 0]]


def toy(name: str, other: Sequence[str], *, tsne: Projection | None = None) -> PairFigure:
    english = ["one in English", "two in English"]
    near = Projection(np.array(TSNE, np.float32), "") if tsne is None else tsne
    panel = {"t-SNE": near, "PCA": Projection(np.array(PCA, np.float32), "60% and 9% of the variance")}
    sides = Sides(name, ("eng", name), (english, list(other)))
    return PairFigure(sides, SPACES, {"DREAM": panel, "MEAT + ORACLE": panel})


def toys() -> list[PairFigure]:
    none = Projection(np.zeros((0, 2), np.float32), "no t-SNE: too few")
    return [toy("zho", [HOSTILE, "第二句"]), toy("ara", ["الأولى", "الثانية"]), toy("grn", ["a", "b"], tsne=none)]


# ---- what is written


def test_points_and_sentences_can_be_read_back(tmp_path: Path) -> None:
    figures = toys()
    text = write_page(tmp_path / "page.html", figures, title="mini").read_text(encoding="utf-8")
    blocks = re.findall(r'<script type="text/plain" data-pair="\d">([^<]*)</script>', text)
    assert len(blocks) == len(figures)
    for figure, block in zip(figures, blocks, strict=True):
        raw = gzip.decompress(base64.b64decode(block))
        points = np.frombuffer(raw[: 2 * 2 * 8 * 4], "<i2").reshape(len(METHODS), 2, 8, 2)  # method, panel, point, axis
        assert json.loads(raw[points.nbytes :]) == list(figure.sides.sentences)
        # Both axes run from -4 to 4, and from -3 to 3.
        expected_tsne = np.array(TSNE) / 4 if figure.sides.name != "grn" else np.zeros((8, 2))
        for panel in (0, 1):
            np.testing.assert_allclose(points[0, panel] / LARGEST, expected_tsne, atol=1 / LARGEST)
            np.testing.assert_allclose(points[1, panel] / LARGEST, np.array(PCA) / 3, atol=1 / LARGEST)


def test_no_text_of_the_study_becomes_part_of_the_pages_own(tmp_path: Path) -> None:
    figure = toy("zho", [HOSTILE, "b"])
    named = PairFigure(figure.sides, SPACES, {HOSTILE: figure.panels["DREAM"]})
    text = write_page(tmp_path / "page.html", [named], title=HOSTILE).read_text(encoding="utf-8")
    assert "taken over" in text
    assert "<script>document" not in text
    assert "<b>" not in text


def test_nothing_is_asked_of_the_network(tmp_path: Path) -> None:
    text = write_page(tmp_path / "page.html", toys(), title="mini").read_text(encoding="utf-8")
    assert not re.search(r"""(https?:)?//[a-z]|(src|href)=["'](?!data:)|@import|url\(""", text.split("<script")[0])
    assert "http" not in re.sub(r'<script type="text/plain".*?</script>', "", text).replace('http-equiv="', "")
    assert "default-src 'none'" in text


def test_a_study_of_the_papers_size_stays_under_five_megabytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz    "))

    def sentences() -> list[str]:
        return ["".join(row) for row in rng.choice(letters, (1000, 70))]

    def panel() -> dict[str, Projection]:
        return {method: Projection(rng.standard_normal((4000, 2)).astype(np.float32), "") for method in METHODS}

    figures = [
        PairFigure(
            Sides(f"{n}", ("eng", "deu"), (sentences(), sentences())), SPACES, {f"{k}": panel() for k in range(4)}
        )
        for n in range(11)
    ]
    assert write_page(tmp_path / "page.html", figures, title="LaBSE").stat().st_size < 5_000_000


# ---- what a browser makes of it


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """The toy page, opened from disk; at the end there is no error in the console and no request went out."""
    browser.get(write_page(tmp_path / "page.html", toys(), title="mini").as_uri())
    wait_for_status(browser, "t-SNE of 2 pairs, eng-zho")
    yield browser
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def find(page: Any, selector: str) -> list[Any]:
    found: list[Any] = page.find_elements("css selector", selector)
    return found


def wait_for_status(page: Any, text: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(page, 10).until(lambda page: find(page, ".status")[0].text == text)


def hover(page: Any, panel: int, x: int = 0, y: int = 0) -> list[str]:
    """Lines of the tooltip when the mouse is x pixels right of the panel's centre and y below it."""
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(page).move_to_element_with_offset(in_view(page, panel), x, y).perform()
    tooltip = find(page, ".tooltip")[0]
    return [line.text for line in tooltip.find_elements("css selector", "p")] if tooltip.is_displayed() else []


def in_view(page: Any, panel: int) -> Any:
    """The plot of a panel, in the middle of the window."""
    plot = find(page, ".plot")[panel]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    # The page learns that it was scrolled, and puts an open tooltip away, before its next picture.
    page.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    return plot


def choose_pair(page: Any, name: str) -> None:
    find(page, f"select option[value='{name}']")[0].click()


def drawn_in_the_middle(page: Any, panel: int) -> bool:
    """Whether anything is drawn at the centre of a panel."""
    script = """const c = document.querySelectorAll('.plot')[arguments[0]].firstChild;
        return c.getContext('2d').getImageData(c.width / 2, c.height / 2, 1, 1).data[3] > 0"""
    return bool(page.execute_script(script, panel))


def test_pointing_at_a_mark_shows_its_sentence_and_translation_as_text(page: Any) -> None:
    assert hover(page, 0) == ["meaning, eng", "one in English", "translation, zho", HOSTILE]
    assert page.title == "mini"
    assert [line.get_attribute("lang") for line in find(page, ".sentence")] == ["en", "zh"]
    assert hover(page, 0, 60, 60) == []


def test_the_same_sentence_is_ringed_in_every_panel(page: Any) -> None:
    script = """return [...document.querySelectorAll('.plot')].map((plot) => {
        const c = plot.lastChild;
        return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((value) => value > 0)})"""
    assert page.execute_script(script) == [False, False]
    hover(page, 1)
    assert page.execute_script(script) == [True, True]


def test_another_projection_and_another_pair_can_be_chosen(page: Any) -> None:
    find(page, "input[type=radio]")[1].click()
    wait_for_status(page, "PCA of 2 pairs, eng-zho")
    assert hover(page, 1) == ["language, zho", "第二句", "translation, eng", "two in English"]
    assert [note.text for note in find(page, ".note")] == ["60% and 9% of the variance"] * 2
    choose_pair(page, "1")
    wait_for_status(page, "PCA of 2 pairs, eng-ara")
    assert hover(page, 1)[:2] == ["language, ara", "الثانية"]
    assert [button.text for button in find(page, ".series button")][1] == "meaning, ara"


def test_a_click_in_the_legend_hides_a_series_and_another_shows_it(page: Any) -> None:
    button = find(page, ".series button")[0]
    assert drawn_in_the_middle(page, 1)
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert not drawn_in_the_middle(page, 1)
    assert hover(page, 1) == []
    button.click()
    assert drawn_in_the_middle(page, 1)


def test_a_panel_without_points_says_why(page: Any) -> None:
    choose_pair(page, "2")
    wait_for_status(page, "t-SNE of 2 pairs, eng-grn")
    assert [note.text for note in find(page, ".note")] == ["no t-SNE: too few"] * 2
    assert hover(page, 0) == []


def test_zooming_moves_the_other_points_away_and_dragging_moves_all(page: Any) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    half = find(page, ".plot")[0].size["width"] / 2 - 15  # where a coordinate of 4 lies, border and margin aside
    x, y = round(half / 4), -round(half * 3 / 4)
    assert hover(page, 0, x, y)[1] == HOSTILE
    for _ in range(3):
        find(page, "figcaption button")[0].click()  # the mark in the middle stays there
    assert hover(page, 0, x, y) == []
    assert hover(page, 0)[1] == "one in English"
    ActionChains(page).move_to_element(in_view(page, 0)).click_and_hold().move_by_offset(50, 40).release().perform()
    assert hover(page, 0) == []
    assert hover(page, 0, 50, 40)[1] == "one in English"
    find(page, "figcaption button")[2].click()
    assert hover(page, 0, x, y)[1] == HOSTILE


def test_the_page_fits_a_phone_and_a_tap_shows_the_sentence(page: Any) -> None:
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    page.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        assert page.execute_script("return [innerWidth, document.documentElement.scrollWidth]") == [390, 390]
        box = in_view(page, 1).rect
        scrolled = page.execute_script("return scrollY")
        point = {"x": box["x"] + box["width"] / 2, "y": box["y"] - scrolled + box["height"] / 2}
        page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
        page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        assert [line.text for line in find(page, ".sentence")] == ["one in English", HOSTILE]
        tooltip = find(page, ".tooltip")[0].rect
        assert tooltip["x"] >= 0
        assert tooltip["x"] + tooltip["width"] <= 390
    finally:
        page.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
