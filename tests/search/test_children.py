"""The process of a trial, and who starts it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from xsent.run.frozen import HELD, _train_trial
from xsent.run.search.children import launcher_named, shared_threads

# No config may build it, so that training it is an exception at once.
CONFIG: dict[str, Any] = {"data": {"_target_": "postgresql://somebody:hush@example.org/db"}, "ckpt_path": None}


def trial(folder: Path, study: str = "abc") -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments of a trial's process, whose folder is that of study abc."""
    folder.mkdir(exist_ok=True)
    (folder / "trial.json").write_text(json.dumps({"study": "abc", "number": 0, "params": {}, "data": ""}))
    pruning = {"study": "toy", "storage": "", "number": 0, "pruner": {"name": "none"}, "monitor": "val/loss"}
    return CONFIG | {"run_dir": str(folder)}, {"id": study, **pruning}


def test_an_exception_is_told_without_what_is_secret(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(SystemExit) as ended:
        _train_trial(*trial(tmp_path / "0"))
    outcome = json.loads((tmp_path / "0" / "outcome.json").read_text())
    assert (ended.value.code, outcome["study"], outcome["state"]) == (1, "abc", "fail")
    assert "postgresql://***@example.org/db may not be built" in outcome["error"]
    assert "may not be built" in caplog.text
    assert "hush" not in caplog.text


def test_a_process_looks_for_a_checkpoint_to_go_on_from(tmp_path: Path) -> None:
    for number, is_there in (("0", False), ("1", True)):
        config, about = trial(tmp_path / number)
        if is_there:
            (tmp_path / number / "checkpoints").mkdir()
            (tmp_path / number / "checkpoints" / "last.ckpt").touch()
        with pytest.raises(SystemExit):
            _train_trial(config, about)
        assert config["ckpt_path"] == ("last" if is_there else None)


def test_a_process_that_comes_late_does_nothing(tmp_path: Path) -> None:
    arguments = trial(tmp_path / "0")
    (tmp_path / "0" / "outcome.json").write_text("done")
    _train_trial(*arguments)
    assert (tmp_path / "0" / "outcome.json").read_text() == "done"


def test_a_process_leaves_a_trial_to_the_one_that_trains_it(tmp_path: Path) -> None:
    arguments = trial(tmp_path / "0")
    with FileLock(tmp_path / "0" / "running.lock"), pytest.raises(SystemExit) as ended:
        _train_trial(*arguments)
    assert ended.value.code == HELD
    assert not (tmp_path / "0" / "outcome.json").exists()


def test_a_process_trains_nothing_in_the_folder_of_another_study(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"trial\.json: expected that of study xyz"):
        _train_trial(*trial(tmp_path / "0", study="xyz"))
    assert not (tmp_path / "0" / "outcome.json").exists()


def test_trials_share_the_cores_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = len(os.sched_getaffinity(0))
    assert shared_threads(1, 1) == {"OMP_NUM_THREADS": str(cores)}
    assert shared_threads(cores, 2) == {"OMP_NUM_THREADS": "1"}
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert shared_threads(1, 1) == {}


def test_a_wrong_parameter_of_submitit_is_named(tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    options = {"cluster": "local", "parameters": {"nosuch": 1}}
    with pytest.raises(ValueError, match=r"hparams_search\.submitit: .*nosuch"):
        launcher_named("submitit", options, folder=tmp_path, workers=1, devices=1)
