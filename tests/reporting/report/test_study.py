"""The page of a search, opened in a browser: its marks and figures are the study's."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from xsent.reporting.report.study import StudyTrial, best_trial, write_study

TRIALS = [
    StudyTrial(0, "complete", 61.25, {"lr": 0.01, "host": "dream", "dim": 3}, 10, 12.5, None, "trials/0/report.html"),
    StudyTrial(1, "pruned", 40.5, {"lr": 0.001, "host": "meat", "dim": 5}, 3, 4.0, None, None),
    StudyTrial(2, "fail", None, {"lr": 0.1, "host": "dream", "dim": 4}, None, None, "ValueError: <b>no</b>", None),
    StudyTrial(3, "complete", 63.125, {"lr": 0.02, "host": "meat", "dim": 4}, 10, 12.0, None, "trials/3/report.html"),
]


def page(folder: Path, trials: list[StudyTrial] = TRIALS, **changes: Any) -> Path:
    arguments: dict[str, Any] = {
        "name": "toy", "monitor": "val/heldout/meaning/mean/accuracy", "is_max": True, "trials": trials,
        "importance": {"lr": 0.75, "host": 0.25}, "why_no_importance": None, "logarithmic": ["lr"],
        "commands": {"search": "python train.py a", "best": "python train.py b"},
    }  # fmt: skip
    return write_study(folder / "report.html", **(arguments | changes))


def opened(browser: Any, path: Path, width: int = 1200) -> Any:
    browser.set_window_size(width, 900)
    browser.get(path.absolute().as_uri())
    assert browser.get_log("browser") == []
    return browser


def chart(browser: Any, name: str) -> Any:
    return browser.find_element("css selector", f'[data-chart="{name}"]')


def test_the_best_is_the_first_of_equals_and_came_to_its_end() -> None:
    trials = [TRIALS[1]._replace(value=99.0), TRIALS[3], TRIALS[3]._replace(number=4), TRIALS[0]]
    best = best_trial(trials, is_max=True)
    assert best is not None
    assert best.number == 3
    least = best_trial(trials, is_max=False)
    assert least is not None
    assert least.number == 0
    assert best_trial([TRIALS[2]], is_max=True) is None


def test_every_trial_has_one_mark_where_its_value_is(browser: Any, tmp_path: Path) -> None:
    history = chart(opened(browser, page(tmp_path)), "history")
    marks = history.find_elements("css selector", ".mark")
    assert [mark.get_attribute("data-trial") for mark in marks] == ["0", "1", "2", "3"]
    places = [tuple(map(float, re.findall(r"[\d.]+", mark.get_attribute("transform")))) for mark in marks]
    x, y = zip(*places, strict=True)
    assert x[1] - x[0] == pytest.approx(x[3] - x[2], abs=0.1)
    # Heights are those of the values: the one without any lies on the axis, with the lowest.
    assert (y[1] - y[0]) / (y[1] - y[3]) == pytest.approx((61.25 - 40.5) / (63.125 - 40.5), abs=1e-3)
    assert y[2] == y[1]
    shapes = [mark.get_attribute("d") for mark in marks]
    assert shapes[0] == shapes[3], "both came to their end"
    assert len(set(shapes)) == 3, "pruned and failed trials have shapes of their own"


def test_a_line_says_what_its_trial_tried(browser: Any, tmp_path: Path) -> None:
    lines = chart(opened(browser, page(tmp_path)), "parallel")
    paths = lines.find_elements("css selector", ".trial")
    assert [path.get_attribute("data-trial") for path in paths] == ["1", "0", "3"], (
        "the best on top, none without value"
    )
    at = [next(float(one) for one in re.findall(r"[\d.]+", path.get_attribute("d"))) for path in paths]
    # The learning rates 0.001, 0.01, 0.02 (and 0.1, which failed) on an axis of logarithms.
    assert (at[1] - at[0]) / (at[2] - at[0]) == pytest.approx(1 / math.log10(20), abs=1e-3)
    drawing = lines.find_element("css selector", "svg.chart")
    tooltip = browser.find_element("css selector", ".tooltip")
    drawing.send_keys("\ue015")  # the best has the focus, arrow down is the next
    assert "trial 0: 61.25" in tooltip.text
    drawing.send_keys("\ue013")  # arrow up
    assert "trial 3: 63.125" in tooltip.text
    assert "host = meat" in tooltip.text
    drawing.send_keys("\ue00c")  # escape
    assert not tooltip.is_displayed()


def test_the_table_has_the_values_and_links(browser: Any, tmp_path: Path) -> None:
    rows = opened(browser, page(tmp_path)).find_elements("css selector", "#trials tbody tr")
    cells = [[cell.text for cell in row.find_elements("css selector", "th, td")] for row in rows]
    assert cells[0] == ["0", "finished", "61.25", "10", "12.5", "0.01", "dream", "3"]
    assert cells[2][:3] == ["2", "failed: ValueError: <b>no</b>", ""]
    assert "(the best)" in cells[3][1]
    links = [link.get_attribute("href") for link in browser.find_elements("css selector", "#trials a")]
    assert [link.rpartition("trials/")[2] for link in links] == ["0/report.html", "3/report.html"]


def test_importance_is_drawn_or_its_absence_explained(browser: Any, tmp_path: Path) -> None:
    shares = chart(opened(browser, page(tmp_path)), "importance").find_elements("css selector", ".share")
    widths = [float(share.get_attribute("width")) for share in shares]
    assert widths[0] / widths[1] == pytest.approx(3, rel=0.01)
    without = page(tmp_path / "without", importance={}, why_no_importance="too few finished; two are needed")
    assert "two are needed" in opened(browser, without).find_element("id", "study").text


def test_it_fits_a_phone(browser: Any, tmp_path: Path) -> None:
    opened(browser, page(tmp_path), width=500)
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("trials", [[], TRIALS[2:3], TRIALS[:1]], ids=["none", "failed alone", "one"])
def test_few_trials_make_a_page_too(browser: Any, tmp_path: Path, trials: list[StudyTrial]) -> None:
    found = opened(browser, page(tmp_path, trials, importance={}, why_no_importance="too few"))
    assert len(found.find_elements("css selector", ".mark")) == len(trials)


def test_choices_that_read_alike_have_places_of_their_own(browser: Any, tmp_path: Path) -> None:
    choices: list[Any] = [2.0, "2", None, "", True, "true"]
    trials = [TRIALS[0]._replace(number=number, values={"of": one}) for number, one in enumerate(choices)]
    lines = chart(opened(browser, page(tmp_path, trials, logarithmic=[])), "parallel")
    paths = [path.get_attribute("d") for path in lines.find_elements("css selector", ".trial")]
    assert not [path for path in paths if "NaN" in path]
    assert len({re.findall(r"[\d.]+", path)[0] for path in paths}) == len(choices)


def test_of_equal_trials_the_line_of_the_first_that_finished_is_on_top(browser: Any, tmp_path: Path) -> None:
    trials = [
        TRIALS[1]._replace(number=0, value=5.0),
        *(TRIALS[0]._replace(number=number, value=5.0) for number in (1, 2)),
    ]
    lines = chart(opened(browser, page(tmp_path, trials)), "parallel")
    found = [path.get_attribute("data-trial") for path in lines.find_elements("css selector", ".trial")]
    assert found == ["0", "2", "1"]
