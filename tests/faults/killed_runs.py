"""Toy runs of every recipe that a kill ends at a given call, and the comparison of run folders."""

import csv
import functools
import importlib
import json
import multiprocessing
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import yaml

from tests.child_processes import exit_code
from tests.helpers import (
    config,
    tiny_static,
    toy_bert,
    toy_bitext,
    toy_divergences,
    toy_labelled,
    toy_sentences,
)
from xsent.checkpoint import load_checkpoint
from xsent.run import train

# Two epochs, a checkpoint every two batches, every value logged; the encoder has dropout.
COMMON = (
    "pictures=null logger=csv trainer.enable_progress_bar=false"
    " trainer.max_epochs=2 trainer.log_every_n_steps=1 callbacks.checkpoints.every_n_batches=2"
    " callbacks.checkpoints.monitor=val/loss callbacks.checkpoints.mode=min"
    " callbacks.early_stopping.monitor=val/loss callbacks.early_stopping.mode=min"
)
TOY_BERT = "encoder=mbert encoder.max_length=null encoder.path"
STATIC = "labse with a trained tokenizer"
BITEXT = "data=bitext data.root={data}/bitext data.global_batch_size=20 data.valid_share=0.2 data.test_share=0.2"
RECIPES = {
    "labse": f"recipe=labse {BITEXT}",
    STATIC: f"recipe=labse {BITEXT}",
    "dream": f"recipe=dream {BITEXT}",
    "meat": f"recipe=meat {BITEXT}",
    "oracle": f"recipe=oracle {BITEXT}",
    "paraphrase": (
        "recipe=paraphrase data=labelled data.root={data}/labelled data.global_batch_size=12 data.valid_share=0.2"
        " data.test_share=0.2 recipe.mining.mini_batches=3"
    ),
    "rolaser": (
        "recipe=rolaser recipe.teacher=micro data.root={data}/sentences/clean.txt"
        " data.global_batch_size=12 data.valid_share=0.2 data.test_share=0.2 data.redraw=true"
        " recipe.scheduler.warmup_steps=2"
    ),
    "transfer": (
        f"recipe=transfer recipe.teacher=micro encoder.projection=256 {BITEXT} recipe.weights.ranking=0.5"
        " recipe.unfreeze_step=3 recipe.embedding_lr=0.001"
    ),
    "divergence": (
        "recipe=divergence data.root={data}/divergences.jsonl data.train_seeds=8 data.valid_seeds=4 data.test_seeds=4"
        " data.global_batch_size=8 recipe/divergence/judge=cross_encoder recipe.judge.max_length=32 evaluator=none"
    ),
}
MANUAL = ("dream", "meat", "oracle")  # two backward passes per batch, so no gradient accumulation
NOT_COMPARED = ("seconds", "started", "ckpt_path", "cache_dir")  # keys of metrics.json and of the config


class Kill(NamedTuple):
    """SIGKILL before or after the n-th call of a function."""

    target: str  # `module:name` or `module:class.name`
    call: int
    when: str  # `before` or `after`
    file: str = ""  # count only calls with a path of this name


class Setup(NamedTuple):
    """A recipe, and how it is trained."""

    recipe: str
    accumulated: int = 1  # batches per optimizer step
    workers: int = 0  # processes that load batches

    def overrides(self, data: Path) -> list[str]:
        """Overrides of the command line; the toy data are made once in a folder."""
        options = f"{COMMON} {RECIPES[self.recipe].format(data=data)}"
        return [
            *options.split(),
            *(tiny_static() if self.recipe == STATIC else f"{TOY_BERT}={data}/bert".split()),
            f"trainer.accumulate_grad_batches={self.accumulated}",
            *([f"data.num_workers={self.workers}"] if self.workers else []),
            f"cache_dir={data / 'cache'}",
        ]


def make_data(folder: Path) -> Path:
    """Write the toy data of all recipes."""
    toy_bert(folder / "bert")
    toy_bitext(folder / "bitext", pairs=55)
    toy_labelled(folder / "labelled", groups=100)
    toy_sentences(folder / "sentences", 100)
    toy_divergences(folder / "divergences.jsonl", seeds=40)
    return folder


@functools.cache
def unbroken(setup: Setup, data: Path) -> Path:
    """Run folder of the run without a kill."""
    folder = data / "unbroken" / "-".join(map(str, setup)).replace(" ", "-")
    complete(setup, folder, setup.overrides(data))
    return folder / "run"


def complete(setup: Setup, folder: Path, overrides: list[str]) -> None:
    """Train to the end; with workers in a child process, since a fork of this one, which has threads, can hang."""
    if setup.workers:
        assert exit_code(train_with_fork, folder, overrides) == 0
    else:
        train(config("train", folder, *overrides))


def train_with_fork(folder: Path, overrides: list[str]) -> None:
    """Train in this child process; workers are forked, as in a command."""
    multiprocessing.set_start_method("fork", force=True)
    train(config("train", folder, *overrides))


