"""SIGTERM and Ctrl-C in evaluations, jobs, grids, studies, searches and notebooks; the handler of SIGTERM."""

import gc
import logging
import os
import pkgutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import xsent
from tests.child_processes import exit_code
from tests.faults.inject import contents
from tests.faults.test_signals import SIGNALS, STATUS, WORD, assert_same_weights
from tests.helpers import tiny_static, toy_bitext, toy_overrides
from xsent import sigterm
from xsent.cli.main import main
from xsent.config_checks import UsageError
from xsent.run import single_run


@pytest.fixture(autouse=True)
def handlers_stay() -> Iterator[None]:
    """A command leaves the handlers as they were, and takes the signal."""

    def missed(number: int, frame: FrameType | None) -> None:
        pytest.fail("no handler of the command")

    earlier = signal.signal(signal.SIGTERM, missed)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)}
    yield
    after = {number: signal.getsignal(number) for number in before}
    signal.signal(signal.SIGTERM, earlier)
    assert after == before


def send_in(monkeypatch: pytest.MonkeyPatch, function: str, call: int, number: int, times: int = 1) -> list[int]:
    """Send signals in the ``call``-th call of a function; returns the list of its calls, which grows."""
    path, _, name = function.rpartition(".")
    owner = pkgutil.resolve_name(path)
    original, calls = getattr(owner, name), list[int]()

    def patched(*args: Any, **options: Any) -> Any:
        calls.append(len(calls) + 1)
        if len(calls) == call:
            for _ in range(times):
                os.kill(os.getpid(), number)
        return original(*args, **options)

    monkeypatch.setattr(owner, name, patched)
    return calls


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with texts and a test set."""
    monkeypatch.chdir(tmp_path)
    words = [
        "the",
        "small",
        "house",
        "near",
        "a",
        "river",
        "has",
        "two",
        "old",
        "doors",
        "and",
        "many",
        "green",
        "windows",
    ]
    lines = [" ".join(words[(row + step) % len(words)] for step in range(6)) + f" {row}" for row in range(40)]
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("".join(f"{line} {name}\n" for line in lines))
    (tmp_path / "pairs.tsv").write_text("".join(f"{line}\t{line} eins\n" for line in lines))
    for language in ("deu", "eng"):
        (tmp_path / f"tatoeba.deu-eng.{language}").write_text("".join(f"{language} {row}\n" for row in range(12)))
    return tmp_path


# ---- jobs: at the first and later calls of what they work with, and while they write

JOBS = {
    "encode": ("encode a.txt -o out.npy --encoder micro --set block=16", "out.npy"),
    "mine": ("mine a.txt b.txt -o out.tsv --encoder micro", "out.tsv"),
    "filter": ("filter pairs.tsv -o out.tsv --encoder micro", "out.tsv"),
    "noise": ("noise a.txt -o out.txt --transform fing --workers 1", "out.txt"),
    "augment": ("augment a.txt -o out", "out_augmented.txt"),
    "distract": ("distract eng=a.txt -o out.jsonl", "out.jsonl"),
}
ENCODE = "xsent.models.encoders.base.Encoder.encode"
WRITE = "xsent.files.atomic._sync"
MOMENTS = [
    *((job, "xsent.run.config.compose.plain", 1) for job in JOBS),
    *((job, WRITE, 1) for job in JOBS),
    *((job, ENCODE, 1) for job in ("mine", "filter")),
    ("encode", "xsent.jobs.work_folder.WorkFolder.make", 1),
    ("encode", "xsent.jobs.work_folder.WorkFolder.make", 2),
    ("encode", WRITE, 3),
    ("mine", "xsent.jobs.work_folder.WorkFolder.make", 2),
    ("mine", "xsent.jobs.mining.mine.write_pairs", 1),
    ("filter", "xsent.jobs.work_folder.WorkFolder.make", 1),
    ("noise", "xsent.jobs.synthesis.noise._read_lines", 1),
]


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(("job", "function", "call"), MOMENTS, ids=lambda value: str(value).rpartition(".")[2])
def test_a_stopped_job_leaves_no_output_and_the_same_command_gives_that_of_an_unbroken_one(
    job: str, function: str, call: int, number: signal.Signals, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    command, output = JOBS[job]
    before = contents(folder)
    with pytest.MonkeyPatch.context() as patch:
        calls = send_in(patch, function, call, number)
        assert main(command.split()) == STATUS[number]
    assert len(calls) >= call
    (line,) = errors(caplog)
    assert line.startswith(WORD[number])
    assert not (folder / output).exists()
    assert {name: content for name, content in contents(folder).items() if name in before} == before
    assert not [*folder.rglob("*.tmp"), *folder.glob("*.lock")]
    assert main(command.split()) == 0
    assert main(command.replace("-o out", "-o expected").split()) == 0
    assert (folder / output).read_bytes() == (folder / output.replace("out", "expected")).read_bytes()


# ---- evaluations

EVALUATE = "evaluate encoder=micro evaluator=tatoeba evaluator.root=. evaluator.languages=[deu] run_dir=scores"
EVALUATION = {
    "config checked": ("xsent.run.start.check_machine", 1),
    "log opened": ("xsent.run.start._log_default_data", 1),
    "old files removed": ("xsent.reporting.run_outputs.remove_outputs", 1),
    "encoder built": ("xsent.models.encoders.static.StaticEncoder.load", 1),
    "sentences embedded": (ENCODE, 1),
    "scored": ("xsent.run.evaluation.score_model", 1),
    "tables written": ("xsent.reporting.run_outputs.write_text", 2),
    "metrics written": ("xsent.reporting.run_outputs.write_metrics_json", 1),
}


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("moment", EVALUATION)
def test_a_stopped_evaluation_is_not_finished_and_can_be_repeated(
    moment: str, number: signal.Signals, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        calls = send_in(patch, *EVALUATION[moment], number)
        assert main(EVALUATE.split()) == STATUS[number]
    assert calls
    (line,) = errors(caplog)
    assert line == f"{WORD[number]}the same command starts again"
    assert not (folder / "scores" / "metrics.json").exists()
    assert not (folder / "scores" / "run.lock").exists()
    assert main(EVALUATE.split()) == 0
    assert main([*EVALUATE.split()[:-1], "run_dir=expected"]) == 0
    assert (folder / "scores/results.csv").read_bytes() == (folder / "expected/results.csv").read_bytes()


def send(times: int = 1) -> None:
    """Send SIGTERM to this process."""
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGTERM)


# ---- grids, studies, searches

GRID = "train -m recipe=labse encoder=micro evaluator=none seed=1,2,3 name=grid runs_dir=runs"


@pytest.mark.parametrize("is_error", [False, True], ids=["signal", "signal and an error"])
@pytest.mark.parametrize("run", [1, 2, 3])
def test_a_grid_ends_at_sigterm_and_starts_no_further_run(
    run: int, is_error: bool, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begun = []

    def train(config: dict[str, Any]) -> None:
        begun.append(config["seed"])
        if len(begun) == run:
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                if is_error:  # of a worker that got the signal, too
                    raise UsageError("worker ended")

    monkeypatch.setattr("xsent.sweeps.dispatch.train_run", train)
    assert main(GRID.split()) == 143
    assert begun == [1, 2, 3][:run]
    assert len(errors(caplog)) == 1


@pytest.mark.parametrize("number", SIGNALS)
def test_a_stopped_cell_of_a_study_has_no_result(
    number: signal.Signals, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from xsent.run.start import read_command
    from xsent.sweeps.study import CELL, run_cell

    send_in(monkeypatch, "xsent.sweeps.study.build", 1, number)
    options = ["recipe=labse", "encoder=micro", "evaluator=none", "run_dir=cell"]
    study = "+study={encoder: micro, objective: labse, encoder_paths: {}, cells_dir: cells, skip: [], picture: null}"
    cfg = read_command("train", [*options, study]).cfg
    with pytest.raises((KeyboardInterrupt, sigterm.Terminated)), sigterm.raise_terminated():
        run_cell(cfg)
    assert not Path("cell", CELL).exists()
    assert not Path("cells").exists()


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("epoch", [2, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in (1, 3, 4, 5, 6))])
def test_a_search_that_is_stopped_in_a_trial_runs_the_trial_again(
    epoch: int, number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")
    from tests.sweeps.search.stub import InProcess, stub_options, stub_search

    monkeypatch.setattr("xsent.sweeps.search.results.Results._write_page", lambda *args, **options: None)
    search = stub_search(stub_options(tmp_path / "s", n_trials=2), InProcess())
    with pytest.MonkeyPatch.context() as patch:
        send_in(patch, "xsent.sweeps.search.trial.RunningTrial.report", epoch, number)
        with pytest.raises((KeyboardInterrupt, sigterm.Terminated)), sigterm.raise_terminated():
            search.run()
    assert [trial.state.name for trial in search.study.trials()] == ["WAITING"]
    stub_search(stub_options(tmp_path / "s", n_trials=2), InProcess()).run()
    trials = search.study.trials()
    assert [trial.state.name for trial in trials] == ["COMPLETE", "COMPLETE"]
    stub_search(stub_options(tmp_path / "unbroken", n_trials=2), InProcess()).run()
    unbroken = stub_search(stub_options(tmp_path / "unbroken", n_trials=2), InProcess()).study.trials()
    assert [(trial.params, trial.value) for trial in trials] == [(trial.params, trial.value) for trial in unbroken]


@pytest.mark.parametrize("status", [143, -15], ids=str)
def test_a_trial_whose_process_was_stopped_is_started_again(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")
    from tests.sweeps.search.stub import InProcess, ended, stub_options, stub_search

    monkeypatch.setattr("xsent.sweeps.search.results.Results._write_page", lambda *args, **options: None)
    monkeypatch.setattr("tests.sweeps.search.stub.ended", lambda code: ended(status if code == -9 else code))
    launcher = InProcess(killed=1)
    search = stub_search(stub_options(tmp_path / "s", retries=1), launcher)
    search.run()
    assert launcher.started == ["0", "0"]
    assert [trial.state.name for trial in search.study.trials()] == ["COMPLETE"]


def test_a_training_in_a_subprocess_gets_the_signal_and_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # Blocked and waited for, so that the signal cannot arrive before the wait and be missed.
    code = "import signal, sys; signal.pthread_sigmask(0, {15}); print(flush=True); signal.sigwait({15}); sys.exit(143)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    monkeypatch.setattr(single_run, "start_process", lambda *args, **options: process)
    wait, calls = process.wait, list[int]()

    def wait_and_get_the_signal() -> int:
        calls.append(1)
        if len(calls) == 1:
            send()
        return wait()

    monkeypatch.setattr(process, "wait", wait_and_get_the_signal)
    with pytest.raises(sigterm.Terminated), sigterm.raise_terminated():
        single_run.train_in_subprocess({"run_dir": "x"})
    process.stdout.close()
    assert process.returncode == 143


# ---- xsent.train in a notebook


@pytest.fixture
def options(folder: Path) -> list[str]:
    data = toy_bitext(folder / "data", pairs=160)
    quiet = ["trainer.max_epochs=1", "trainer.enable_progress_bar=false", "evaluator=none", "cache_dir=cache"]
    return ["recipe=labse", *toy_overrides(data), *tiny_static(), *quiet]


def test_a_training_in_a_notebook_saves_at_sigterm_and_the_next_call_resumes_it(
    options: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        send_in(patch, "xsent.recipes.labse.LabseRecipe.training_step", 2, signal.SIGTERM, times=3)
        with pytest.raises(SystemExit) as end:
            xsent.train([*options, "run_dir=run"])
    assert end.value.code == 143
    assert not sigterm.received()
    xsent.train([*options, "run_dir=run", "ckpt_path=last"])
    xsent.train([*options, "run_dir=unbroken"])
    assert_same_weights(Path("run"), Path("unbroken"))


def test_a_training_in_a_thread_needs_no_handler(options: list[str], folder: Path) -> None:
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(xsent.train([*options, "run_dir=run"])))
    thread.start()
    thread.join()
    assert len(results) == 1


# ---- the handler


def test_a_second_signal_does_not_disturb_what_handles_the_first() -> None:
    cleaned: list[str] = []

    def send_while_cleaning() -> None:
        try:
            send()
        finally:
            with suppress(FileNotFoundError):
                send(2)
                raise FileNotFoundError
            send()
            cleaned.append("all")

    with pytest.raises(sigterm.Terminated), sigterm.raise_terminated():
        send_while_cleaning()
    assert cleaned == ["all"]


@pytest.mark.parametrize("swallow", ["bare except", "finalizer"])
def test_a_signal_that_a_library_swallowed_can_be_sent_again(swallow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Finalized:
        def __del__(self) -> None:
            send()

    with sigterm.raise_terminated():
        if swallow == "finalizer":
            monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
            Finalized()
            gc.collect()
        else:
            with suppress(BaseException):
                send()
        assert sigterm.received()
        with pytest.raises(sigterm.Terminated):
            send()


def test_a_nested_block_keeps_the_handler_of_the_outer_one() -> None:
    with sigterm.raise_terminated():
        with sigterm.raise_terminated():
            pass
        with pytest.raises(sigterm.Terminated):
            send()


def test_a_deferred_signal_waits_for_its_block() -> None:
    with sigterm.raise_terminated():
        with sigterm.raise_terminated():
            sigterm.defer()
            send(2)
            assert sigterm.received()
        with pytest.raises(sigterm.Terminated):
            sigterm.raise_again()


def fork_and_end() -> None:
    """Exit with the signal by which a forked child ended."""
    with sigterm.raise_terminated():
        child = os.fork()
        if child == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(0)
        _, status = os.waitpid(child, 0)
    sys.exit(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)


def test_a_forked_child_ends_at_sigterm_as_any_process_does() -> None:
    assert exit_code(fork_and_end) == signal.SIGTERM
