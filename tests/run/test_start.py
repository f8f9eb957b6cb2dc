"""Folders of runs: names, resumed runs, and the functions ``xsent.train`` and ``xsent.evaluate``."""

from pathlib import Path

import pytest

import xsent
from tests.helpers import tiny_static, toy_bitext, toy_overrides
from xsent.run import start
from xsent.run.start import read_command, started


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, at 15:40 on the 22nd of November."""

    class Clock(start.datetime):  # type: ignore[misc, name-defined]
        @classmethod
        def now(cls, tz: object = None) -> "Clock":
            return cls(2026, 11, 22, 15, 40)

    monkeypatch.setattr(start, "datetime", Clock)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def begin(program: str, *overrides: str) -> Path:
    """Start a run that writes its config; returns its folder."""
    with started(read_command(program, overrides)) as config:
        path = Path(config["run_dir"])
        (path / "config.yaml").touch()
    return path


def test_a_folder_is_named_by_recipe_encoder_data_and_time_and_never_shared(folder: Path) -> None:
    names = [begin("train", "recipe=oracle").name for _ in range(3)]
    assert names == [f"oracle-mini-cldr-1122-1540{suffix}" for suffix in ("", "-2", "-3")]
    assert begin("evaluate", "evaluator.root=x").name == "evaluate-mini-tatoeba-1122-1540"
    assert begin("evaluate", "evaluator.root=x", "ckpt=runs/first/checkpoints/best.ckpt").name.startswith(
        "evaluate-first-"
    )
    assert begin("train", "recipe=oracle", "name=first") == Path("runs/first")


def test_a_run_that_takes_the_folder_first_is_not_disturbed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Another run creates the folder while this one checks its config.
    checks = [lambda: Path("runs/oracle-mini-cldr-1122-1540").mkdir(parents=True), lambda: None]
    monkeypatch.setattr(start, "check_machine", lambda config: checks.pop(0)())
    assert begin("train", "recipe=oracle").name == "oracle-mini-cldr-1122-1540-2"


def test_last_is_the_newest_run_of_the_recipe_or_the_named_one(folder: Path) -> None:
    for recipe, name in (("oracle", "a"), ("oracle", "b"), ("labse", "c")):
        path = begin("train", f"recipe={recipe}", f"name={name}")
        (path / "checkpoints").mkdir()
        (path / "checkpoints" / "last.ckpt").touch()
    assert begin("train", "recipe=oracle", "ckpt_path=last") == Path("runs/b")
    assert begin("train", "recipe=oracle", "ckpt_path=last", "name=a") == Path("runs/a")
    assert begin("train", "recipe=oracle", "ckpt_path=runs/a") == Path("runs/a")
    with pytest.raises(FileNotFoundError, match="no run of recipe=dream in runs"):
        begin("train", "recipe=dream", "ckpt_path=last")


def test_the_processes_of_a_distributed_run_share_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with started(read_command("train", ["recipe=oracle"])) as config:
        monkeypatch.setenv("LOCAL_RANK", "1")
        with started(read_command("train", ["recipe=oracle"])) as other:
            assert other["run_dir"] == config["run_dir"]


def test_training_and_evaluating_in_python(folder: Path, tatoeba: tuple[str, ...]) -> None:
    options = ["recipe=labse", *tiny_static(), "trainer.max_epochs=1", "pictures=null", "cache_dir=cache", "name=first"]
    result = xsent.train([*toy_overrides(toy_bitext(folder / "data")), *options])
    assert result.folder == Path("runs/first")
    assert "test/heldout/original/mean/accuracy" in result.metrics
    files = set(folder.rglob("*"))
    root = folder / "tatoeba"
    metrics = xsent.evaluate(result.encoder(), "tatoeba", root=root, languages=["deu"])
    assert metrics == xsent.evaluate(result.folder, "tatoeba", root=root, languages=["deu"])
    assert set(folder.rglob("*")) == files
    assert xsent.evaluate("mini", "tatoeba", root=root, languages=["deu"], folder="scores").keys() == metrics.keys()
    assert (folder / "scores" / "metrics.json").is_file()
    with pytest.raises(ValueError, match=r"did you mean tatoeba\?"):
        xsent.evaluate("mini", "tatoeab")
    with pytest.raises(ValueError, match="resume that run with ckpt_path=last name=first"):
        xsent.train(["recipe=oracle", "name=first"])
    with pytest.raises(ValueError, match="expected a list of options"):
        xsent.train("recipe=oracle")
