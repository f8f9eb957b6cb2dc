"""What a run says of the code that made it."""

import subprocess
from pathlib import Path

import pytest

from xsent.reporting.environment import environment, git_commit


def test_the_commit_has_a_mark_when_files_were_changed(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        process = subprocess.run(
            ["git", "-C", str(tmp_path), *author, *arguments], check=True, capture_output=True, text=True
        )
        return process.stdout.strip()

    assert git_commit(tmp_path) is None
    git("init")
    (tmp_path / "file").write_text("a")
    git("add", "file")
    git("commit", "-m", "one")
    commit = git("rev-parse", "HEAD")
    assert git_commit(tmp_path) == commit
    (tmp_path / "file").write_text("b")
    assert git_commit(tmp_path) == commit + "+"


def test_where_there_is_no_checkout_the_environment_names_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xsent.reporting.environment.__file__", str(tmp_path / "environment.py"))
    monkeypatch.delenv("XSENT_COMMIT", raising=False)
    assert environment()["git"] is None
    monkeypatch.setenv("XSENT_COMMIT", "0123abc")
    assert environment()["git"] == "0123abc"
