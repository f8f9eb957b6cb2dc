"""No file of a run folder has a secret that the command line gave, not even if the run ends before it begins."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
import yaml
from omegaconf import OmegaConf

from tests.docs.execute import as_in_a_new_process
from tests.helpers import ROOT

SECRETS = ("s3cret", "pa/ss@word")
GIVEN = ["+hub.rate='1e-4'", "+hub.token=s3cret", "+hub.address='https://ann:pa/ss@word@host/x?password=s3cret'"]
PROGRAMS = {"evaluate.py": ["evaluator=none"], "train.py": ["recipe=labse", "encoder=mini", "final=never"]}


def refused(program: str, folder: Path, *overrides: str, patch: pytest.MonkeyPatch) -> list[Path]:
    """The files that a command leaves which is refused as soon as it looks at its config."""
    patch.setattr(sys, "argv", [str(ROOT / program), *overrides, *PROGRAMS[program], f"runs_dir={folder}"])
    patch.setenv("HYDRA_FULL_ERROR", "1")
    patch.delenv("XSENT_STARTED", raising=False)
    with as_in_a_new_process(), pytest.raises(ValueError, match=r"leaves nothing to do|expected best or last"):
        runpy.run_path(str(ROOT / program), run_name="__main__")
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_secret_of_the_command_line_is_in_no_file(
    tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = refused(program, tmp_path, "-m", *GIVEN, patch=monkeypatch)
    assert {"multirun.yaml", "config.yaml", "hydra.yaml", "overrides.yaml"} <= {path.name for path in files}
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not [one for one in SECRETS if one in text], path
        if path.name == "overrides.yaml":
            assert "+hub.token=***" in yaml.safe_load(text)
        if path.name == "config.yaml":
            found = OmegaConf.load(path)
            assert (found.hub.token, found.hub.rate, type(found.hub.rate)) == ("***", "1e-4", str)


def test_hydra_s_files_are_not_written_again_where_nothing_is_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xsent.reporting.files.write_text", lambda path, text: pytest.fail(f"{path} was written"))
    files = refused("evaluate.py", tmp_path, patch=monkeypatch)
    assert {"config.yaml", "hydra.yaml", "overrides.yaml"} <= {path.name for path in files}
