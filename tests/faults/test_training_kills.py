"""A training run that is killed anywhere and resumed ends with exactly the files of an unbroken run."""

import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.child_processes import exit_code
from tests.faults.conftest import INJECTIONS
from tests.faults.killed_runs import (
    MANUAL,
    RECIPES,
    Kill,
    Setup,
    assert_killed_run_ends_as_unbroken,
    complete,
    differences,
    lost_rows,
    unbroken,
)
from tests.faults.test_signals import Moment, send_at
from tests.helpers import config
from xsent.checkpoint import load_checkpoint
from xsent.run import train
from xsent.run.errors import run_reporting

STEP = "xsent.recipes.base:Recipe.count_batch"  # the end of a training step
SAVE = "xsent.callbacks:Checkpoints._save"
BATCH_END = "xsent.callbacks:Checkpoints.on_train_batch_end"
EPOCH_END = "xsent.callbacks:Checkpoints.on_train_epoch_end"
VALIDATION = "pytorch_lightning.loops.evaluation_loop:_EvaluationLoop._evaluation_step"

MOMENTS = {
    "in the first batch": Kill(STEP, 1, "before"),
    "after the first batch": Kill(BATCH_END, 1, "after"),
    "before the first save": Kill(SAVE, 1, "before"),
    "after the first save": Kill(SAVE, 1, "after"),
    "between two saves": Kill(STEP, 3, "after"),
    "in the first validation": Kill(VALIDATION, 1, "after"),
    "between best and last": Kill(SAVE, 1, "after", "best.ckpt"),
    "at the end of the first epoch": Kill(EPOCH_END, 1, "after"),
    "in the second epoch": Kill("xsent.recipes.base:Recipe.on_train_batch_end", 8, "after"),
    "before the last save": Kill(EPOCH_END, 2, "before"),
    "after the last epoch": Kill(EPOCH_END, 2, "after"),
    "before the results": Kill("xsent.run.evaluation:report", 1, "before"),
}
OF_SAVING = {
    f"{moment}, save {number}": Kill(target, number, when)
    for number in (1, 2, 3, 4)
    for moment, target, when in (
        ("before the temporary file", "torch:save", "before"),
        ("temporary file written", "torch:save", "after"),
        ("before the list of digests", "xsent.checkpoint:write_text", "before"),
        ("between digests and rename", "xsent.checkpoint:write_text", "after"),
        ("before the copy of the earlier file", "xsent.checkpoint:_copy_previous", "before"),
        ("after the copy of the earlier file", "xsent.checkpoint:_copy_previous", "after"),
    )
}
OF_MINING = {
    f"{moment} mega-batch {number}": Kill(f"xsent.recipes.paraphrase:ParaphraseRecipe.{target}", number, when)
    for number in (1, 2, 3, 4)
    for moment, target, when in (
        ("before the vectors of", "_vectors_in_evaluation", "before"),
        ("while mining", "_search", "after"),
        ("after mining", "_mine", "after"),
    )
}
OF_OUTPUTS = {
    "before the start is scored": Kill("xsent.run.before:score_start", 1, "before"),
    "after the start is scored": Kill("xsent.run.before:write_text", 1, "after"),
    "before best.ckpt is read": Kill("xsent.recipes.base:Recipe.load_state_dict", 1, "before"),
    "before the results": Kill("xsent.run.evaluation:report", 1, "before"),
    "after results.csv": Kill("xsent.reporting.run_outputs:write_text", 1, "after"),
    "after results.md": Kill("xsent.reporting.run_outputs:write_text", 2, "after"),
    "before metrics.json": Kill("xsent.reporting.run_outputs:write_metrics_json", 1, "before"),
    "after metrics.json": Kill("xsent.reporting.run_outputs:write_metrics_json", 1, "after"),
    "after the page": Kill("xsent.reporting.pages:try_report", 1, "after"),
}


def _rows(setups: Mapping[str, Setup], moments: Mapping[str, Kill]) -> list[Any]:
    return [
        pytest.param(setup, kill, id=f"{name}-{moment}")
        for moment, kill in moments.items()
        for name, setup in setups.items()
    ]


