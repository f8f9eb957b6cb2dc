"""A distributed run that loses a process ends with an error at once; any number of processes resumes it exactly."""

import itertools
import json
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.child_processes import exit_code, exit_codes_of_ranks, run_ranks
from tests.faults.conftest import INJECTIONS
from tests.faults.killed_runs import Kill, Setup, differences, train_and_die
from tests.faults.test_training_kills import MOMENTS
from tests.helpers import config
from xsent.data.sampling.batch_sampler import TrainSampler, epoch_order
from xsent.recipes.base import Recipe
from xsent.run import train
from xsent.run.errors import run_reporting

LOST = "the connection to another process of this run is lost"
SIZE, BATCH = 103, 12  # rows and batch of the sampler's tests; the last 7 rows of an epoch are dropped


def overrides_of(recipe: str, data: Path) -> list[str]:
    """Overrides of a run of two processes; another ``trainer=`` may follow."""
    return [*Setup(recipe).overrides(data), "trainer=ddp_cpu"]


def train_once(folder: Path, overrides: Sequence[str]) -> None:
    train(config("train", folder, *overrides))


def train_and_lose(rank: int, kill: Kill, folder: Path, overrides: list[str]) -> None:
    """Train as one of the ranks; rank ``rank`` is killed, another one writes the error to ``errors.txt``."""
    if os.environ["LOCAL_RANK"] == str(rank):
        train_and_die(kill, folder, overrides)
    sys.stderr = (folder / "errors.txt").open("w")
    sys.exit(run_reporting(lambda: train_once(folder, overrides), interrupted=str))


LOSES_A_PROCESS = f"""
import os, signal, sys
from xsent.callbacks import Checkpoints
from xsent.cli.train import train

if os.environ.get("LOCAL_RANK") == "1":
    Checkpoints._save = lambda *_: os.kill(os.getpid(), {int(signal.SIGKILL)})
if __name__ == "__main__":
    sys.exit(train(sys.argv[1:]))
"""


