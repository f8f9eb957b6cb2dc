"""What a search does about processes that end, do not end, or are another's; processes that train nothing."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from tests.search.test_space import node
from xsent.run.frozen import HELD
from xsent.run.search.children import Child
from xsent.run.search.composing import Compose, identity_of
from xsent.run.search.options import Options, read_options
from xsent.run.search.pruning import Pruning
from xsent.run.search.searching import _Searching
from xsent.run.search.storing import add_trial, open_study

optuna = pytest.importorskip("optuna", reason="pip install 'xsent[search]'")

CONFIG = {"data": {"root": "x"}}


class Ended:
    """A process that has ended."""

    def __init__(self, status: int) -> None:
        self.status = status

    def poll(self) -> int:
        return self.status

    def stop(self) -> None:
        """Nothing runs."""


class Processes:
    """Each does what it is told to as it starts, and has ended.

    Args:
        work: of a trial's folder; returns the exit status.
    """

    def __init__(self, *work: Callable[[Path], int]) -> None:
        self.work = work
        self.started = 0

    def start(self, variables: Mapping[str, str], folder: Path, place: int) -> Child:
        self.started += 1
        return Ended(self.work[min(self.started, len(self.work)) - 1](folder))

    def close(self) -> None:
        """Nothing is held."""


def ends(value: float | None = 0.5, **changes: Any) -> Callable[[Path], int]:
    def work(folder: Path) -> int:
        study = json.loads((folder / "trial.json").read_text())["study"]
        outcome = {"study": study, "state": "complete", "value": value, "epochs": 1, "seconds": 1.0, **changes}
        (folder / "outcome.json").write_text(json.dumps(outcome))
        return 0

    return work


def dies(folder: Path) -> int:
    return -9


def options_in(folder: Path, **changes: Any) -> Options:
    folder.mkdir(exist_ok=True)
    given: dict[str, Any] = {
        "folder": str(folder), "storage": f"sqlite:///{folder}/study.db", "n_trials": 1,
        "space": {"a": {"low": 0.0, "high": 1.0}},
    }  # fmt: skip
    return read_options(node(**(given | changes)))


def same(overrides: Sequence[str]) -> dict[str, Any]:
    """A config of which nothing is searched for."""
    return CONFIG


def searched(options: Options, processes: Processes, compose: Compose = same) -> Any:
    """The study after a search by such processes."""
    study = open_study(options, identity_of(compose, options), is_max=True)
    _Searching(options, compose, study, processes, ["recipe=dream"], "val/x").run()
    return study


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_results_of_another_study_in_the_folder_are_not_taken_over(tmp_path: Path) -> None:
    first = searched(options_in(tmp_path / "s"), Processes(ends(0.99)))
    assert first.trials[0].value == 0.99
    before = contents(tmp_path / "s" / "trials")
    unused = Processes(ends(0.1))
    with pytest.raises(ValueError, match=r"trials/0 holds a trial of another study .* move it away"):
        searched(options_in(tmp_path / "s", name="other"), unused)
    (tmp_path / "s" / "study.db").unlink()
    with pytest.raises(ValueError, match=r"trials/0 holds a trial of another study"):
        searched(options_in(tmp_path / "s"), unused)
    assert unused.started == 0
    assert contents(tmp_path / "s" / "trials") == before


@pytest.mark.parametrize("left", ["outcome.json", "checkpoints/last.ckpt"])
def test_results_of_nobody_knows_which_study_are_not_taken_over(tmp_path: Path, left: str) -> None:
    path = tmp_path / "s" / "trials" / "0" / left
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    with pytest.raises(ValueError, match=r"holds results, but no trial\.json"):
        searched(options_in(tmp_path / "s"), Processes(ends()))


def test_one_study_has_its_trials_in_one_folder(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/shared.db"
    study = searched(options_in(tmp_path / "one", storage=storage, n_trials=2), Processes(ends()))
    with pytest.raises(ValueError, match=r"has its trials in .*/one, not in .*/two"):
        searched(options_in(tmp_path / "two", storage=storage, n_trials=2), Processes(ends()))
    assert len(study.trials) == 2


def test_a_folder_may_move_together_with_its_study(tmp_path: Path) -> None:
    searched(options_in(tmp_path / "one"), Processes(ends()))
    (tmp_path / "one").rename(tmp_path / "two")
    assert len(searched(options_in(tmp_path / "two", n_trials=2), Processes(ends())).trials) == 2


def test_a_trial_that_another_process_trains_is_waited_for(tmp_path: Path) -> None:
    # A job that a killed command had queued began first: the second one finds its lock, and then its outcome.
    def is_held(folder: Path) -> int:
        return HELD

    processes = Processes(is_held, is_held, is_held, is_held, ends(0.75))
    assert [(one.state.name, one.value) for one in searched(options_in(tmp_path / "s"), processes).trials] == [
        ("COMPLETE", 0.75)
    ]


@pytest.mark.parametrize(("deaths", "state"), [(2, "COMPLETE"), (3, "FAIL")])
def test_a_trial_that_was_ended_from_outside_is_started_again(tmp_path: Path, deaths: int, state: str) -> None:
    processes = Processes(*[dies] * deaths, ends())
    options = options_in(tmp_path / "s")
    (trial,) = searched(options, processes).trials
    assert (trial.state.name, processes.started) == (state, 3)


def test_an_exception_is_a_failure_at_once(tmp_path: Path) -> None:
    processes = Processes(ends(None, state="fail", error="ValueError: no"))
    (trial,) = searched(options_in(tmp_path / "s"), processes).trials
    assert (trial.state.name, trial.user_attrs["error"], processes.started) == ("FAIL", "ValueError: no", 1)


def test_a_config_file_that_changes_during_the_search_ends_it(tmp_path: Path) -> None:
    config = {"data": {"root": "x"}}

    def work(folder: Path) -> int:
        config["data"] = {"root": "y"}
        return ends()(folder)

    processes = Processes(work)
    with pytest.raises(ValueError, match=r"conf/ has changed since the study test began: config\.data\.root was 'x'"):
        searched(options_in(tmp_path / "s", n_trials=3), processes, lambda overrides: dict(config))
    assert processes.started == 1


def test_data_that_are_chosen_differ_and_each_stays_as_it_was(tmp_path: Path) -> None:
    def compose(overrides: Sequence[str]) -> dict[str, Any]:
        chosen = [one for one in overrides if one.startswith("data=")]
        return {"data": {"root": chosen[0]}} if chosen else CONFIG

    def work(folder: Path) -> int:
        read = "changed" if folder.name == "1" else json.loads((folder / "trial.json").read_text())["params"]["data"]
        (folder / "environment.json").write_text(json.dumps({"data": read}))
        return ends()(folder)

    space = {"data": {"choices": ["p", "q"]}, "b": {"choices": [1, 2]}}
    options = options_in(tmp_path / "s", space=space, sampler="grid", n_trials=None)
    found = searched(options, Processes(work), compose).trials
    assert [one.state.name for one in found] == ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]
    assert "digest was p, is changed" in found[1].user_attrs["error"]


def test_what_is_known_is_on_disk_after_every_trial(tmp_path: Path) -> None:
    rows = []

    def work(folder: Path) -> int:
        table = folder.parent.parent / "trials.csv"
        rows.append(len(table.read_text().splitlines()) if table.is_file() else 0)
        return ends()(folder)

    searched(options_in(tmp_path / "s", n_trials=3), Processes(work))
    assert rows == [0, 2, 3], "a header and the trials before"
    assert "overrides" in (tmp_path / "s" / "best.yaml").read_text()
    assert (tmp_path / "s" / "report.html").is_file()


class Line(pl.LightningModule):
    """One weight; its figure is no better from epoch to epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def training_step(self, batch: torch.Tensor, index: int) -> torch.Tensor:
        self.log("val/x", 1.0)
        return (self.weight * batch).sum()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