EACH = {name: Setup(name) for name in RECIPES}
AUTOMATIC = [name for name in RECIPES if name not in MANUAL]
VARIANTS = (
    {f"{name} accumulating 3": Setup(name, accumulated=3) for name in AUTOMATIC}
    | {f"{name} with 2 workers": Setup(name, workers=2) for name in ("labse", "oracle")}
    | {f"{name} accumulating 2 with 2 workers": Setup(name, 2, 2) for name in ("rolaser", "divergence")}
)


@pytest.mark.parametrize(("setup", "kill"), _rows(EACH, MOMENTS))
def test_a_run_killed_once_ends_as_an_unbroken_run(setup: Setup, kill: Kill, tmp_path: Path, data: Path) -> None:
    assert_killed_run_ends_as_unbroken(setup, [kill], tmp_path, data)


@pytest.mark.parametrize(
    ("setup", "kill"),
    _rows(
        VARIANTS,
        {
            name: MOMENTS[name]
            for name in (
                "after the first save",
                "between two saves",
                "in the first validation",
                "at the end of the first epoch",
                "in the second epoch",
            )
        },
    ),
)
def test_accumulated_gradients_and_workers_do_not_change_a_resumed_run(
    setup: Setup, kill: Kill, tmp_path: Path, data: Path
) -> None:
    assert_killed_run_ends_as_unbroken(setup, [kill], tmp_path, data)


PARTS = [
    *_rows({"saving": Setup("labse")}, OF_SAVING),
    *_rows({"mining": Setup("paraphrase")}, OF_MINING),
    *_rows({"results": Setup("labse")}, OF_OUTPUTS),
]


@pytest.mark.parametrize(("setup", "kill"), PARTS)
def test_a_run_killed_while_it_saves_mines_or_writes_results_ends_as_an_unbroken_run(
    setup: Setup, kill: Kill, tmp_path: Path, data: Path
) -> None:
    # With a cache of its own, so that the start is scored.
    assert_killed_run_ends_as_unbroken(setup, [kill], tmp_path, data, f"cache_dir={tmp_path / 'cache'}")


IN_SHORT_FORM = ("paraphrase", "divergence")
each_recipe = pytest.mark.parametrize(
    "recipe",
    [pytest.param(name, marks=[] if name in IN_SHORT_FORM else pytest.mark.exhaustive) for name in RECIPES],
)


@each_recipe
def test_a_run_killed_again_and_again_ends_as_an_unbroken_run(
    recipe: str, tmp_path: Path, data: Path, record_property: Callable[[str, object], None]
) -> None:
    # The calls are counted from each start on.
    moments = ("between two saves", "at the end of the first epoch", "in the first batch", "after the first save")
    record_property(INJECTIONS, len(moments))
    assert_killed_run_ends_as_unbroken(Setup(recipe), [MOMENTS[name] for name in moments], tmp_path, data)


def train_and_terminate(folder: Path, overrides: list[str]) -> None:
    """Train; SIGTERM arrives in the first batch."""
    send_at(Moment("xsent.recipes.base.Recipe.count_batch"), signal.SIGTERM)
    sys.exit(run_reporting(lambda: train(config("train", folder, *overrides)), interrupted=str))


TERMINATED = [Setup(name) for name in RECIPES] + [Setup(name, accumulated=2) for name in AUTOMATIC]


@pytest.mark.parametrize(
    "setup",
    [
        pytest.param(setup, id=f"{setup.recipe}-{setup.accumulated}", marks=[pytest.mark.exhaustive] * (number > 0))
        for number, setup in enumerate(reversed(TERMINATED))
    ],
)
def test_a_terminated_run_ends_as_an_unbroken_run_with_all_curves(setup: Setup, tmp_path: Path, data: Path) -> None:
    expected = unbroken(setup, data)
    assert exit_code(train_and_terminate, tmp_path, setup.overrides(data)) == 143
    last = load_checkpoint(tmp_path / "run/checkpoints/last.ckpt")
    assert last["xsent"]["batches_seen"] == setup.accumulated  # after the optimizer's step
    complete(setup, tmp_path, [*setup.overrides(data), "ckpt_path=last"])
    assert differences(tmp_path / "run", expected) == []
    assert lost_rows(tmp_path / "run/metrics.csv", expected / "metrics.csv", []) == []
