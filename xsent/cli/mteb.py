"""``xsent mteb``: score a run or any encoder by tasks of MTEB, and by this project's own data sets as such tasks."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xsent.cli.options import add_set, check_encoder, defaults

if TYPE_CHECKING:
    from xsent.batch import Embedder
    from xsent.jobs.mteb import Local


def add(commands: Any) -> None:
    """Add the command to those of ``xsent``."""
    about = "Score a run or an encoder by tasks of MTEB; finished tasks are not computed again."
    parser = commands.add_parser(
        "mteb", help=about, description=about, formatter_class=argparse.RawTextHelpFormatter,
        epilog="Every other value of conf/mteb.yaml goes by --set. See docs/mteb.md.",
    )  # fmt: skip
    parser.set_defaults(run=_mteb, interrupted="the same command continues with the task that was under way")
    default = defaults("mteb")
    parser.add_argument("ckpt", metavar="RUN", nargs="?", help="a run folder or checkpoint file")
    parser.add_argument(
        "--encoder", metavar="NAME", help=f"instead: a file of conf/encoder (e.g. {default['encoder']})"
    )
    parser.add_argument(
        "--tasks", metavar="TASK", nargs="+", default=[], help="names of MTEB's tasks, and local ones (--list)"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="results; encoders can share it")
    parser.add_argument("--list", action="store_true", help="show the local tasks and what they need, and stop")
    parser.add_argument("--local", metavar="DIR", help="the folder of data: DIR/tatoeba, DIR/STSBenchmark")
    parser.add_argument(
        "--name", metavar="NAME", help="of the model (default: that of the run's folder or the encoder)"
    )
    parser.add_argument("--space", metavar="SPACE", help="of a run with heads: meaning | language | original")
    parser.add_argument("--device", metavar="DEVICE", help=f"cpu | cuda | cuda:1 (default: {default['device']})")
    # None where it was not given: conf/mteb.yaml alone knows the defaults.
    parser.add_argument("--download", action="store_true", default=None, help="fetch from the hub what is not there")
    add_set(parser, "encoder.path=/models/labse")


def _mteb(given: argparse.Namespace) -> None:
    if given.list:
        _show(defaults("mteb")["tasks"])
        return
    _check(given)
    # torch takes seconds to import, and --help needs none of it.
    from xsent.jobs.mteb import check_folder, check_names, score_tasks
    from xsent.models.disentangled import SPACES
    from xsent.run import load_config

    config = load_config("mteb", given.set + ([f"encoder={given.encoder}"] if given.encoder else []))
    for name, value in vars(given).items():
        if name in config and name not in ("encoder", "tasks") and value is not None:
            config[name] = value
    if config["space"] is not None and (config["ckpt"] is None or config["space"] not in SPACES):
        raise ValueError(f"space={config['space']}: expected one of {', '.join(SPACES)}, of a run with heads")
    check_folder(given.output)
    names = list(dict.fromkeys(given.tasks))
    check_names(names, list(config["tasks"]))
    tasks = [_local(name, config) if name in config["tasks"] else name for name in names]
    score_tasks(
        _embedder(config), given.output, name=_name(given, config), space=config["space"], tasks=tasks,
        root=config["local"], download=config["download"],
    )  # fmt: skip


def _show(tasks: Mapping[str, Mapping[str, Any]]) -> None:
    width = max(map(len, tasks))
    folders = max(len(f"DIR/{task['folder']}") for task in tasks.values())
    for name, task in tasks.items():
        folder = f"DIR/{task['folder']}"
        sys.stdout.write(f"{name:{width}}  {folder:{folders}}  {task['about']}\n")


def _check(given: argparse.Namespace) -> None:
    if (given.ckpt is None) == (given.encoder is None):
        found = "neither" if given.ckpt is None else "both"
        raise ValueError(f"expected a run or --encoder NAME, found {found}")
    if not given.tasks:
        raise ValueError("--tasks: expected at least one name; xsent mteb --list shows the local ones")
    if given.output is None:
        raise ValueError("-o: expected a folder for the results")
    check_encoder(given.encoder)


def _name(given: argparse.Namespace, config: Mapping[str, Any]) -> str:
    name = given.name or given.encoder or _name_of(Path(config["ckpt"]).resolve())
    return re.sub(r"[^\w.-]+", "_", name)


def _name_of(run: Path) -> str:
    """Of a run's folder its name; of a checkpoint in it both: ``demo-last``."""
    if run.suffix != ".ckpt":
        return run.name
    return f"{run.parent.parent.name}-{run.stem}" if run.parent.name == "checkpoints" else run.stem


def _embedder(config: Mapping[str, Any]) -> Embedder:
    from xsent.models.disentangled import DisentangledEncoder
    from xsent.run import build, load_encoder

    embedder: Embedder
    if config["ckpt"] is not None:
        embedder = load_encoder(config["ckpt"], device=config["device"])
    else:
        embedder = build(config["encoder"]).to(config["device"])
    if config["space"] is not None and not isinstance(embedder, DisentangledEncoder):
        raise ValueError(f"space={config['space']}: expected a run with heads, found {config['ckpt']}")
    return embedder


def _local(name: str, config: Mapping[str, Any]) -> Local:
    """A local task, its files read."""
    from xsent.jobs.mteb import Local
    from xsent.run import load_config
    from xsent.run.building import build_evaluator

    task = config["tasks"][name]
    if config["local"] is None:
        raise ValueError(f"--tasks {name}: its data are read from DIR/{task['folder']}: give --local DIR")
    data = Path(config["local"]) / task["folder"]
    if not data.exists():
        raise FileNotFoundError(f"--tasks {name}: no {data}; expected its data there ({task['about']})")
    options = [f"{key}={_written(data if value == 'DATA' else value)}" for key, value in task["options"].items()]
    composed = load_config("evaluate", ["run_dir=none", f"evaluator={task['evaluator']}", *options])
    built_from = _without(str(data), composed["evaluator"])
    evaluator = build_evaluator(composed["evaluator"], None, split="test", device=config["device"])
    return Local(name, task["kind"], task["about"], evaluator, built_from)


def _without(folder: str, values: object) -> object:
    """Nested plain values, the folder of the data replaced by a name, so that data that were moved are the same."""
    if isinstance(values, Mapping):
        return {name: _without(folder, value) for name, value in values.items()}
    if isinstance(values, list):
        return [_without(folder, value) for value in values]
    return "DATA" if values == folder else values


def _written(value: object) -> str:
    """A value as an override of Hydra's."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, Path):
        escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return str(value)
