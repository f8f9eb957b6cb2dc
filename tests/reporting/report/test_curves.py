"""Curves: where each belongs, and what thinning keeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.reporting.report.helpers import run_folder
from xsent.reporting.report.curves import curves_section, place_of, thinned
from xsent.reporting.report.reading import read_run
from xsent.reporting.report.shell import embedded_json


def test_thinning_keeps_first_last_and_every_spike() -> None:
    values = np.zeros(100_000)
    values[[777, 54_321]] = 9.0, -4.0
    values[99_999] = 1.0
    kept = thinned(values, 1500)
    assert len(kept) <= 1500
    assert kept == sorted(set(kept))
    assert {0, 777, 54_321, 99_999} <= set(kept)


def test_a_short_line_is_kept_as_it_is_and_what_is_no_number_is_no_extreme() -> None:
    assert thinned(np.array([3.0, np.nan, 1.0]), 3) == [0, 1, 2]
    values = np.full(5000, np.nan)
    values[2500] = 1.0
    kept = thinned(values, 100)
    assert {0, 2500, 4999} <= set(kept)
    assert len(kept) <= 100


def test_a_curve_that_breaks_off_keeps_a_gap_in_each_stretch_without_numbers() -> None:
    values = np.linspace(5.0, 1.0, 30_000)
    values[20_000:] = np.nan  # diverged for good
    values[[4_321, 7_000]] = np.inf, 9.0
    kept = thinned(values, 300)
    assert len(kept) <= 300
    assert {0, 4_321, 7_000, 29_999} <= set(kept)
    gaps = [at for at in kept if at >= 20_000]
    assert gaps[0] == 20_000 or gaps[0] - 20_000 < 30_000 / 99
    assert len(gaps) > 300 / 3 / 3


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("train/loss", ("loss", "", "train")),
        ("val/loss", ("loss", "", "val")),
        ("val/heldout/meaning/deu/accuracy", ("heldout accuracy", "deu", "meaning")),
        ("val/refresd/wikimatrix/f1", ("refresd f1", "wikimatrix", "val")),
        ("lr-Adam", ("lr-Adam", "", "")),
    ],
)
def test_training_and_validation_share_a_chart_and_so_do_the_spaces_of_a_figure(
    name: str, place: tuple[str, str, str]
) -> None:
    assert place_of(name) == place


def test_the_data_fit_their_room_whatever_was_logged_and_the_page_says_what_is_missing(tmp_path: Path) -> None:
    names = [f"train/term_{number}" for number in range(40)]
    rows = "".join(f"{step},0,{name},{step * 0.123456}\n" for step in range(2000) for name in names)
    run = read_run(run_folder(tmp_path / "run", logged=rows))
    thin = curves_section({"run": run}, room=100_000)
    assert thin is not None
    assert len(embedded_json(thin.data).encode()) <= 100_000
    assert "thinned to 150 points of up to 2,000" in thin.html
    few = curves_section({"run": run}, room=10_000)
    assert few is not None
    assert len(embedded_json(few.data).encode()) <= 10_000
    assert "of 40 charts have no room here" in few.html
