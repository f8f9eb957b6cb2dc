"""Secrets on the command line are in no file of the run folder, even if the config is refused."""

import runpy
import sys
from pathlib import Path

import pytest
import yaml
from omegaconf import OmegaConf

from tests.docs.execute import as_in_a_new_process
from tests.helpers import ROOT

SECRETS = ("s3cret", "pa/ss@word")
OVERRIDES = ["+hub.rate='1e-4'", "+hub.token=s3cret", "+hub.address='https://ann:pa/ss@word@host/x?password=s3cret'"]
PROGRAMS = {"evaluate.py": ["evaluator=none"], "train.py": ["recipe=labse", "encoder=mini", "final=never"]}


def refuse(program: str, folder: Path, *overrides: str, patch: pytest.MonkeyPatch) -> list[Path]:
    """Run a program with an invalid config; return the files that it leaves."""
    patch.setattr(sys, "argv", [str(ROOT / program), *overrides, *PROGRAMS[program], f"runs_dir={folder}"])
    patch.setenv("HYDRA_FULL_ERROR", "1")
    patch.delenv("XSENT_STARTED", raising=False)
    with as_in_a_new_process(), pytest.raises(ValueError, match=r"nothing to evaluate|expected best or last"):
        runpy.run_path(str(ROOT / program), run_name="__main__")
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_secret_of_the_command_line_is_in_no_file(
    tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = refuse(program, tmp_path, "-m", *OVERRIDES, patch=monkeypatch)
    assert {"multirun.yaml", "config.yaml", "hydra.yaml", "overrides.yaml"} <= {path.name for path in files}
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not [secret for secret in SECRETS if secret in text], path
        if path.name == "overrides.yaml":
            assert "+hub.token=***" in yaml.safe_load(text)
        if path.name == "config.yaml":
            cfg = OmegaConf.load(path)
            assert (cfg.hub.token, cfg.hub.rate, type(cfg.hub.rate)) == ("***", "1e-4", str)


def test_without_secrets_the_files_of_hydra_are_not_rewritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xsent.run.compose.write_text", lambda path, text: pytest.fail(f"{path} was written"))
    files = refuse("evaluate.py", tmp_path, patch=monkeypatch)
    assert {"config.yaml", "hydra.yaml", "overrides.yaml"} <= {path.name for path in files}
