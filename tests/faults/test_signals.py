"""SIGTERM and Ctrl-C at exact moments of training: exit status, one line, and an equal result."""

import os
import pkgutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from tests.child_processes import exit_code
from tests.helpers import state_of, tiny_static, toy_bitext, toy_overrides
from xsent.cli.main import main

STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}
WORD = {signal.SIGINT: "interrupted; ", signal.SIGTERM: "terminated; "}
SIGNALS = [pytest.param(number, id=number.name) for number in STATUS]


class Moment(NamedTuple):
    """The ``call``-th call of a function, counted from 1."""

    function: str
    call: int = 1
    times: int = 1  # signals, one right after the other


def send_at(moment: Moment, number: int) -> None:
    """Patch a function so that it sends a signal to this process before it does its work."""
    path, _, name = moment.function.rpartition(".")
    owner = pkgutil.resolve_name(path)
    original: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def patched(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == moment.call:
            for _ in range(moment.times):
                os.kill(os.getpid(), number)
        return original(*args, **options)

    setattr(owner, name, patched)


def run_main(arguments: Sequence[str], folder: Path, moment: Moment | None, number: int) -> None:
    """Run ``xsent`` in this child process; stderr goes to a file."""
    os.chdir(folder)
    os.dup2(os.open(errors_file(folder), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    if moment is not None:
        send_at(moment, number)
    sys.exit(main(arguments))


def errors_file(folder: Path) -> Path:
    return folder / f"stderr-{os.environ.get('LOCAL_RANK', 0)}.txt"


def assert_ended(code: int | None, folder: Path, number: signal.Signals) -> None:
    """The status of the signal, and one line that says how to go on."""
    messages = errors_file(folder).read_text()
    assert code == STATUS[number], messages
    (line,) = [line for line in messages.splitlines() if " ERROR " in line]
    assert WORD[number] in line
    assert "Traceback" not in messages


OPTIONS = "recipe=labse trainer.max_epochs=2 callbacks.checkpoints.every_n_batches=3 evaluator=heldout run_dir=run"
LAST = "checkpoints/last.ckpt"  # in a run folder


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A training of two epochs of 9 batches."""
    data = toy_bitext(tmp_path_factory.mktemp("data"), pairs=240)
    return ["train", *toy_overrides(data), *tiny_static(), *OPTIONS.split(), "trainer.enable_progress_bar=false"]


@pytest.fixture(scope="module")
def unbroken(training: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the training without a signal."""
    folder = tmp_path_factory.mktemp("unbroken")
    assert exit_code(run_main, [*training, "cache_dir=cache"], folder, None, 0) == 0
    return folder


def assert_same_weights(run: Path, unbroken: Path) -> None:
    """Equal states in the last checkpoints of two run folders."""
    state, expected = (state_of(folder / LAST) for folder in (run, unbroken))
    assert state.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(state[name], value) if isinstance(value, torch.Tensor) else state[name] == value, name


def assert_same_run(folder: Path, unbroken: Path) -> None:
    """Equal weights and figures."""
    assert_same_weights(folder / "run", unbroken / "run")
    assert (folder / "run/results.csv").read_bytes() == (unbroken / "run/results.csv").read_bytes()


TRAINING = {
    "config composed": Moment("xsent.run.start.check_machine"),
    "log opened": Moment("xsent.run.start._log_default_data"),
    "data read": Moment("xsent.data.modules.bitext.BitextData.read"),
    "tokens cached": Moment("xsent.data.stores.array_cache.cached_arrays"),
    "before the first batch": Moment("xsent.callbacks.Checkpoints.on_train_epoch_start"),
    "first batch": Moment("xsent.recipes.labse.LabseRecipe.training_step"),
    "optimizer step": Moment("torch.optim.AdamW.step", 2),
    "batch of a checkpoint": Moment("xsent.recipes.labse.LabseRecipe.training_step", 3),
    "twice in a batch": Moment("xsent.recipes.labse.LabseRecipe.training_step", 5, times=2),
    "next batch drawn": Moment("xsent.data.modules.base.BatchDataset.__getitem__", 7),
    "last batch of an epoch": Moment("xsent.recipes.labse.LabseRecipe.training_step", 9),
    "validation batch": Moment("xsent.recipes.labse.LabseRecipe.validation_step", 1),
    "evaluation of the epoch": Moment("xsent.callbacks.EvaluateOnValidation.on_train_epoch_end"),
    "while saving": Moment("torch.save"),
    "twice while saving": Moment("torch.save", 2, times=2),
    "while the digest is written": Moment("xsent.checkpoint.write_text", 4),
    "saving the best epoch": Moment("xsent.checkpoint.save_checkpoint", 4),
    "batch of the second epoch": Moment("xsent.recipes.labse.LabseRecipe.training_step", 13),
    "validation of the second epoch": Moment("xsent.callbacks.EvaluateOnValidation.on_train_epoch_end", 2),
    "final evaluation": Moment("xsent.run.evaluation.report"),
    "page": Moment("xsent.reporting.pages.try_report"),
}


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("moment", [pytest.param(moment, id=name) for name, moment in TRAINING.items()])
def test_a_stopped_training_is_resumed_to_the_result_of_an_unbroken_one(
    moment: Moment, number: signal.Signals, training: list[str], unbroken: Path, tmp_path: Path
) -> None:
    command = [*training, f"cache_dir={unbroken / 'cache'}"]
    assert_ended(exit_code(run_main, command, tmp_path, moment, number), tmp_path, number)
    assert not list(tmp_path.rglob("run.lock"))
    resumed = ["ckpt_path=last"] if (tmp_path / LAST).is_file() else []
    assert exit_code(run_main, [*command, *resumed], tmp_path, None, 0) == 0, errors_file(tmp_path).read_text()
    assert_same_run(tmp_path, unbroken)
