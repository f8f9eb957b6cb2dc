"""A grid of runs: the best is chosen by the monitored figure alone; a failed run is named with its error."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT, toy_bitext, toy_overrides
from xsent.sweeps.grid import GridRun, differing_options, grid_models, grid_table, read_grid, training_metrics

FIGURE = "test/refresd/wikimatrix/f1"


def write(folder: Path, number: int, margin: int, best: float, figure: float | None, mode: str = "max") -> None:
    run = folder / str(number)
    run.mkdir(parents=True)
    (run / "command.yaml").write_text(f"overrides: [recipe=divergence, recipe.margin={margin}]\n")
    metrics = {} if figure is None else {FIGURE: figure}
    config = {"callbacks": {"checkpoints": {"mode": mode}}}
    about = {"best": best, "monitor": "val/f1", "metrics": metrics, "config": config}
    (run / "metrics.json").write_text(json.dumps(about))


def margins(folder: Path) -> list[str]:
    return differing_options(read_grid(folder, {}))["margin"]


@pytest.mark.parametrize(("mode", "expected"), [("max", ["5", "10", "3"]), ("min", ["3", "10", "5"])])
def test_the_best_by_dev_comes_first_whatever_the_test_set_says(tmp_path: Path, mode: str, expected: list[str]) -> None:
    for number, (margin, best, figure) in enumerate([(3, 80.0, 70.0), (5, 90.0, 60.0), (10, 85.0, 75.0)]):
        write(tmp_path, number, margin, best, figure, mode)
    assert margins(tmp_path) == expected


def test_what_was_not_measured_is_left_out(tmp_path: Path) -> None:
    for number, margin in enumerate([5, 3]):
        write(tmp_path, number, margin, 90.0 - number, None)
    header, rows = grid_table(read_grid(tmp_path, {}), [FIGURE])
    assert header == ["margin", "val/f1 (higher is better)", "folder"]
    assert rows[0] == ["5", "90.00", "0"]


def test_runs_are_in_the_order_of_their_numbers_and_those_without_a_result_are_last(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        write(tmp_path, number, number, 50.0, None)
    (tmp_path / "1" / "metrics.json").unlink()
    failed = {"0": GridRun(tmp_path / "0", ["recipe=divergence", "recipe.margin=0"], "recipe.margin=0: too small")}
    assert differing_options(read_grid(tmp_path, failed))["margin"] == ["2", "10", "0", "1"]
    _, rows = grid_table(read_grid(tmp_path, failed), None)
    assert [row[-1] for row in rows[2:]] == ["0 failed: recipe.margin=0: too small", "1 failed: no result; see its log"]


def scored(folder: Path, number: int, source: Path, evaluator: str) -> GridRun:
    overrides = [f"ckpt={source}", f"evaluator={evaluator}"]
    return GridRun(folder / str(number), overrides, metrics={f"test/{evaluator}/a/b": number}, source=str(source))


def test_evaluators_of_a_model_are_in_one_row_and_equal_names_of_folders_are_told_apart(tmp_path: Path) -> None:
    a, b, other = tmp_path / "x" / "a", tmp_path / "x" / "b", tmp_path / "y" / "a"
    runs = [scored(tmp_path, 0, a, "ugc"), scored(tmp_path, 1, b, "ugc"), scored(tmp_path, 2, a, "stsb")]
    models = grid_models(runs)
    assert {model.name: model.metrics for model in models} == {
        "a": {"test/ugc/a/b": 0, "test/stsb/a/b": 2},
        "b": {"test/ugc/a/b": 1},
    }
    assert [model.name for model in grid_models([runs[0], scored(tmp_path, 1, other, "ugc")])] == [str(a), str(other)]


def test_the_training_of_a_run_and_its_best_epoch(tmp_path: Path) -> None:
    config = {"callbacks": {"checkpoints": {"mode": "min"}}}
    about = {
        "epochs": 3,
        "batches": 30,
        "seconds": 1800,
        "parameters": 2_000_000,
        "monitor": "val/loss",
        "config": config,
    }
    (tmp_path / "metrics.json").write_text(json.dumps(about))
    rows = ["9,0,val/loss,3", "19,1,val/loss,1", "19,1,train/loss,0", "29,2,val/loss,2"]
    (tmp_path / "metrics.csv").write_text("\n".join(["step,epoch,name,value", *rows]) + "\n")
    expected = {"epochs": 3, "steps": 30, "hours": 0.5, "million_parameters": 2, "best_epochs": 2, "best_steps": 20}
    assert training_metrics(tmp_path) == {f"test/training/run/{name}": value for name, value in expected.items()}
    assert training_metrics(tmp_path / "none") == {}


@pytest.mark.slow
def test_a_grid_prints_and_writes_its_table_and_fails_if_a_run_failed(tmp_path: Path) -> None:
    # That a batch is larger than the data is known when they have been read.
    options = "recipe=labse encoder=tiny trainer.max_epochs=0 trainer.enable_progress_bar=false name=sizes"
    overrides = toy_overrides(toy_bitext(tmp_path / "data"), *options.split(), "data.global_batch_size=32,100000")
    process = subprocess.run(
        [sys.executable, "train.py", "-m", *overrides, f"runs_dir={tmp_path}", f"cache_dir={tmp_path / 'cache'}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert process.returncode != 0
    lines = (tmp_path / "sweeps/sizes/grid.md").read_text().splitlines()
    assert lines[2] == "| global_batch_size | test heldout mean accuracy, before training | folder |"
    assert lines[4].startswith("| 32 | ")
    assert lines[4].endswith(" | 0 |")
    assert lines[5].startswith("| 100000 |  | 1 failed: data=bitext: a batch of data.global_batch_size=100000")
    assert "global_batch_size" in process.stdout
