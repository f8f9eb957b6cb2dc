"""Searches: resuming after kills, pruning, several commands, results; and one search with real training (slow)."""

import csv
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT, toy_bitext

optuna = pytest.importorskip("optuna", reason="pip install 'xsent[search]'")

from tests.sweeps.search.stub import InProcess, compose, stub_options, stub_search  # noqa: E402
from xsent.sweeps.search.launchers import TrialProcess  # noqa: E402
from xsent.sweeps.search.search import train_again  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")

MEDIAN = {
    "seed": 2,  # prunes a trial
    "pruner": "median",
    "pruners": {"median": {"n_startup_trials": 1, "n_warmup_steps": 2}},
    "sampler": "tpe",
    "samplers": {"tpe": {"n_startup_trials": 2, "multivariate": True}},
}


@pytest.fixture(autouse=True)
def no_pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "page" not in request.node.name:
        monkeypatch.setattr("xsent.sweeps.search.results.Results._write_page", lambda *args, **options: None)


def start(folder: Path, *, hangs: str = "", **changes: Any) -> subprocess.Popen[str]:
    """A stub search in a process of its own; one trial hangs in its second epoch."""
    command = [sys.executable, "-m", "tests.sweeps.search.stub", str(folder), json.dumps(changes)]
    environment = os.environ | {"STUB_HANGS": hangs}
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, env=environment)


def rows(folder: Path) -> list[dict[str, str]]:
    """Trials, without what the clock decides."""
    with (folder / "trials.csv").open(encoding="utf-8", newline="") as file:
        return [{key: value for key, value in row.items() if key != "last_seconds"} for row in csv.DictReader(file)]


def wait_for(condition: Callable[[], Any], seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM])
def test_a_stopped_search_ends_with_the_values_of_an_unbroken_one(
    tmp_path: Path, stop: signal.Signals, caplog: pytest.LogCaptureFixture
) -> None:
    # The parameters and the pruning of a trial depend on the trials before it.
    caplog.set_level(logging.INFO)
    stub_search(stub_options(tmp_path / "unbroken", n_trials=5, **MEDIAN), InProcess()).run()
    folder = tmp_path / "stopped"
    command = start(folder, hangs="1", n_trials=5, **MEDIAN)
    wait_for((folder / "trials" / "1" / "checkpoints" / "last.ckpt").is_file)
    command.send_signal(stop)
    messages = command.communicate()[1]
    if stop == signal.SIGTERM:
        assert command.returncode == 143
        assert "stopped with 1 of 5 trials done; run the same command to continue" in messages
        assert "Traceback" not in messages
    caplog.clear()
    stub_search(stub_options(folder, n_trials=5, **MEDIAN), InProcess()).run()
    assert ("waiting 2 s" in caplog.text) == (stop == signal.SIGKILL)
    assert "1 of 5 trials done" in caplog.text
    assert "trial 1 resumes from its last checkpoint" in caplog.text
    assert rows(folder) == rows(tmp_path / "unbroken")
    assert {row["state"] for row in rows(folder)} == {"complete", "pruned"}
    assert (folder / "trials" / "1" / "epochs.txt").read_text().split() == ["1", "2", "2", "3", "4", "5", "6"]
    caplog.clear()
    launcher = InProcess()
    stub_search(stub_options(folder, n_trials=5, **MEDIAN), launcher).run()
    assert launcher.started == []


@pytest.mark.slow
def test_two_commands_share_the_trials_of_a_study(tmp_path: Path) -> None:
    commands = [start(tmp_path / "s", n_trials=4) for _ in range(2)]
    messages = [command.communicate()[1] for command in commands]
    assert [command.returncode for command in commands] == [0, 0], messages
    table = rows(tmp_path / "s")
    assert [(row["number"], row["state"]) for row in table] == [(str(i), "complete") for i in range(4)]
    assert len({row["a"] for row in table}) == 4
    for number in range(4):
        assert sum(f"trial {number}: " in text for text in messages) == 1, "each trial by one command"


