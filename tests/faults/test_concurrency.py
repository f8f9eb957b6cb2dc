"""Two processes or threads on one run folder, work folder or cache: one writes, the others are refused or wait."""

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xsent
from tests.child_processes import CONTEXT, run_each
from tests.faults.conftest import INJECTIONS
from tests.faults.inject import contents
from tests.faults.test_signals import assert_same_run, errors_file, run_main
from tests.helpers import config, tiny_static, toy_bitext, toy_overrides
from xsent.cli.main import main
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.jobs.work_folder import open_work_folder
from xsent.models.encoders.static import StaticEncoder
from xsent.recipes.labse import LabseRecipe
from xsent.run import evaluate, train
from xsent.run.start import LOCK, read_command, started, writing

# ---- holders of a lock


def hold_run(folder: str, connection: Connection) -> None:
    """Write a run folder until a message comes."""
    with writing(Path(folder)):
        connection.send(os.getpid())
        connection.recv()


def hold_work(folder: str, connection: Connection) -> None:
    """Use a work folder until a message comes."""
    with open_work_folder(Path(folder), {"job": "diverge"}):
        connection.send(os.getpid())
        connection.recv()


@contextmanager
def process(hold: Callable[[str, Connection], None], folder: Path) -> Iterator[BaseProcess]:
    """A process that holds the lock of a folder; it releases it at the end of the block."""
    ours, theirs = CONTEXT.Pipe()
    holder = CONTEXT.Process(target=hold, args=(str(folder), theirs))
    holder.start()
    theirs.close()
    assert ours.poll(120)
    assert ours.recv() == holder.pid
    try:
        yield holder
    finally:
        if holder.is_alive():
            ours.send("end")
        holder.join(60)


@contextmanager
def in_a_process(folder: Path) -> Iterator[None]:
    with process(hold_run, folder):
        yield


@contextmanager
def in_a_thread(folder: Path) -> Iterator[None]:
    ready, end = threading.Event(), threading.Event()

    def hold() -> None:
        with writing(folder):
            ready.set()
            end.wait()

    thread = threading.Thread(target=lambda: Context().run(hold))
    thread.start()
    assert ready.wait(60)
    try:
        yield
    finally:
        end.set()
        thread.join()


HOLDERS = {"another process": in_a_process, "another thread": in_a_thread}

# ---- one writer of a run folder

