"""The loggers that a user can choose, each built from its config."""

import sys
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from tests.helpers import config
from xsent.reporting.secrets import redact
from xsent.run import build


def logger_config(name: str, tmp_path: Path) -> Any:
    return OmegaConf.to_container(config("train", tmp_path, "recipe=labse", f"logger={name}").logger, resolve=True)


def test_csv_writes_into_the_run_folder_and_none_is_no_logger(tmp_path: Path) -> None:
    assert not logger_config("none", tmp_path)
    logger = build(logger_config("csv", tmp_path), "logger")
    logger.log_metrics({"train/loss": 1.0, "epoch": 0}, step=1)
    assert (tmp_path / "run/metrics.csv").read_text() == "step,epoch,name,value\n1,0,train/loss,1.0\n"


def test_tensorboard_writes_into_the_run_folder(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    logger = build(logger_config("tensorboard", tmp_path), "logger")
    logger.log_metrics({"train/loss": 1.0}, step=1)
    logger.finalize("success")
    assert list((tmp_path / "run/tensorboard").glob("events.out.tfevents.*"))


@pytest.mark.parametrize(("logged_in", "offline"), [(False, True), (True, False)])
def test_wandb_is_offline_unless_the_user_is_logged_in(
    logged_in: bool, offline: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    if logged_in:
        (tmp_path / ".netrc").write_text("machine api.wandb.ai login user password 0123\n")
    assert logger_config("wandb", tmp_path)["offline"] is offline


def test_wandb_gets_neither_a_secret_of_the_config_nor_one_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setattr(sys, "argv", ["train.py", "data.token=open-sesame"])
    (tmp_path / "run").mkdir()
    logger = build(logger_config("wandb", tmp_path), "logger")
    logger.log_hyperparams(redact({"data": {"token": "open-sesame", "root": "known-folder"}}))
    logger.log_metrics({"train/loss": 1.0}, step=1)
    logger.experiment.finish()
    written = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert b"known-folder" in written
    assert b"open-sesame" not in written
