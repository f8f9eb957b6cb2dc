"""Page of a search: its marks, lines and table are those of the trials."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.reporting.pages.helpers import blocks_of, drawn_chart, find, fits_width, focus, marks, tooltip, use_phone
from xsent.reporting.pages.search import StudyTrial, best_trial, short_labels, write_study

TRIALS = [
    StudyTrial(0, "complete", 61.25, {"lr": 0.01, "host": "dream", "dim": 3}, 10, 12.5, None, "trials/0/report.html"),
    StudyTrial(1, "pruned", 40.5, {"lr": 0.001, "host": "meat", "dim": 5}, 3, 4.0, None, None),
    StudyTrial(2, "fail", None, {"lr": 0.1, "host": "dream", "dim": 4}, None, None, "ValueError: <b>no</b>", None),
    StudyTrial(3, "complete", 63.125, {"lr": 0.02, "host": "meat", "dim": 4}, 10, 12.0, None, "trials/3/report.html"),
]


def write(folder: Path, trials: list[StudyTrial] = TRIALS, **changes: Any) -> Path:
    arguments: dict[str, Any] = {
        "name": "toy",
        "what": "oracle on mini, cldr",
        "monitor": "val/heldout/meaning/mean/accuracy",
        "is_max": True,
        "trials": trials,
        "importance": {"lr": 0.75, "host": 0.25},
        "why_no_importance": None,
        "logarithmic": ["lr"],
        "commands": {"search": "python train.py a", "best": "python train.py b"},
        "defaults": {"lr": 0.01, "host": "dream", "dim": 3},
    }
    return write_study(folder / "report.html", **(arguments | changes))


def columns(page: Path, chart: str) -> list[dict[str, Any]]:
    """Rows of a chart."""
    values = blocks_of(page)["study"]["charts"][chart]["columns"]
    return [dict(zip(values, cells, strict=True)) for cells in zip(*values.values(), strict=True)]


def test_the_best_is_the_first_of_equal_finished_trials() -> None:
    trials = [TRIALS[1]._replace(value=99.0), TRIALS[3], TRIALS[3]._replace(number=4), TRIALS[0]]
    best, least = (best_trial(trials, is_max=is_max) for is_max in (True, False))
    assert best is not None
    assert least is not None
    assert (best.number, least.number) == (3, 0)
    assert best_trial([TRIALS[2]], is_max=True) is None


def test_every_trial_has_a_mark_at_its_value_with_the_shape_of_its_state(tmp_path: Path) -> None:
    rows = columns(write(tmp_path), "history")
    # A trial without a value has its mark at the lowest value.
    assert [(row["trial"], row["value"]) for row in rows] == [(0, 61.25), (1, 40.5), (2, 40.5), (3, 63.125)]
    assert [row["best"] for row in rows] == [61.25, 61.25, 61.25, 63.125]
    looks = [row["look"] for row in rows]
    assert looks[0] == looks[3]
    assert len(set(looks)) == 3


def test_importance_is_drawn_from_the_largest_or_its_absence_explained(tmp_path: Path) -> None:
    rows = columns(write(tmp_path / "a", importance={"host": 0.25, "lr": 0.75}), "importance")
    assert [(row["name"], row["percent"]) for row in rows] == [("lr", "75.0%"), ("host", "25.0%")]
    page = write(tmp_path / "b", importance={}, why_no_importance="too few finished; two are needed")
    assert "importance" not in blocks_of(page)["study"]["charts"]
    assert "Which setting matters most is not known: too few finished; two are needed." in page.read_text()


def lines(page: Path, step: int) -> list[tuple[int, float]]:
    """Trial and place on an axis, in the order of drawing."""
    rows = columns(page, "parallel")
    return [(row["key"], row["place"]) for row in rows if row["step"] == step and row["key"] is not None]


def test_lines_cross_their_axes_at_the_values_with_the_best_on_top(tmp_path: Path) -> None:
    trials, positions = zip(*lines(write(tmp_path), 0), strict=True)
    assert trials == (1, 0, 3)  # trial 2 has no value
    # Learning rates 0.001, 0.01 and 0.02 on a logarithmic axis.
    assert positions == pytest.approx([0, 1 / math.log10(20), 1])
    equal = [TRIALS[1]._replace(number=0, value=5.0), *(TRIALS[0]._replace(number=n, value=5.0) for n in (1, 2))]
    assert [trial for trial, _ in lines(write(tmp_path, equal), 0)] == [0, 2, 1]


def test_choices_that_read_alike_have_different_places(tmp_path: Path) -> None:
    choices: list[Any] = [2.0, "2", None, "", True, "true"]
    trials = [TRIALS[0]._replace(number=number, values={"x": choice}) for number, choice in enumerate(choices)]
    positions = [place for _, place in lines(write(tmp_path, trials, logarithmic=[]), 0)]
    assert len(set(positions)) == len(choices)


def summary_of(page: Path) -> str:
    """Text above the first section."""
    return " ".join(re.sub("<[^>]*>", " ", page.read_text().split("<h1>")[1].split("<section")[0]).split())


def test_the_page_begins_with_the_best_setting_beside_the_default(tmp_path: Path) -> None:
    text = summary_of(write(tmp_path / "a"))
    assert "Search toy: oracle on mini, cldr Best: lr = 0.02, host = meat, dim = 4." in text
    assert "Its heldout accuracy of meaning vectors is 63.12 on validation data (higher is better; trial 3)." in text
    assert "The 2 finished trials range from 61.25 to 63.12, with a median of 62.19." in text
    assert (
        "The default setting (lr = 0.01, host = dream, dim = 3) reaches 61.25; the best differs from it by +1.875"
        in text
    )
    assert "Each of these runs is a trial" in text
    assert "default setting (lr = 7) is not among the trials" in summary_of(write(tmp_path / "b", defaults={"lr": 7}))
    assert "That is the default setting." in summary_of(write(tmp_path / "c", defaults=TRIALS[3].values))


def test_names_are_as_short_as_tells_them_apart() -> None:
    names = ["recipe.weights.oracle.intra", "recipe.weights.host.intra", "encoder"]
    assert list(short_labels(names).values()) == ["oracle.intra", "host.intra", "encoder"]
    assert short_labels([]) == {}


# ---- in a browser


def test_a_line_tells_what_its_trial_tried_and_the_table_links_the_runs(
    open_page: Callable[[Path], Any], tmp_path: Path
) -> None:
    page = open_page(write(tmp_path))
    assert len(marks(page, drawn_chart(page, "[data-chart=history]"))) == len(TRIALS)
    chart = drawn_chart(page, "[data-chart=parallel]")
    focus(page, chart)
    assert tooltip(page)[0] == "trial 3: 63.125"
    assert "host = meat" in tooltip(page)[2]
    chart.send_keys("\ue015")  # arrow down
    assert tooltip(page)[0] == "trial 0: 61.25"
    chart.send_keys("\ue00c")  # escape
    assert tooltip(page) == []
    rows = find(page, "#trials tbody tr")
    cells = [[cell.text for cell in row.find_elements("css selector", "th, td")] for row in rows]
    assert cells[0] == ["0", "finished", "61.25", "10", "12.5", "0.01", "dream", "3"]
    assert cells[2][:3] == ["2", "failed: ValueError: <b>no</b>", ""]
    assert "(the best)" in cells[3][1]
    links = [link.get_attribute("href").rpartition("trials/")[2] for link in find(page, "#trials a")]
    assert links == ["0/report.html", "3/report.html"]
    use_phone(page)
    assert fits_width(page)


@pytest.mark.parametrize("trials", [[], TRIALS[2:3], TRIALS[:1]], ids=["none", "failed only", "one"])
def test_few_trials_make_a_page_too(open_page: Callable[[Path], Any], tmp_path: Path, trials: list[StudyTrial]) -> None:
    page = open_page(write(tmp_path, trials, importance={}, why_no_importance="too few"))
    assert len(find(page, "#trials tbody tr")) == len(trials)
    if trials:
        assert len(marks(page, drawn_chart(page, "[data-chart=history]"))) == len(trials)