@pytest.mark.exhaustive
def test_a_command_whose_second_process_is_killed_ends_with_status_1(tmp_path: Path, data: Path) -> None:
    script = tmp_path / "lossy.py"
    script.write_text(LOSES_A_PROCESS)
    command = [sys.executable, str(script), *overrides_of("labse", data), f"run_dir={tmp_path / 'run'}"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert process.returncode == 1, process.stderr
    assert LOST in process.stderr.splitlines()[-1]
    assert not (tmp_path / "run/metrics.json").exists()


IS_TERMINATED = f"""
import os, signal, sys
from xsent.cli.train import train
from xsent.recipes.labse import LabseRecipe

def step(self, batch, batch_idx):
    if self.batches_seen == 4 and os.environ.get("LOCAL_RANK", "0") == "0":
        signals = {{"group": os.killpg, "first process": os.kill}}
        signals[os.environ["RECEIVER"]](os.getpid(), {int(signal.SIGTERM)})
    return original(self, batch, batch_idx)

if "RECEIVER" in os.environ:
    original, LabseRecipe.training_step = LabseRecipe.training_step, step
if __name__ == "__main__":
    sys.exit(train(sys.argv[1:]))
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("receiver", ["group", "first process"])
def test_a_terminated_command_of_two_processes_ends_with_status_143_and_is_resumed_exactly(
    receiver: str, tmp_path: Path, data: Path
) -> None:
    script = tmp_path / "terminated.py"
    script.write_text(IS_TERMINATED)
    overrides = overrides_of("labse", data)
    run_ranks(2, train_once, tmp_path / "unbroken", overrides)
    folder = tmp_path / "stopped"

    def start(*options: str, **variables: str) -> subprocess.CompletedProcess[str]:
        folders = [f"run_dir={folder / 'run'}", f"cache_dir={folder / 'cache'}"]
        return subprocess.run(
            [sys.executable, str(script), *overrides, *folders, *options],
            env={**os.environ, **variables},
            start_new_session=True,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    stopped = start(RECEIVER=receiver)
    assert stopped.returncode == 143, stopped.stderr
    (line,) = [line for line in stopped.stderr.splitlines() if " ERROR " in line]
    assert "terminated; " in line
    assert (folder / "run/checkpoints/last.ckpt").is_file()
    resumed = start("ckpt_path=last")
    assert resumed.returncode == 0, resumed.stderr
    for name in ("train.log", "command.yaml"):  # of commands, not of the function that the unbroken run called
        (folder / "run" / name).unlink()
    assert differences(folder / "run", tmp_path / "unbroken/run") == []


LOSSES = [
    ("labse", 0, "between two saves"),
    ("paraphrase", 1, "between two saves"),  # the ranks encode different numbers of negatives
    ("paraphrase", 1, "at the end of the first epoch"),
    ("oracle", 1, "in the second epoch"),
    ("divergence", 1, "in the first validation"),
    ("rolaser", 0, "between best and last"),
]


@pytest.mark.parametrize(
    ("recipe", "rank", "moment"),
    [
        pytest.param(*row, id=f"{row[0]} loses rank {row[1]} {row[2]}", marks=[pytest.mark.exhaustive] * (number != 1))
        for number, row in enumerate(LOSSES)
    ],
)
def test_a_run_that_loses_a_rank_ends_and_is_resumed_exactly(
    recipe: str, rank: int, moment: str, tmp_path: Path, data: Path
) -> None:
    overrides = overrides_of(recipe, data)
    run_ranks(2, train_once, tmp_path / "unbroken", overrides)
    folder = tmp_path / "killed"
    folder.mkdir()
    codes = exit_codes_of_ranks(2, train_and_lose, rank, MOMENTS[moment], folder, overrides)
    assert codes == [1 if number != rank else -signal.SIGKILL for number in range(2)]
    assert LOST in (folder / "errors.txt").read_text().splitlines()[-1]
    run_ranks(2, train_once, folder, [*overrides, "ckpt_path=last"])
    assert differences(folder / "run", tmp_path / "unbroken/run") == []


# ---- another number of processes


def train_and_record(folder: Path, overrides: list[str], kill: Kill | None) -> None:
    """Train, and append number and rows of this rank's part of every batch to a file; ``kill`` is for the last rank."""
    rank = os.environ.get("LOCAL_RANK", "0")
    check_finite = Recipe.check_finite

    def record(self: Any, loss: Any, pairs: Any) -> None:
        with (folder / f"rows-{rank}.jsonl").open("a") as file:
            file.write(json.dumps([self.batches_seen, self.data.steps_per_epoch, pairs.row.tolist()]) + "\n")
        check_finite(self, loss, pairs)

    Recipe.check_finite = record  # type: ignore[method-assign]
    if kill is None:
        train_once(folder, overrides)
    elif rank == "1" or "trainer=ddp_cpu" not in overrides:
        train_and_die(kill, folder, overrides)
    else:
        sys.exit(run_reporting(lambda: train_once(folder, overrides), interrupted=str))


def take_recorded(folder: Path) -> dict[int, tuple[int, list[int]]]:
    """Epoch and rows of each batch, by its number; the files are removed."""
    batches: dict[int, tuple[int, list[int]]] = {}
    for path in folder.glob("rows-*.jsonl"):
        for line in path.read_text().splitlines():
            number, per_epoch, rows = json.loads(line)
            epoch, earlier = batches.get(number, (number // per_epoch, []))
            batches[number] = epoch, [*earlier, *rows]
        path.unlink()
    return batches


def rows_by_epoch(batches: dict[int, tuple[int, list[int]]]) -> dict[int, Counter[int]]:
    """How often each row is in an epoch."""
    epochs: dict[int, Counter[int]] = defaultdict(Counter)
    for epoch, rows in batches.values():
        epochs[epoch].update(rows)
    return epochs


@pytest.mark.parametrize("before", [2, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_a_run_resumed_with_another_number_of_processes_trains_the_same_rows(
    before: int, tmp_path: Path, data: Path
) -> None:
    single = Setup("labse").overrides(data)
    commands = {1: single, 2: overrides_of("labse", data)}
    for name in ("unbroken", "killed"):
        (tmp_path / name).mkdir()
    assert exit_code(train_and_record, tmp_path / "unbroken", single, None) == 0
    expected = take_recorded(tmp_path / "unbroken")
    folder, kill = tmp_path / "killed", MOMENTS["in the second epoch"]

    def start(processes: int, options: list[str], kill: Kill | None) -> list[int | None]:
        arguments = (train_and_record, folder, [*commands[processes], *options], kill)
        return [exit_code(*arguments)] if processes == 1 else exit_codes_of_ranks(processes, *arguments)

    assert start(before, [], kill)[-1] == -signal.SIGKILL
    batches = take_recorded(folder)
    assert set(start(3 - before, ["ckpt_path=last"], None)) == {0}
    resumed = take_recorded(folder)
    assert 0 < min(resumed) < len(expected)
    # Batches after the checkpoint were trained again.
    assert rows_by_epoch({**batches, **resumed}) == rows_by_epoch(expected)


WORLD_SIZES = (1, 2, 3, 4, 6)


def rows_of_batches(world_size: int, seed: int, seen: int) -> Iterator[list[int]]:
    """Rows of each batch over all ranks, from a position on, to the end of its epoch."""
    samplers = [
        TrainSampler(
            size=SIZE,
            order=lambda epoch: epoch_order(np.arange(SIZE), None, seed=seed, epoch=epoch),
            global_batch_size=BATCH,
            rank=rank,
            world_size=world_size,
            batches_seen=lambda: seen,
        )
        for rank in range(world_size)
    ]
    for parts in zip(*samplers, strict=True):
        yield [row for rows, _ in parts for row in rows.tolist()]


@pytest.mark.parametrize("world_sizes", list(itertools.permutations(WORLD_SIZES, 2)), ids=str)
def test_an_epoch_has_the_same_rows_wherever_another_number_of_ranks_takes_over(
    world_sizes: tuple[int, int], record_property: Callable[[str, object], None]
) -> None:
    before, after = world_sizes
    per_epoch = SIZE // BATCH
    seeds = range(3)
    record_property(INJECTIONS, len(seeds) * per_epoch)
    for seed in seeds:
        for epoch in range(2):
            start = epoch * per_epoch
            expected = list(rows_of_batches(1, seed, start))
            assert len({row for rows in expected for row in rows}) == per_epoch * BATCH
            for killed_at in range(epoch, per_epoch, 2):
                first = list(rows_of_batches(before, seed, start))[:killed_at]
                assert first + list(rows_of_batches(after, seed, start + killed_at)) == expected
