"""Searches as a user starts them: real processes, real trainings of a tiny encoder."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock, Timeout

from tests.helpers import ROOT, toy_bert, toy_bitext, toy_divergences, toy_labelled

pytest.importorskip("optuna", reason="pip install 'xsent[search]'")

RATES = "hparams_search.space={recipe.optimizer.lr: {low: 0.001, high: 0.1, log: true}}"


def command(tmp_path: Path, *overrides: str, name: str = "toy") -> list[str]:
    if not (tmp_path / "toy").exists():
        toy_bitext(tmp_path / "toy", pairs=100)
    return [
        sys.executable, "train.py", "hparams_search=base", f"hparams_search.name={name}", "recipe=dream",
        "encoder=tiny", "data=bitext", f"data.root={tmp_path / 'toy'}", "data.global_batch_size=64",
        "data.valid_share=0.1", "data.test_share=0.1", "evaluator=none", "logger=none", f"runs_dir={tmp_path}",
        f"cache_dir={tmp_path / 'cache'}", "hparams_search.pruner=none", *overrides,
    ]  # fmt: skip


def environment() -> dict[str, str]:
    """Of a shell: another test of this process may have said when it began, and two commands would share a folder."""
    return {name: value for name, value in os.environ.items() if name != "XSENT_STARTED"} | {"OMP_NUM_THREADS": "1"}


def run(*args: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*args, **options), cwd=ROOT, capture_output=True, text=True, env=environment())


def trials(tmp_path: Path, name: str = "toy") -> list[dict[str, str]]:
    with (tmp_path / "searches" / name / "trials.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def told(tmp_path: Path, name: str) -> list[dict[str, str]]:
    """What is a function of the seed."""
    return [{key: value for key, value in one.items() if key != "last_seconds"} for one in trials(tmp_path, name)]


@pytest.mark.slow
def test_a_grid_is_searched_and_a_failed_trial_does_not_stop_it(tmp_path: Path) -> None:
    # No optimizer steps by a negative rate, and nobody knows before it is built.
    space = "hparams_search.space={recipe.optimizer.lr: {choices: [-1.0, 0.01, 0.001]}}"
    grid = [space, "hparams_search.sampler=grid", "hparams_search.n_trials=null", "hparams_search.workers=2"]
    done = run(tmp_path, *grid, "trainer.max_epochs=1")
    assert done.returncode == 0, done.stderr
    rows = trials(tmp_path)
    assert [row["state"] for row in rows] == ["fail", "complete", "complete"]
    assert [row["recipe.optimizer.lr"] for row in rows] == ["-1.0", "0.01", "0.001"]
    assert "learning rate" in rows[0]["error"]
    folder = tmp_path / "searches" / "toy"
    for row in rows[1:]:
        own = folder / "trials" / row["number"]
        assert float(row["value"]) == json.loads((own / "metrics.json").read_text())["best"]
        assert (own / "report.html").is_file()
    assert not (tmp_path / "dream").exists(), "trials have their folders in the search's"
    assert "2 finished, 0 were pruned, 1 failed" in done.stderr
    assert (folder / "report.html").is_file()

    # Another space is another search; nothing of the first is touched.
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert any(path.name == "train.log" for path in before)
    other = run(tmp_path, grid[0].replace("0.01,", "0.02,"), *grid[1:], "trainer.max_epochs=1")
    assert other.returncode != 0
    assert "is of another search: space.recipe.optimizer.lr.choices was" in other.stderr
    assert {path: path.read_bytes() for path in before} == before


def test_a_password_of_the_storage_is_nowhere_on_disk(tmp_path: Path) -> None:
    failed = run(tmp_path, RATES, "hparams_search.storage='nosuch://somebody:hush@example.org/db'")
    assert failed.returncode != 0
    assert "nosuch://***@example.org/db" in failed.stderr
    (command_file,) = (tmp_path / "searches" / "toy" / "commands").glob("*/command.yaml")
    assert "nosuch://***@example.org/db" in command_file.read_text()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"hush" in path.read_bytes()]


def wait_for(happens: Any, seconds: float = 600) -> None:
    until = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.02)


def is_free(path: Path) -> bool:
    try:
        with FileLock(path, timeout=0):
            return True
    except Timeout:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("trainer", ["cpu", "ddp_cpu"])
def test_a_killed_search_goes_on_as_an_unbroken_one(tmp_path: Path, trainer: str) -> None:
    # Every trial after the first is pruned or not by what the ones before it reported.
    options = [
        RATES, "hparams_search.n_trials=3", "hparams_search.pruner=median", "trainer.max_epochs=40",
        "hparams_search.pruners.median={n_startup_trials: 1, n_warmup_steps: 10}", f"trainer={trainer}",
        "callbacks.early_stopping.patience=100",
    ]  # fmt: skip
    whole = run(tmp_path, *options, name="whole")
    assert whole.returncode == 0, whole.stderr

    folder = tmp_path / "searches" / "killed"
    parent = subprocess.Popen(command(tmp_path, *options, name="killed"), cwd=ROOT, stderr=subprocess.PIPE)
    wait_for((folder / "trials" / "1" / "checkpoints" / "last.ckpt").is_file)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_for(lambda: is_free(folder / "trials" / "1" / "running.lock"), 60)
    assert not (folder / "trials" / "1" / "outcome.json").exists(), "the trial went on without its search"
    wait_for(lambda: not trainings_in(folder), 60)

    again = run(tmp_path, *options, name="killed")
    assert again.returncode == 0, again.stderr
    assert "trial 1 goes on from its last checkpoint" in again.stderr
    assert "1 of 3 trials done" in again.stderr
    assert told(tmp_path, "killed") == told(tmp_path, "whole")
    states = [row["state"] for row in trials(tmp_path, "whole")]
    assert states[0] == "complete"
    for number, state in enumerate(states):
        assert (folder / "trials" / str(number) / "metrics.json").exists() == (state == "complete")

    # Once more: nothing is left to do.
    third = run(tmp_path, *options, name="killed")
    assert third.returncode == 0, third.stderr
    assert "3 of 3 trials done" in third.stderr
    assert told(tmp_path, "killed") == told(tmp_path, "whole")


def trainings_in(folder: Path) -> list[str]:
    """Processes that train a trial of a search."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            text = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if "XSENT_FROZEN_CONFIG" in text and str(folder) in text:
            found.append(path.parent.name)
    return found


