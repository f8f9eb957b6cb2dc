"""Charts: pictures that are there and repeat, tables of the numbers in them."""

import csv
import logging
import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.text import Annotation

from xsent.evaluation.charts import BoxPlot, Chart, Curve, Histogram, Line, Panel, Point, Scatter
from xsent.reporting.plots.charts import BINS, draw_charts, draw_histogram
from xsent.reporting.plots.scatters import LONGEST, draw_scatter

VALUES = {"yes": np.array([0.0, 0.5, 0.5, 1.0 + 1e-15]), "no": np.array([-0.2, 0.1])}


def histogram(*panels: Panel) -> Histogram:
    return Histogram("cosines", "Cosines", "cosine", "pairs", "threshold", panels)


def curve(**lines: Line) -> Curve:
    return Curve("roc", "ROC", "false positive rate", "true positive rate", "at the threshold", lines, "chance")


def boxes(**groups: dict[str, list[float]]) -> BoxPlot:
    series = {name: {model: np.array(values) for model, values in samples.items()} for name, samples in groups.items()}
    return BoxPlot("distances", "Distances", "cosine distance", series)


def scatter(*points: Point) -> Scatter:
    return Scatter("pca", "One sentence", points, "60.0 % and 20.0 % of the variance")


CORNER = Line(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]), (0.0, 1.0), "AUC 100.0")


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_each_chart_is_a_picture_and_a_table_the_same_each_time(tmp_path: Path) -> None:
    charts: list[Chart] = [histogram(Panel("intra", VALUES, 0.3), Panel("inter", VALUES, None)), curve(intra=CORNER)]
    charts += [boxes(fing={"a": [1, 2], "b": [3.0]}), scatter(Point(0, 0, "here", "one"), Point(1, 1, "", "two"))]
    first, second = (draw_charts(charts, tmp_path / name) for name in "ab")
    assert pyplot.get_fignums() == []  # figures there live as long as the process
    assert [path.name for path in first] == ["cosines.png", "roc.png", "distances.png", "pca.png"]
    for path, repeated in zip(first, second, strict=True):
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.read_bytes() == repeated.read_bytes()
        assert path.with_suffix(".csv").read_bytes() == repeated.with_suffix(".csv").read_bytes()


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
    assert all(bins == edges["a", "yes"] for bins in edges.values())
    assert all(len(edge) <= 6 for line in edges["a", "yes"] for edge in line)  # round: 0.225, not 0.22499999


@pytest.mark.parametrize("panels", [1, 2, 4])
def test_a_legend_of_many_long_labels_is_within_the_picture(panels: int) -> None:
    labels = ["unrelated", "some meaning difference", "no meaning difference", "phrase replacement", "subtree deletion"]
    values = {label: np.array([0.0, 1.0]) for label in labels}
    figure, _ = draw_histogram(histogram(*(Panel(str(number), values, 0.5) for number in range(panels))))
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [*labels, "threshold"]
    box = legend.get_window_extent()
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= box.y0


LONG = "It costs $5, or $6, and " + "so on " * 20


@pytest.mark.parametrize(
    ("chart", "expected"),
    [
        (
            curve(intra=CORNER),
            [
                ["line", "false positive rate", "true positive rate"],
                ["intra", "0.0", "0.0"],
                ["intra", "0.0", "1.0"],
                ["intra", "1.0", "1.0"],
            ],
        ),
        (
            # Quartiles of 0, 1, 2, 3, 14 are the second, third and fourth of the five values.
            boxes(fing={"student": [3, 0, 14, 1, 2], "teacher": []}, leet={"teacher": [5]}),
            [
                ["group", "model", "n", "mean", "min", "first quartile", "median", "third quartile", "max"],
                ["fing", "student", "5", "4.0", "0.0", "1.0", "2.0", "3.0", "14.0"],
                ["fing", "teacher", "0", "", "", "", "", "", ""],
                ["leet", "teacher", "1", "5.0", "5.0", "5.0", "5.0", "5.0", "5.0"],
            ],
        ),
        (
            scatter(Point(0.5, -1, LONG, "noisy, student"), Point(0, 2, "", "standard")),
            [["kind", "label", "x", "y"], ["noisy, student", LONG, "0.5", "-1"], ["standard", "", "0", "2"]],
        ),
    ],
)
def test_the_points_of_a_chart_or_the_quartiles_of_a_box_are_in_its_table(
    tmp_path: Path, chart: Chart, expected: list[list[str]]
) -> None:
    draw_charts([chart], tmp_path)
    assert rows(tmp_path / f"{chart.name}.csv") == expected


def test_each_group_makes_a_box_plot_wider(tmp_path: Path) -> None:
    def width(groups: int) -> int:
        many = {f"group {number}": {"student": [0.1, 0.2], "teacher": [0.3]} for number in range(groups)}
        (path,) = draw_charts([boxes(**many)], tmp_path)
        return int.from_bytes(path.read_bytes()[16:20], "big")

    narrow, middle, wide = (width(groups) for groups in (8, 12, 16))
    assert wide - middle == pytest.approx(middle - narrow, abs=1)  # a pixel
    assert middle > narrow


def test_labels_of_a_scatter_plot_overlap_neither_each_other_nor_a_mark() -> None:
    labels = ["standard", "noisy", "Wie geht es?", "Ça va ?", "Как дела?", "x" * (2 * LONGEST)]
    spots = [(0, 0), (0.02, 0.01), (0, 0), (-0.02, 0.02), (0.9, 0.4), (1, 0.4)]
    points = [Point(x, y, label, "one") for (x, y), label in zip(spots, labels, strict=True)]
    figure, _ = draw_scatter(scatter(*points))
    figure.draw_without_rendering()
    (axis,) = figure.axes
    texts = [text for text in axis.texts if isinstance(text, Annotation)]
    assert [text.get_text() for text in texts] == [*labels[:-1], "x" * (LONGEST - 1) + "…"]
    extents = [super(Annotation, text).get_window_extent() for text in texts]  # without the line to the mark
    marks = axis.transData.transform(spots)
    for number, box in enumerate(extents):
        assert not any(box.overlaps(previous) for previous in extents[:number])
        assert not any(box.contains(x, y) for x, y in marks)
        assert axis.get_window_extent().containsx(box.x0)
        assert axis.get_window_extent().containsx(box.x1)


def test_what_no_font_has_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    # A private-use character is in no font.
    charts = [scatter(Point(0, 0, "\ue123 \ue124", "one"), Point(1, 1, "\ue123", "one"))]
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        draw_charts(charts, tmp_path)
    (message,) = caplog.messages
    assert message.startswith("chart pca: no installed font has 2 of its characters")


COLLAPSED = {"yes": np.array([1.0, 1.0 - 1e-8]), "no": np.array([])}


@pytest.mark.parametrize(
    "chart",
    [
        boxes(),
        boxes(one={"student": [1.0]}, none={}, empty={"teacher": []}),
        scatter(),
        scatter(*[Point(0, 0, f"label {number}", f"kind {number}") for number in range(30)]),
        *(histogram(*[Panel(str(number), COLLAPSED, 0.5) for number in range(panels)]) for panels in (1, 4)),
        *(curve(**{f"kind {n}": CORNER._replace(mark=None) for n in range(lines)}) for lines in (1, 4)),
    ],
)
def test_little_to_draw_and_much_in_one_place_are_drawn_without_a_warning(tmp_path: Path, chart: Chart) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (path,) = draw_charts([chart], tmp_path)
    assert path.is_file()
