"""Curves: the chart of each name, and what thinning keeps."""

from pathlib import Path

import numpy as np
import pytest

from tests.reporting.pages.helpers import blocks_of, run_folder
from xsent.reporting.pages import write_report
from xsent.reporting.pages.curves import position_of, thin


def test_thinning_keeps_first_last_and_every_spike_and_what_is_no_number_is_no_extreme() -> None:
    values = np.zeros(100_000)
    values[[777, 54_321]] = 9.0, -4.0
    values[99_999] = 1.0
    gaps = np.full(5000, np.nan)
    gaps[2500] = 1.0
    for series, limit, expected in ((values, 1500, {0, 777, 54_321, 99_999}), (gaps, 100, {0, 2500, 4999})):
        rows = thin(series, limit)
        assert len(rows) <= limit
        assert rows == sorted(set(rows))
        assert expected <= set(rows)
    assert thin(np.array([3.0, np.nan, 1.0]), 3) == [0, 1, 2]  # a short line is kept as it is


def test_a_curve_that_breaks_off_keeps_a_gap_in_each_stretch_without_numbers() -> None:
    values = np.linspace(5.0, 1.0, 30_000)
    values[20_000:] = np.nan  # diverged for good
    values[[4_321, 7_000]] = np.inf, 9.0
    rows = thin(values, 300)
    assert len(rows) <= 300
    assert {0, 4_321, 7_000, 29_999} <= set(rows)
    gaps = [at for at in rows if at >= 20_000]
    assert gaps[0] == 20_000 or gaps[0] - 20_000 < 30_000 / 99
    assert len(gaps) > 300 / 3 / 3


@pytest.mark.parametrize(
    ("name", "position"),
    [
        ("train/loss", ("loss", "", "train")),
        ("val/loss", ("loss", "", "val")),
        ("val/heldout/meaning/deu/accuracy", ("heldout accuracy", "deu", "meaning")),
        ("val/refresd/wikimatrix/f1", ("refresd f1", "wikimatrix", "val")),
        ("lr-Adam", ("lr-Adam", "", "")),
    ],
)
def test_training_and_validation_share_a_chart_and_so_do_the_spaces_of_a_figure(
    name: str, position: tuple[str, str, str]
) -> None:
    assert position_of(name) == position


def test_lines_are_thinned_to_what_a_page_holds_and_the_page_says_so(tmp_path: Path) -> None:
    names = [f"train/term_{number}" for number in range(200)]
    rows = "".join(f"{step},0,{name},{step * 0.123456}\n" for step in range(200) for name in names)
    page = write_report(run_folder(tmp_path / "run", logged=rows))
    charts = blocks_of(page)["curves"]["charts"]
    assert len(charts) == 200
    assert len(charts["term_7"]["columns"]["value"]) <= 150
    assert "thinned to 150 of up to 200 points" in page.read_text()
