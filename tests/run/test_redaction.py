"""Secrets on the command line are in no file of the run folder."""

from pathlib import Path

import pytest
import yaml
from omegaconf import OmegaConf

from tests.docs.execute import as_in_a_new_process
from xsent.cli.train import evaluate, train

SECRETS = ("s3cret", "pa/ss@word")
OVERRIDES = ["+hub.rate='1e-4'", "+hub.token=s3cret", "+hub.address='https://ann:pa/ss@word@host/x?password=s3cret'"]
PROGRAMS = {"evaluate": ["evaluator=none"], "train": ["recipe=labse", "encoder=micro"]}


def leave_files(program: str, folder: Path, *overrides: str, patch: pytest.MonkeyPatch) -> list[Path]:
    """Run a program whose work is done at once; return the files that it leaves."""
    patch.setattr("xsent.sweeps.dispatch.train_run", lambda config: None)
    patch.setattr("xsent.run.evaluation.evaluate_run", lambda config: {})
    patch.setattr("xsent.run.start.remove_unstarted", lambda created: None)
    patch.setattr("xsent.run.main.remove_unstarted", lambda created: None)
    run = train if program == "train" else evaluate
    with as_in_a_new_process():
        assert run([*overrides, *PROGRAMS[program], f"runs_dir={folder}"]) == 0
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("flags", [["-m"], []])
def test_a_secret_of_the_command_line_is_in_no_file(
    tmp_path: Path, program: str, flags: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = leave_files(program, tmp_path, *flags, *OVERRIDES, patch=monkeypatch)
    expected = {"multirun.yaml", "command.yaml"} if flags else {"command.yaml"}
    assert expected <= {path.name for path in files}
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not [secret for secret in SECRETS if secret in text], path
        if path.name == "command.yaml":
            assert "+hub.token=***" in yaml.safe_load(text)["overrides"]
        if path.name == "multirun.yaml":
            cfg = OmegaConf.load(path)
            assert (cfg.hub.token, cfg.hub.rate, type(cfg.hub.rate)) == ("***", "1e-4", str)
