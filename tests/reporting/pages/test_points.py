"""Figures page of a study: points and sentences in the file, and behaviour in a browser."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.reporting.pages.helpers import (
    HOSTILE,
    blocks_of,
    check_hostile_is_text,
    check_tooltip_fits,
    drawn_chart,
    find,
    fits_width,
    marks,
    point_at,
    tap,
    tooltip,
    use_phone,
)
from xsent.reporting.pages.charts import PLANE
from xsent.reporting.pages.oracle_figures import write_figures_page
from xsent.reporting.plots.embeddings import PairFigure, Sides
from xsent.reporting.plots.projections import METHODS, Projection

SPACES = ("meaning", "language")
# Two spaces, two sides, two sentences each.
TSNE = [[0, 0], [4, 4], [1, 3], [4, 2], [-4, -4], [-4, 4], [-3, 0], [4, -4]]
PCA = [[3, 3], [2, 3], [1, 3], [-3, 3], [-3, -3], [3, -3], [-2, 3], [0, 0]]
CHART = "figure:not([hidden]) [data-chart^=DREAM]"


def figure(name: str, target: Sequence[str], *, tsne: Projection | None = None) -> PairFigure:
    source = ["one in English", "two in English"]
    points = Projection(np.array(TSNE, np.float32), "") if tsne is None else tsne
    panel = {"t-SNE": points, "PCA": Projection(np.array(PCA, np.float32), "60% and 9% of the variance")}
    return PairFigure(Sides(name, ("eng", name), (source, list(target))), SPACES, {"DREAM": panel, "MEAT": panel})


def toy_figures() -> list[PairFigure]:
    none = Projection(np.zeros((0, 2), np.float32), "no t-SNE: too few")
    return [
        figure("zho", [HOSTILE, "第二句"]),
        figure("ara", ["الأولى", "الثانية"]),
        figure("grn", ["a", "b"], tsne=none),
    ]


def test_points_and_sentences_can_be_read_back(tmp_path: Path) -> None:
    blocks = blocks_of(write_figures_page(tmp_path / "page.html", toy_figures(), title="mini"))
    assert list(blocks) == ["points-zho", "points-ara", "points-grn"]
    for block, drawn in zip(blocks.values(), toy_figures(), strict=True):
        shared = block["shared"]
        assert shared["sentences"] == [text for side in drawn.sides.sentences for text in side]
        assert [shared["sentences"][row] for row in shared["text"]["rows"]] == 2 * shared["sentences"]
        # Both axes run from -4 to 4, and from -3 to 3.
        for method, points, half in (("t-SNE", TSNE, 4), ("PCA", PCA, 3)):
            if (chart := block["charts"].get(f"DREAM {method}")) is None:
                assert (drawn.sides.name, method) == ("grn", "t-SNE")
                continue
            columns = np.array([chart["columns"]["x"], chart["columns"]["y"]]).T
            np.testing.assert_allclose(columns / PLANE, np.array(points) / half, atol=1 / PLANE)


def test_no_text_of_the_study_becomes_markup(tmp_path: Path) -> None:
    sides = figure("zho", [HOSTILE, "b"])
    named = PairFigure(sides.sides, SPACES, {HOSTILE: sides.panels["DREAM"]})
    check_hostile_is_text(write_figures_page(tmp_path / "page.html", [named], title=HOSTILE).read_text())


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
    assert write_figures_page(tmp_path / "page.html", figures, title="LaBSE").stat().st_size < 5_000_000


# ---- in a browser


@pytest.fixture
def page(open_page: Callable[[Path], Any], tmp_path: Path) -> Any:
    """The toy figures."""
    return open_page(write_figures_page(tmp_path / "page.html", toy_figures(), title="mini"))


def mark_of(page: Any, chart: Any, key: int) -> dict[str, Any]:
    (mark,) = [mark for mark in marks(page, chart) if mark["key"] == key]
    return mark


def test_pointing_at_a_mark_shows_sentence_and_translation_as_text_and_rings_both_in_every_chart(page: Any) -> None:
    for name in ("DREAM", "MEAT"):
        drawn_chart(page, f"figure:not([hidden]) [data-chart^={name}]")
    chart = drawn_chart(page, CHART)
    lines = point_at(page, chart, mark_of(page, chart, 0))
    assert lines == ["meaning, eng", "one in English", "translation, zho", HOSTILE]
    assert page.title == "mini"
    assert [line.get_attribute("lang") for line in find(page, ".tooltip .sentence")] == ["en", "zh"]
    rings = find(page, "figure:not([hidden]) .over circle")
    assert sorted(ring.get_attribute("r") for ring in rings) == ["5", "5", "8", "8"]
    assert point_at(page, chart, {"x": 3, "y": 200}) == []


def test_projection_and_language_pair_can_be_chosen_and_marks_hidden(page: Any) -> None:
    find(page, "[name=method][value=PCA]")[0].click()
    chart = drawn_chart(page, CHART)
    lines = point_at(page, chart, mark_of(page, chart, 7))
    assert lines == ["language, zho", "第二句", "translation, eng", "two in English"]
    notes = [note.text for note in find(page, ".note") if note.is_displayed()]
    assert notes == ["60% and 9% of the variance"] * 2
    find(page, "option[value=ara]")[0].click()
    chart = drawn_chart(page, CHART)
    assert mark_of(page, chart, 3)["text"] == "الثانية"
    find(page, "[name=series]")[0].click()
    assert {mark["key"] for mark in marks(page, chart)} == set(range(2, 8))
    find(page, "option[value=grn]")[0].click()
    find(page, "[name=method][value='t-SNE']")[0].click()
    notes = [note.text for note in find(page, ".note") if note.is_displayed()]
    assert notes == ["no t-SNE: too few"] * 2


def test_the_wheel_with_ctrl_zooms_and_dragging_moves_all_marks(page: Any) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    chart = drawn_chart(page, CHART)
    before = mark_of(page, chart, 0)
    middle = chart.rect["width"] / 2, chart.rect["height"] / 2
    box = page.execute_script("const b = arguments[0].getBoundingClientRect(); return [b.left, b.top]", chart)
    wheel = {"type": "mouseWheel", "x": box[0] + middle[0], "y": box[1] + middle[1], "deltaX": 0, "deltaY": -400}
    page.execute_cdp_cmd("Input.dispatchMouseEvent", {**wheel, "modifiers": 2})
    assert len(marks(page, chart)) < 8
    ActionChains(page).move_to_element(chart).click_and_hold().move_by_offset(50, 40).release().perform()
    after = mark_of(page, chart, 0)
    assert (after["x"] - before["x"], after["y"] - before["y"]) == pytest.approx((50, 40), abs=3)


def test_the_page_fits_a_phone_a_tap_shows_the_sentence_and_no_tooltip_is_narrow(page: Any) -> None:
    chart = drawn_chart(page, CHART)
    point_at(page, chart, max(marks(page, chart), key=lambda mark: float(mark["x"])))  # at the right border
    assert find(page, ".tooltip")[0].rect["width"] > 80
    use_phone(page)
    assert fits_width(page)
    chart = drawn_chart(page, CHART)
    tap(page, chart, mark_of(page, chart, 0))
    assert tooltip(page)[1] == "one in English"
    check_tooltip_fits(page)