TRAIN = ["recipe=labse", *tiny_static(), "evaluator=none", "cache_dir=cache"]
WAYS: dict[str, Callable[[], object]] = {
    "run_dir": lambda: main(["train", *TRAIN, "run_dir=runs/first"]),
    "name and ckpt_path=last": lambda: main(["train", *TRAIN, "name=first", "ckpt_path=last"]),
    "ckpt_path=last": lambda: main(["train", *TRAIN, "ckpt_path=last"]),
    "ckpt_path=folder": lambda: main(["train", *TRAIN, "ckpt_path=runs/first"]),
    "ckpt_path=file": lambda: main(["train", *TRAIN, "ckpt_path=runs/first/checkpoints/last.ckpt"]),
    "another path of the folder": lambda: main(["train", *TRAIN, "run_dir=runs/../runs/first"]),
    "a link to the folder": lambda: main(["train", *TRAIN, "run_dir=link"]),
    "evaluate": lambda: main(["evaluate", "encoder=micro", "evaluator.root=x", "run_dir=runs/first"]),
    "xsent.train": lambda: xsent.train([*TRAIN, "run_dir=runs/first"]),
    "xsent.evaluate": lambda: xsent.evaluate("micro", "tatoeba", root="x", folder="runs/first"),
    "a composed config": lambda: train(config("train", Path(), *TRAIN, "run_dir=runs/first")),
    "a composed evaluation": lambda: evaluate(config("evaluate", Path(), "evaluator.root=x", "run_dir=runs/first")),
}


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of a run with a checkpoint and a log; the current folder is its parent's parent."""
    monkeypatch.chdir(tmp_path)
    with started(read_command("train", ["recipe=labse", "name=first"])):
        last = Path("runs/first/checkpoints/last.ckpt")
        last.parent.mkdir()
        last.write_bytes(b"weights")
    Path("link").symlink_to("runs/first")
    return tmp_path / "runs" / "first"


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("way", WAYS)
def test_a_second_writer_is_refused_and_changes_nothing(
    way: str, holder: str, first: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with HOLDERS[holder](first):
        before = contents(first)
        caplog.clear()
        try:
            status = WAYS[way]()
            (message,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
        except ValueError as error:
            status, message = 2, str(error)
        assert status == 2
        assert message.partition(":")[0].endswith(("first", "link"))
        assert "writes this run; wait until it ends" in message
        assert "process " in message
        assert contents(first) == before
    assert not (first / LOCK).exists()


@pytest.mark.parametrize("way", ["name and ckpt_path=last", "evaluate", "xsent.train"])
def test_the_lock_of_a_killed_process_is_taken_over(
    way: str, first: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with process(hold_run, first) as holder:
        assert holder.pid is not None
        os.kill(holder.pid, signal.SIGKILL)
        holder.join()
    assert (first / LOCK).exists()
    reached: list[Path] = []

    def begin(config: dict[str, Any], *args: Any, **options: Any) -> None:
        reached.append(Path(config["run_dir"]))
        raise ValueError("far enough")

    for name in ("sweeps.dispatch.train_run", "run.api.train_run", "run.evaluation.evaluate_run"):
        monkeypatch.setattr(f"xsent.{name}", begin)
    with suppress(ValueError):
        assert WAYS[way]() == 1
    assert [path.resolve() for path in reached] == [first]
    assert not (first / LOCK).exists()


def test_a_refused_command_leaves_no_lock_and_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", *TRAIN, "data=bitext", "data.root=missing", "run_dir=runs/new"]) == 2
    assert not list(tmp_path.iterdir())


def test_the_further_processes_of_a_run_belong_to_its_writer(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with process(hold_run, first):
        monkeypatch.setenv("LOCAL_RANK", "1")
        with writing(first):
            pass
        monkeypatch.delenv("LOCAL_RANK")
        monkeypatch.setenv("XSENT_RUN_LOCKED", "1")  # a subprocess of the writer
        with writing(first):
            pass


# ---- real runs, the first of which waits within a batch

OPTIONS = "recipe=labse trainer.max_epochs=1 evaluator=heldout run_dir=run trainer.enable_progress_bar=false"


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    data = toy_bitext(tmp_path_factory.mktemp("data"), pairs=100)
    every = ["callbacks.checkpoints.every_n_batches=1"]
    return ["train", *toy_overrides(data), *tiny_static(), *OPTIONS.split(), *every]


def train_and_wait(arguments: list[str], folder: str, connection: Connection) -> None:
    """Train; the second batch waits until the connection has a message."""
    step = LabseRecipe.training_step

    def waiting_step(self: Any, batch: Any, batch_idx: int) -> Any:
        if batch_idx == 1:
            connection.send(os.getpid())
            connection.recv()
        return step(self, batch, batch_idx)

    LabseRecipe.training_step = waiting_step  # type: ignore[method-assign]
    run_main(arguments, Path(folder), None, 0)


@pytest.mark.parametrize(
    "rival",
    [
        "new run",
        pytest.param("resumed run", marks=pytest.mark.exhaustive),
        pytest.param("evaluation", marks=pytest.mark.exhaustive),
        "page of both",
    ],
)
def test_a_run_is_not_disturbed_by_a_rival(rival: str, training: list[str], tmp_path: Path) -> None:
    alone, folder = tmp_path / "alone", tmp_path / "first"
    for path in (alone, folder):
        path.mkdir()
    cache = f"cache_dir={tmp_path / 'cache'}"
    run_each(run_and_exit, [([*training, cache], alone)])
    ours, theirs = CONTEXT.Pipe()
    runner = CONTEXT.Process(target=train_and_wait, args=([*training, cache], str(folder), theirs))
    runner.start()
    theirs.close()
    assert ours.poll(200), errors_file(folder).read_text()
    before = contents(folder / "run")
    commands = {
        "new run": [*training, cache],
        "resumed run": [*training, cache, "ckpt_path=last"],
        "evaluation": ["evaluate", "encoder=micro", "evaluator.root=x", "run_dir=run"],
        "page of both": ["compare", "run", str(alone / "run"), "-o", "page.html"],
    }
    current = Path.cwd()
    os.chdir(folder)
    try:
        assert main(commands[rival]) == (0 if rival == "page of both" else 2)
    finally:
        os.chdir(current)
    assert contents(folder / "run") == before
    ours.send("go on")
    runner.join(200)
    assert runner.exitcode == 0, errors_file(folder).read_text()
    assert_same_run(folder, alone)


def run_and_exit(arguments: list[str], folder: Path) -> None:
    run_main(arguments, folder, None, 0)


# ---- work folders of jobs, caches


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files of sentences and one of pairs, in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("".join(f"sentence {name} {row}\n" for row in range(30)))
    (tmp_path / "pairs.tsv").write_text("".join(f"one {row}\teins {row}\n" for row in range(30)))
    return tmp_path


JOBS = {
    "encode": "encode a.txt -o out.npy --encoder micro --work-dir work",
    "mine": "mine a.txt b.txt -o out.tsv --encoder micro --work-dir work",
    "filter": "filter pairs.tsv -o out.tsv --encoder micro --work-dir work",
}


@pytest.mark.parametrize("job", JOBS)
def test_a_work_folder_has_one_job(job: str, texts: Path, caplog: pytest.LogCaptureFixture) -> None:
    with process(hold_work, texts / "work") as holder:
        before = contents(texts)
        assert main(JOBS[job].split()) == 1
        (message,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
        assert f"work: process {holder.pid} on " in message
        assert contents(texts) == before


@pytest.mark.parametrize("job", JOBS)
def test_the_work_folder_of_a_killed_job_is_taken_over(job: str, texts: Path) -> None:
    with process(hold_work, texts / "killed") as holder:
        assert holder.pid is not None
        os.kill(holder.pid, signal.SIGKILL)
        holder.join()
    assert (texts / "killed.lock").exists()
    (texts / "killed" / "manifest.json").unlink()
    assert main(JOBS[job].replace("--work-dir work", "--work-dir killed").split()) == 0
    assert main(JOBS[job].replace("-o out", "-o expected").split()) == 0
    out, expected = (next(texts.glob(f"{name}.*")) for name in ("out", "expected"))
    assert out.read_bytes() == expected.read_bytes()
    assert not list(texts.glob("*.lock"))


def embed(cache: Path, output: Path) -> None:
    """Embed sentences through a cache, and write the vectors."""
    vectors = EmbeddingStore(cache).vectors(SENTENCES, StaticEncoder.load(name="micro", path=None))
    np.save(output, vectors)


SENTENCES = [f"sentence {row}" for row in range(500)]


def test_processes_that_fill_one_cache_at_the_same_time_read_equal_vectors(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property(INJECTIONS, 4)
    run_each(embed, [(tmp_path / "cache", tmp_path / f"{number}.npy") for number in range(4)])
    embed(tmp_path / "fresh", tmp_path / "expected.npy")
    expected = (tmp_path / "expected.npy").read_bytes()
    assert [path.read_bytes() == expected for path in tmp_path.glob("[0-9].npy")] == [True] * 4
    assert len(list((tmp_path / "cache" / "embeddings").glob("*/"))) == 1