class StopsEarly(pl.Callback):
    """As early stopping does, after the first epoch."""

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        trainer.should_stop = True


def trained(pruning: Pruning, folder: Path, *more: pl.Callback, ckpt_path: Path | None = None, **options: Any) -> None:
    trainer = pl.Trainer(
        callbacks=[pruning, *more], logger=False, accelerator="cpu", enable_progress_bar=False,
        enable_model_summary=False, enable_checkpointing=True, default_root_dir=folder, **options,
    )  # fmt: skip
    trainer.fit(Line(), DataLoader(torch.ones(2, 1)), ckpt_path=ckpt_path, weights_only=False)


@pytest.fixture
def hopeless(tmp_path: Path) -> Callable[[], Pruning]:
    """A trial that the pruner gives up after its first epoch, because another was better."""
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    options = options_in(tmp_path / "s", n_trials=2)
    study = open_study(options, {"files": {}}, is_max=True)
    good = optuna.trial.create_trial(value=9.0, intermediate_values=dict.fromkeys(range(1, 9), 9.0))
    study.add_trial(good)
    number = add_trial(study, options)
    return lambda: Pruning(
        study=options.name,
        storage=options.storage,
        number=number,
        pruner={"name": "median", "n_startup_trials": 1, "n_warmup_steps": 0},
        monitor="val/x",
    )


@pytest.mark.parametrize(
    ("options", "more", "pruned_after"),
    [
        ({"max_epochs": 3}, [], 1),
        ({"max_epochs": 1}, [], None),
        ({"max_epochs": 3, "max_steps": 2}, [], None),
        ({"max_epochs": 3}, [StopsEarly()], None),
    ],
    ids=["goes on", "last epoch", "last step", "stopped early"],
)
def test_a_training_that_ends_anyway_is_not_pruned(
    tmp_path: Path,
    hopeless: Callable[[], Pruning],
    options: dict[str, int],
    more: list[pl.Callback],
    pruned_after: int | None,
) -> None:
    pruning = hopeless()
    trained(pruning, tmp_path, *more, **options)
    assert (pruning.pruned_after, pruning.epochs) == (pruned_after, 1)


def test_a_trial_killed_behind_its_last_epoch_has_all_its_epochs(
    tmp_path: Path, hopeless: Callable[[], Pruning]
) -> None:
    saved = pl.callbacks.ModelCheckpoint(dirpath=tmp_path / "c", save_last=True)
    pruning = hopeless()
    pruning.pruner = {"name": "none"}
    trained(pruning, tmp_path, saved, max_epochs=2)
    again = hopeless()
    trained(again, tmp_path, ckpt_path=tmp_path / "c" / "last.ckpt", max_epochs=2)
    assert (pruning.epochs, again.epochs, again.pruned_after) == (2, 2, None)
