"""Charts: pictures that are there and repeat, tables of the numbers in them."""

from __future__ import annotations

import csv
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from xsent.evaluation.charts import Chart, Curve, Histogram, Line, Panel
from xsent.reporting.charts import BINS, draw_charts

VALUES = {"yes": np.array([0.0, 0.5, 0.5, 1.0 + 1e-15]), "no": np.array([-0.2, 0.1])}


def histogram(*panels: Panel) -> Histogram:
    return Histogram("cosines", "Cosines", "cosine", "pairs", "threshold", panels)


def curve(**lines: Line) -> Curve:
    return Curve("roc", "ROC", "false positive rate", "true positive rate", "at the threshold", lines, "chance")


CORNER = Line(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]), (0.0, 1.0), "AUC 100.0")


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_each_chart_is_a_picture_and_a_table_the_same_each_time(tmp_path: Path) -> None:
    charts: list[Chart] = [histogram(Panel("intra", VALUES, 0.3), Panel("inter", VALUES, None)), curve(intra=CORNER)]
    first, second = (draw_charts(charts, tmp_path / name) for name in "ab")
    assert [path.name for path in first] == ["cosines.png", "roc.png"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes().startswith(b"\x89PNG")
        assert one.read_bytes() == other.read_bytes()
        assert one.with_suffix(".csv").read_bytes() == other.with_suffix(".csv").read_bytes()


def test_the_bins_of_all_panels_are_the_same_and_every_value_is_in_one(tmp_path: Path) -> None:
    panels = [Panel("a", VALUES, 0.3), Panel("b", {"yes": np.array([0.9]), "no": np.array([])}, None)]
    draw_charts([histogram(*panels)], tmp_path)
    header, *lines = rows(tmp_path / "cosines.csv")
    assert header == ["panel", "label", "from", "to", "count"]
    counts = {(panel, label): 0 for panel in "ab" for label in ("yes", "no")}
    for panel, label, *_, count in lines:
        counts[panel, label] += int(count)
    assert counts == {("a", "yes"): 4, ("a", "no"): 2, ("b", "yes"): 1, ("b", "no"): 0}
    edges = {key: [line[2:4] for line in lines if line[:2] == list(key)] for key in counts}
    assert len(edges["a", "yes"]) <= BINS
    assert all(found == edges["a", "yes"] for found in edges.values())
    assert all(len(edge) <= 6 for line in edges["a", "yes"] for edge in line)  # round: 0.225, not 0.22499999


def test_the_points_of_a_curve_are_in_its_table(tmp_path: Path) -> None:
    draw_charts([curve(intra=CORNER)], tmp_path)
    assert rows(tmp_path / "roc.csv") == [
        ["line", "false positive rate", "true positive rate"],
        ["intra", "0.0", "0.0"],
        ["intra", "0.0", "1.0"],
        ["intra", "1.0", "1.0"],
    ]


@pytest.mark.parametrize("panels", [1, 4])
def test_any_number_of_panels_is_drawn_without_a_warning(tmp_path: Path, panels: int) -> None:
    one_value = {"yes": np.array([1.0, 1.0 - 1e-8]), "no": np.array([])}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw_charts([histogram(*(Panel(str(number), one_value, 0.5) for number in range(panels)))], tmp_path)
        draw_charts([curve(**{f"kind {n}": CORNER._replace(mark=None) for n in range(panels)})], tmp_path)
    assert (tmp_path / "cosines.png").is_file()


def test_nothing_is_drawn_through_matplotlibs_global_state(tmp_path: Path) -> None:
    before = "matplotlib.pyplot" in sys.modules
    draw_charts([curve(intra=CORNER)], tmp_path)
    assert ("matplotlib.pyplot" in sys.modules) == before
