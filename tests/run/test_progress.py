"""What a run says: the first line before anything is imported or read, the time left, epochs and steps from 1."""

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT, config
from tests.run.test_resume import overrides_of
from xsent.run import train
from xsent.run.announce import training_length
from xsent.run.progress import EpochBar, duration
from xsent.run.start import ScreenHandler, log_to_screen


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            "train.py recipe=labse encoder=tiny",
            "recipe=labse encoder=tiny data=cldr: train on cpu for at most 2 epochs",
        ),
        ("train.py recipe=dream trainer.max_steps=1000", "for at most 1,000 epochs and 1,000 steps, then test with"),
        (
            "train.py recipe=labse trainer.max_epochs=0",
            "data=cldr: no training, test with evaluator=heldout; results go",
        ),
        (
            "evaluate.py evaluator=tatoeba evaluator.root=/no",
            "encoder=mini: evaluate on cpu with evaluator=tatoeba; res",
        ),
    ],
)
def test_the_first_line_says_what_will_happen_before_torch_is_imported(
    tmp_path: Path, arguments: str, expected: str
) -> None:
    # The process ends with the first message, which is the announcement.
    code = (
        "import logging, os, sys\n"
        "def end(self, record):\n"
        "    sys.stdout.write(f'{record.getMessage()} torch={\"torch\" in sys.modules}')\n"
        "    sys.stdout.flush()\n"
        "    os._exit(0)\n"
        "logging.Logger.handle = end\n"
        "from xsent.cli.train import evaluate, train\n"
        "program, *overrides = sys.argv[1:]\n"
        "(train if program == 'train.py' else evaluate)(overrides)\n"
    )
    command = [sys.executable, "-c", code, *arguments.split(), f"runs_dir={tmp_path}"]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    assert expected in output
    assert output.endswith("torch=False")


def test_epochs_and_steps_count_from_1_and_a_resumed_run_says_where_it_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO")
    shown: list[str] = []
    describe = EpochBar._get_train_description

    def record(self: EpochBar, current_epoch: int) -> str:
        shown.append(describe(self, current_epoch))
        return shown[-1]

    monkeypatch.setattr(EpochBar, "_get_train_description", record)
    overrides = [*overrides_of("labse", tmp_path), "evaluator=none", f"cache_dir={tmp_path / 'cache'}"]
    train(config("train", tmp_path, *overrides, "trainer.max_epochs=1"))
    steps = int(caplog.text.split("epoch 1 of 1, step ")[1].split(":")[0])
    assert "epoch 1 of 1" in shown[0]
    train(config("train", tmp_path, *overrides, "trainer.max_epochs=3", "ckpt_path=last"))
    assert f"resuming {tmp_path / 'run'} at epoch 2 of 3, step {steps + 1}\n" in caplog.text
    assert f"epoch 3 of 3, step {3 * steps}: train/loss " in caplog.text
    assert f"steps per second: the remaining {steps * 3 - steps - 23:,} steps take at most about" in caplog.text


@pytest.mark.parametrize(
    ("epochs", "steps", "text"),
    [
        (60, -1, "at most 60 epochs"),
        (1, 1, "at most 1 epoch and 1 step"),
        (-1, 2500, "at most 2,500 steps"),
    ],
)
def test_the_limits_of_a_training_in_words(epochs: int, steps: int, text: str) -> None:
    assert training_length({"max_epochs": epochs, "max_steps": steps}) == text


def test_durations_have_a_unit_that_suits_them() -> None:
    assert [duration(seconds) for seconds in (0.2, 59.5, 600, 7200)] == ["1 s", "60 s", "10 min", "2.0 h"]


def test_messages_go_to_what_replaces_stderr_such_as_a_progress_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    handler = ScreenHandler()
    capsys.readouterr()
    handler.handle(logging.LogRecord("xsent", logging.INFO, "", 0, "above the bar", (), None))
    assert capsys.readouterr().err == "above the bar\n"
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    log_to_screen()
    assert [type(handler) for handler in logging.getLogger().handlers] == [ScreenHandler]