def train_and_die(kill: Kill, folder: Path, overrides: list[str]) -> None:
    """Train; end this process as ``kill -9`` does at the given call."""
    module, _, name = kill.target.partition(":")
    holder: Any = importlib.import_module(module)
    *classes, name = name.split(".")
    for each in classes:
        holder = getattr(holder, each)
    original, calls = getattr(holder, name), 0

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        paths = [item.name for item in arguments if isinstance(item, Path)]
        calls += not kill.file or kill.file in paths
        if (calls, kill.when) == (kill.call, "before"):
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **options)
        if (calls, kill.when) == (kill.call, "after"):
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(holder, name, counted)
    train_with_fork(folder, overrides)


def resume(folder: Path) -> list[str]:
    """Override with which the command is repeated."""
    return ["ckpt_path=last"] if (folder / "run/checkpoints/last.ckpt").exists() else []


def assert_killed_run_ends_as_unbroken(
    setup: Setup, kills: Sequence[Kill], folder: Path, data: Path, *options: str
) -> None:
    expected, overrides = unbroken(setup, data), [*setup.overrides(data), *options]
    last_steps = []
    for kill in kills:
        assert exit_code(train_and_die, kill, folder, [*overrides, *resume(folder)]) == -signal.SIGKILL
        if resume(folder):
            state = load_checkpoint(folder / "run/checkpoints/last.ckpt")
            last_steps.append(state["global_step"] - 1)
    complete(setup, folder, [*overrides, *resume(folder)])
    different = differences(folder / "run", expected)
    different += lost_rows(folder / "run/metrics.csv", expected / "metrics.csv", last_steps)
    assert not different, f"{len(different)} differences:\n" + "\n".join(different[:20])


# ---- comparison of two run folders


def differences(run: Path, expected: Path) -> list[str]:
    """What differs in two run folders, apart from folders, times and the option to resume."""
    files = {
        folder: {
            str(path.relative_to(folder))
            for path in folder.rglob("*")
            # A kill can leave a temporary file, and another earlier checkpoint.
            if path.is_file() and path.suffix != ".tmp" and ".previous." not in path.name
        }
        for folder in (run, expected)
    }
    found = [f"file {name}" for name in sorted(files[run] ^ files[expected])]
    for name in sorted(files[run] & files[expected]):
        found += [f"{name}: {where}" for where in _compare(_read(run, name), _read(expected, name), "")]
    return found


def _read(folder: Path, name: str) -> object:
    path = folder / name
    if path.suffix == ".ckpt":
        return _without_run(load_checkpoint(path), folder)
    if path.suffix == ".sha256":
        return None  # of a file that names the folder
    if path.suffix == ".json":
        return _without_run(json.loads(path.read_text()), folder)
    if path.name == "config.yaml":
        return _without_run(yaml.safe_load(path.read_text()), folder)
    if path.name in ("metrics.csv", "report.html"):
        return None  # for lost_rows; made of the other files, with times
    return path.read_bytes()


def lost_rows(path: Path, expected: Path, last_steps: Sequence[int]) -> list[str]:
    """How two ``metrics.csv`` differ.

    Lightning logs a step after its checkpoint, so a kill in between loses rows of that step, and no others.
    """
    rows, all_rows = (
        [row for row in csv.reader(each.open(newline="")) if not row[2].endswith("_seconds")]
        for each in (path, expected)
    )
    remaining = [row for row in all_rows if row in rows or int(row[0]) not in last_steps]
    return [] if rows == remaining else [f"metrics.csv has {len(rows)} rows, expected {len(all_rows)}"]


def _without_run(value: Any, folder: Path) -> Any:
    """The value without folders, times and the option to resume."""
    if isinstance(value, Mapping):
        return {key: _without_run(item, folder) for key, item in value.items() if key not in NOT_COMPARED}
    if isinstance(value, list | tuple):
        return [_without_run(item, folder) for item in value]
    return value.replace(str(folder), "RUN") if isinstance(value, str) else value


def _compare(value: Any, expected: Any, where: str) -> list[str]:
    if isinstance(value, Mapping) and isinstance(expected, Mapping):
        keys = [f"{where}/{key}" for key in sorted(map(str, value.keys() ^ expected.keys()))]
        shared = [key for key in expected if key in value]
        return keys + [each for key in shared for each in _compare(value[key], expected[key], f"{where}/{key}")]
    if isinstance(value, list) and isinstance(expected, list) and len(value) == len(expected):
        pairs = enumerate(zip(value, expected, strict=True))
        return [each for number, pair in pairs for each in _compare(*pair, f"{where}/{number}")]
    if isinstance(value, torch.Tensor) and isinstance(expected, torch.Tensor):
        is_equal = value.dtype == expected.dtype and torch.equal(value, expected)
    else:
        is_equal = type(value) is type(expected) and (value == expected or (value != value and expected != expected))
    return [] if is_equal else [f"{where} is {str(value)[:60]}, expected {str(expected)[:60]}"]
