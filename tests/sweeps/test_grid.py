"""A grid of runs: the best is chosen by the monitored figure alone."""

import json
from pathlib import Path

import pytest

from xsent.sweeps.grid import grid_table, read_grid

FIGURE = "test/refresd/wikimatrix/f1"


def write(folder: Path, number: int, margin: int, best: float, figure: float | None) -> None:
    run = folder / str(number)
    run.mkdir(parents=True)
    (run / "command.yaml").write_text(f"overrides: [recipe=divergence, recipe.margin={margin}]\n")
    metrics = {} if figure is None else {FIGURE: figure}
    (run / "metrics.json").write_text(json.dumps({"best": best, "metrics": metrics}))


def test_the_best_by_dev_comes_first_whatever_the_test_set_says(tmp_path: Path) -> None:
    for number, (margin, best, figure) in enumerate([(3, 80.0, 70.0), (5, 90.0, 60.0), (10, 85.0, 75.0)]):
        write(tmp_path, number, margin, best, figure)
    runs = read_grid(tmp_path, [FIGURE], mode="max")
    assert [run.options for run in runs] == ["recipe.margin=5", "recipe.margin=10", "recipe.margin=3"]
    assert read_grid(tmp_path, [FIGURE], mode="min")[0].options == "recipe.margin=3"


def test_mean_and_variance_are_those_of_the_grid(tmp_path: Path) -> None:
    # 80, 90, 85: mean 85, variance (25 + 25 + 0) / 3.
    for number, (margin, best) in enumerate([(3, 80.0), (5, 90.0), (10, 85.0)]):
        write(tmp_path, number, margin, best, 70.0)
    runs = read_grid(tmp_path, [FIGURE], mode="max")
    text = grid_table(runs, [FIGURE], title="Margins", paper={"ranking": [77.8, 1.36, 83.67, 0.22, 5, 79]})
    assert "| **ours** | 85.00 | 16.67 | 70.00 | 0.00 | recipe.margin=5 | 90.00 |" in text
    assert "| ranking | 77.8 | 1.36 | 83.67 | 0.22 | 5 | 79 |" in text


def test_what_was_not_measured_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, 0, 5, 90.0, None)
    text = grid_table(read_grid(tmp_path, [FIGURE], mode="max"), [FIGURE], title="Margins", paper={})
    assert "| recipe=divergence recipe.margin=5 | 90.00 |" in text
    assert "| **ours** | 90.00 | 0.00 |  |  | recipe=divergence recipe.margin=5 | 90.00 |" in text


def test_a_folder_without_a_finished_run_gives_nothing(tmp_path: Path) -> None:
    assert read_grid(tmp_path, [FIGURE], mode="max") == []


@pytest.mark.parametrize("number", [2, 10])
def test_jobs_are_in_the_order_of_their_numbers(tmp_path: Path, number: int) -> None:
    for job in (number, 1):
        write(tmp_path, job, job, 50.0, None)
    assert read_grid(tmp_path, [FIGURE], mode="max")[0].options == "recipe.margin=1"