@pytest.mark.slow
def test_two_commands_on_one_study_share_its_trials(tmp_path: Path) -> None:
    options = [RATES, "hparams_search.n_trials=4", "trainer.max_epochs=1", "hparams_search.workers=2"]
    both = [
        subprocess.Popen(command(tmp_path, *options), cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [one.communicate()[1] for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    rows = run(tmp_path, *options).returncode, trials(tmp_path)
    assert rows[0] == 0
    assert [row["number"] for row in rows[1]] == ["0", "1", "2", "3"]
    assert {row["state"] for row in rows[1]} == {"complete"}
    assert len({row["recipe.optimizer.lr"] for row in rows[1]}) == 4
    for number in range(4):
        assert sum(f"trial {number}: " in text for text in said) == 1, "each trial by one command"


@pytest.mark.slow
def test_a_terminated_search_says_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "searches" / "toy"
    options = [RATES, "hparams_search.n_trials=2", "trainer.max_epochs=1000", "callbacks.early_stopping.patience=1000"]
    parent = subprocess.Popen(command(tmp_path, *options), cwd=ROOT, stderr=subprocess.PIPE, text=True)
    wait_for((folder / "trials" / "0" / "checkpoints" / "last.ckpt").is_file)
    parent.terminate()
    said = parent.communicate()[1]
    assert parent.returncode == 130
    assert said.splitlines()[-1].endswith("stopped with 0 of 2 trials done; the same command goes on")
    assert "Traceback" not in said
    assert not trainings_in(folder)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["submitit", "ray"])
def test_another_engine_finds_what_this_machine_finds(tmp_path: Path, engine: str) -> None:
    pytest.importorskip(engine)
    options = [
        RATES, "hparams_search.n_trials=2", "trainer.max_epochs=1", "hparams_search.submitit.cluster=local",
        "hparams_search.submitit.parameters={timeout_min: 10, cpus_per_task: 1}",
    ]  # fmt: skip
    local = run(tmp_path, *options, name="local")
    assert local.returncode == 0, local.stderr
    other = run(tmp_path, *options, f"hparams_search.engine={engine}", name=engine)
    assert other.returncode == 0, other.stderr
    assert told(tmp_path, engine) == told(tmp_path, "local")


@pytest.mark.slow
def test_the_best_trial_is_trained_again_by_its_number(tmp_path: Path) -> None:
    options = [RATES, "hparams_search.n_trials=2", "trainer.max_epochs=1"]
    assert run(tmp_path, *options).returncode == 0
    again = run(tmp_path, *options, "hparams_search.trial=1")
    assert again.returncode == 0, again.stderr
    (metrics,) = tmp_path.glob("best/*/metrics.json")
    assert json.loads(metrics.read_text())["best"] == float(trials(tmp_path)[1]["value"])
    other = run(tmp_path, *options, "hparams_search.trial=1", "trainer.max_epochs=2")
    assert other.returncode == 0, other.stderr
    assert "not as in the search: config.trainer.max_epochs was 1, is 2" in other.stderr
    late = run(tmp_path, *options, "hparams_search.trial=2")
    assert late.returncode != 0
    assert "hparams_search.trial=2: expected a number below 2" in late.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["divergence_margin", "paraphrase_margin_scale", "oracle_weights"])
def test_a_ready_made_search_runs(tmp_path: Path, name: str) -> None:
    small = ["logger=none", "trainer.max_epochs=1", "hparams_search.n_trials=2", f"runs_dir={tmp_path}"]
    bert = ["encoder=mbert", "encoder.max_length=null", f"encoder.path={toy_bert(tmp_path / 'bert')}"]
    data = {
        "divergence_margin": [
            f"data.root={toy_divergences(tmp_path / 'd.jsonl')}", "data.train_seeds=25", "data.valid_seeds=4",
            "data.test_seeds=4", "data.global_batch_size=8", "recipe.max_length=32", *bert,
        ],
        "paraphrase_margin_scale": [
            "data=labelled", f"data.root={toy_labelled(tmp_path / 'l', groups=60)}", "data.global_batch_size=16",
            "data.valid_share=0.2", "data.test_share=0.2", "recipe.mining.mini_batches=2", *bert,
        ],
        "oracle_weights": [
            "data=bitext", f"data.root={toy_bitext(tmp_path / 'toy', pairs=100)}", "data.global_batch_size=64",
            "data.valid_share=0.1", "data.test_share=0.1", "encoder=tiny",
        ],
    }[name]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "train.py", f"hparams_search={name}", f"cache_dir={tmp_path / 'cache'}", *small, *data],
        cwd=ROOT, capture_output=True, text=True, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert {row["state"] for row in trials(tmp_path, name)} == {"complete"}


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["basic", "submitit_local"])
def test_a_plain_grid_keeps_working(tmp_path: Path, launcher: str) -> None:
    if launcher == "submitit_local":
        pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    own = [one for one in command(tmp_path) if not one.startswith("hparams_search")]
    grid = [f"hydra/launcher={launcher}", "recipe.optimizer.lr=0.01,0.001", "trainer.max_epochs=1", "-m"]
    done = subprocess.run([*own, *grid], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(list(tmp_path.glob("sweeps/*/*/metrics.json"))) == 2