def test_a_running_trial_of_a_dead_command_is_taken_over_after_the_grace_period(tmp_path: Path) -> None:
    search = stub_search(stub_options(tmp_path / "s"), InProcess())
    search.study.queue_next()
    assert search.study.start_queued() == 0
    time.sleep(1)
    search.study.beat(0)
    search.study.retry_killed()
    assert search.study.start_queued() is None, "it sent a heartbeat"
    search.run()
    assert [(trial.state.name, trial.number) for trial in search.study.trials()] == [("COMPLETE", 1)]


def test_a_job_that_begins_after_its_trial_was_given_to_another_does_nothing(tmp_path: Path) -> None:
    class Queued(InProcess):
        def __call__(self, *args: Any) -> TrialProcess:
            search.study.fail(0)
            search.study.retry_killed()
            return super().__call__(*args)

    search = stub_search(stub_options(tmp_path / "s"), Queued())
    assert search._start_trial()
    assert not list((tmp_path / "s").glob("trials/0/*"))


@pytest.mark.parametrize(("deaths", "state"), [(2, "COMPLETE"), (3, "FAIL")])
def test_a_killed_trial_is_restarted_as_often_as_retries_allows(tmp_path: Path, deaths: int, state: str) -> None:
    launcher = InProcess(killed=deaths)
    search = stub_search(stub_options(tmp_path / "s", retries=2), launcher)
    if state == "FAIL":
        with pytest.raises(RuntimeError, match=r"none of 1 trials .* 1 failed.* its process ended with status -9"):
            search.run()
    else:
        search.run()
    (trial,) = search.study.trials()
    assert (trial.state.name, launcher.started) == (state, ["0"] * 3)


def test_an_exception_fails_a_trial_without_a_retry_and_without_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = stub_options(tmp_path / "s", space={"a": {"choices": [-1, 2, 1, "nan"]}}, sampler="grid", n_trials=None)
    launcher = InProcess()
    assert stub_search(options, launcher).run() == 12
    table = rows(tmp_path / "s")
    assert launcher.started == ["0", "1", "2", "3"]
    assert [row["state"] for row in table] == ["fail", "complete", "complete", "fail"]
    assert "val/x is nan after epoch 1" in table[3]["error"]
    assert "a is negative, see postgresql://***@example.org/db" in table[0]["error"]
    assert "hush" not in caplog.text + str(table)


def test_the_killed_attempt_of_a_trial_does_not_count_in_pruning(tmp_path: Path) -> None:
    from xsent.sweeps.search.storage import latest_attempts
    from xsent.sweeps.search.trial import RunningTrial

    options = stub_options(tmp_path / "s", n_trials=2)
    search = stub_search(options, InProcess())

    def attempt(number: int) -> RunningTrial:
        return RunningTrial(
            name=options.name,
            study_id=search.study.id,
            attempt=number,
            storage=options.storage,
            pruner={"name": "asha", "min_resource": 1, "reduction_factor": 2},
            monitor="val/x",
            heartbeat=1,
            grace_period=2,
        )

    search.study.queue_next()
    search.study.start_queued()
    assert not attempt(0).report(1, 0.5)
    search.study.fail(0)
    search.study.retry_killed()
    search.study.start_queued()
    resumed = attempt(1)
    assert resumed.trial.params == search.study.study.trials[0].params
    assert len(resumed.study.get_trials()) == 1
    resumed.report(1, 0.4)  # an epoch that is repeated
    assert latest_attempts(search.study.study.trials)[0].intermediate_values == {1: 0.5}
    resumed.database.set_trial_state_values(resumed.trial_id, optuna.trial.TrialState.COMPLETE, [0.5])
    with pytest.raises(RuntimeError, match="attempt 1 has ended without this process"):
        resumed.report(2, 0.5)


def test_a_folder_or_study_of_another_search_is_refused(tmp_path: Path) -> None:
    stub_search(stub_options(tmp_path / "s"), InProcess()).run()
    before = {path: path.read_bytes() for path in (tmp_path / "s" / "trials").rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match=r"trials belongs to another study: move it away"):
        stub_search(stub_options(tmp_path / "s", name="other"), InProcess())
    (tmp_path / "s").rename(tmp_path / "moved")
    assert stub_search(stub_options(tmp_path / "moved"), InProcess()).study.trials(), "both may move together"
    (tmp_path / "moved").rename(tmp_path / "s")
    with pytest.raises(ValueError, match=r"has its trials in .*/s, not in .*/two"):
        stub_search(stub_options(tmp_path / "two", storage=f"sqlite:///{tmp_path}/s/study.db"), InProcess())
    (tmp_path / "s" / "study.db").unlink()
    with pytest.raises(ValueError, match=r"trials belongs to another study"):
        stub_search(stub_options(tmp_path / "s"), InProcess())
    assert {path: path.read_bytes() for path in before} == before


def test_a_config_file_that_changes_during_the_search_ends_it(tmp_path: Path) -> None:
    launcher = InProcess()

    def edited(overrides: Sequence[str]) -> dict[str, Any]:
        return compose(overrides) | {"lr": len(launcher.started)}

    search = stub_search(stub_options(tmp_path / "s", n_trials=3), launcher, edited)
    with pytest.raises(ValueError, match=r"conf/ has changed since the study test began: config\.lr was 0, is 1"):
        search.run()
    assert launcher.started == ["0"]


def test_trials_whose_data_have_changed_fail(tmp_path: Path) -> None:
    # Each choice of data has its own digest; trial 1 reads other data than trial 0 with the same choice.
    digests = iter(["p", "changed", "q", "q"])

    class Changing(InProcess):
        def __call__(self, variables: Any, *args: Any) -> TrialProcess:
            config = json.loads(variables["XSENT_RUN_CONFIG"])
            config["digest"] = next(digests)
            return super().__call__(variables | {"XSENT_RUN_CONFIG": json.dumps(config)}, *args)

    def with_data(overrides: Sequence[str]) -> dict[str, Any]:
        config = compose(overrides)
        return config | {"data": {"root": config.get("data") if isinstance(config.get("data"), str) else ""}}

    space = {"data": {"choices": ["one", "two"]}, "a": {"choices": [1, 2]}}
    options = stub_options(tmp_path / "s", space=space, sampler="grid", n_trials=None)
    stub_search(options, Changing(), with_data).run()
    table = rows(tmp_path / "s")
    assert [row["state"] for row in table] == ["complete", "fail", "complete", "complete"]
    assert "digest was p, is changed" in table[1]["error"]


def test_table_and_page_are_written_after_every_trial(tmp_path: Path) -> None:
    counts = []

    class Counting(InProcess):
        def __call__(self, *args: Any) -> TrialProcess:
            counts.append(len(rows(tmp_path / "s")) if (tmp_path / "s" / "trials.csv").is_file() else 0)
            return super().__call__(*args)

    stub_search(stub_options(tmp_path / "s", n_trials=3), Counting()).run()
    assert counts == [0, 1, 2]
    assert "overrides" in (tmp_path / "s" / "best.yaml").read_text()
    assert (tmp_path / "s" / "report.html").is_file()


@pytest.mark.slow
@pytest.mark.usefixtures("ray_cluster_slot")
@pytest.mark.parametrize("engine", ["submitit", "ray"])
def test_a_trial_as_a_job_of_slurm_or_a_task_of_ray(tmp_path: Path, engine: str) -> None:
    pytest.importorskip(engine)
    from xsent.sweeps.search.launchers import build_launcher

    engines = {
        "submitit": {"cluster": "local", "parameters": {"timeout_min": 10, "cpus_per_task": 1}},
        "ray": {"address": "local", "cpus_per_trial": 1, "gpus_per_trial": 0},
    }
    stub_search(stub_options(tmp_path / "local"), InProcess()).run()
    options = stub_options(tmp_path / "other", engine=engine, **{engine: engines[engine]})
    stub_search(options, build_launcher(options, devices=1)).run()
    assert "XSENT_TRIAL" not in os.environ  # it may hold a password
    assert rows(tmp_path / "other") == rows(tmp_path / "local")


def test_a_wrong_parameter_of_submitit_is_named(tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    from xsent.sweeps.search.launchers import build_launcher

    options = stub_options(
        tmp_path, engine="submitit", submitit={"cluster": "local", "parameters": {"unknown_option": 1}}
    )
    with pytest.raises(ValueError, match=r"search\.submitit: .*unknown_option"):
        build_launcher(options, devices=1)


def test_trials_share_the_cores_unless_the_user_sets_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    from xsent.sweeps.search.launchers import share_threads

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)))
    assert share_threads(1, 1) == {"OMP_NUM_THREADS": "8"}
    assert share_threads(2, 2) == {"OMP_NUM_THREADS": "2"}
    assert share_threads(8, 2) == {"OMP_NUM_THREADS": "1"}
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert share_threads(1, 1) == {}


@pytest.mark.slow
def test_a_real_search_is_killed_resumed_and_its_best_trial_trained_again(tmp_path: Path) -> None:
    overrides = (
        f"search=oracle_weights encoder=tiny data=bitext data.root={toy_bitext(tmp_path / 'toy', pairs=60)}"
        " data.global_batch_size=64 data.valid_share=0.1 data.test_share=0.1 logger=none trainer=ddp_cpu"
        f" runs_dir={tmp_path} cache_dir={tmp_path / 'cache'} trainer.max_epochs=3"
        " search.n_trials=1 search.heartbeat=1 search.grace_period=2"
    ).split()
    command = [sys.executable, "train.py", *overrides]
    folder = tmp_path / "searches" / "oracle_weights"
    killed = subprocess.Popen(command, cwd=ROOT)
    wait_for((folder / "trials" / "0" / "checkpoints" / "last.ckpt").is_file, 600)
    killed.kill()
    killed.wait()
    resumed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert resumed.returncode == 0, resumed.stderr
    assert "trial 0 resumes from its last checkpoint" in resumed.stderr
    assert "1 trials: 1 finished" in resumed.stderr
    (row,) = rows(folder)
    metrics = json.loads((folder / "trials" / "0" / "metrics.json").read_text())
    assert float(row["value"]) == metrics["best"]
    assert (folder / "trials" / "0" / "report.html").is_file()
    assert (folder / "report.html").is_file()

    again = subprocess.run([*command, "search.trial=0"], cwd=ROOT, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    (metrics_file,) = tmp_path.glob("best-oracle_weights-0-*/metrics.json")
    # Trained without a kill: the resumed trial had the same value.
    assert json.loads(metrics_file.read_text())["best"] == metrics["best"]


def test_only_a_trial_of_the_study_is_trained_again(tmp_path: Path) -> None:
    options = stub_options(tmp_path / "s")
    stub_search(options, InProcess()).run()
    with pytest.raises(ValueError, match=r"search\.trial=1: expected a number below 1"):
        train_again(options, compose, 1)


def test_a_search_with_another_config_is_refused(tmp_path: Path) -> None:
    stub_search(stub_options(tmp_path / "s"), InProcess()).run()
    with pytest.raises(ValueError, match=r"belongs to another search: config\.lr was absent, is 5"):
        stub_search(stub_options(tmp_path / "s"), InProcess(), lambda overrides: compose(overrides) | {"lr": 5})


@pytest.mark.slow
def test_a_password_of_the_storage_is_nowhere_on_disk(tmp_path: Path) -> None:
    overrides = (
        f"search=base search.name=toy recipe=dream encoder=tiny data=bitext evaluator=none runs_dir={tmp_path}"
        f" data.root={toy_bitext(tmp_path / 'toy', pairs=20)} search.storage='nosuch://somebody:hush@example.org/db'"
    ).split()
    overrides.append("search.space={recipe.optimizer.lr: {choices: [0.1, 0.01]}}")
    failed = subprocess.run([sys.executable, "train.py", *overrides], cwd=ROOT, capture_output=True, text=True)
    assert failed.returncode != 0
    assert "nosuch://***@example.org/db" in failed.stderr
    (command_file,) = (tmp_path / "searches" / "toy" / "commands").glob("*/command.yaml")
    assert "nosuch://***@example.org/db" in command_file.read_text()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"hush" in path.read_bytes()]
