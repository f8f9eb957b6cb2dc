"""``hparams_search`` of the config as one checked value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from xsent.run.search.space import Parameter, grid_points, read_space

ENGINES = ("local", "submitit", "ray")
OF_ENGINES = {"submitit": {"cluster", "parameters"}, "ray": {"address", "cpus_per_trial", "gpus_per_trial"}}


class Options(NamedTuple):
    """What ``conf/hparams_search/base.yaml`` explains."""

    name: str
    folder: Path
    storage: str  # an address for Optuna; it may hold a password, so it is never shown as it is
    trials: int | None  # of the study as a whole; None: until the time is up
    timeout: float | None  # seconds after which this command begins no other trial
    workers: int
    retries: int  # how often a trial that was ended from outside is started again by a command
    engine: str
    engine_options: dict[str, Any]
    sampler: dict[str, Any]  # name, and options of Optuna's class
    pruner: dict[str, Any]
    seed: int
    space: list[Parameter]
    trial: int | None  # to be trained again, instead of a search


def read_options(node: Mapping[str, Any]) -> Options:
    """Check what can be wrong in ``hparams_search``.

    Raises:
        ValueError: an option is unknown or its value is none of those expected.
    """
    known = {
        "name", "folder", "storage", "n_trials", "timeout", "workers", "engine", "submitit", "ray", "sampler",
        "samplers", "pruner", "pruners", "seed", "space", "trial", "retries",
    }  # fmt: skip
    if unknown := sorted(set(node) - known):
        raise ValueError(f"hparams_search.{unknown[0]}: no such option; there are {', '.join(sorted(known))}")
    if node["engine"] not in ENGINES:
        raise ValueError(f"hparams_search.engine={node['engine']}: expected one of {', '.join(ENGINES)}")
    for option, least in (("workers", 1), ("n_trials", 1), ("trial", 0), ("seed", 0), ("retries", 0)):
        value = node[option]
        if (value is None and option in ("workers", "seed", "retries")) or (
            value is not None and (type(value) is not int or value < least)
        ):
            raise ValueError(f"hparams_search.{option}={value}: expected a whole number from {least} on")
    _check_texts(node)
    timeout = node["timeout"]
    if timeout is not None and (type(timeout) not in (int, float) or timeout <= 0):
        raise ValueError(f"hparams_search.timeout={timeout}: expected a number of seconds above 0")
    for engine, keys in OF_ENGINES.items():
        if engine in node and (wrong := sorted(set(node[engine] or {}) ^ keys)):
            raise ValueError(f"hparams_search.{engine}: expected {', '.join(sorted(keys))}; look at {wrong[0]}")
    space = read_space(node["space"])
    trials = node["n_trials"]
    if node["sampler"] == "grid":
        points = len(grid_points(space))
        trials = points if trials is None else min(trials, points)
    if trials is None and node["timeout"] is None:
        raise ValueError("hparams_search.n_trials=null: expected a number, or a timeout in seconds; a grid alone ends")
    return Options(
        name=node["name"],
        folder=Path(node["folder"]),
        storage=node["storage"],
        trials=trials,
        timeout=node["timeout"],
        workers=node["workers"],
        retries=node["retries"],
        engine=node["engine"],
        engine_options=dict(node.get(node["engine"]) or {}),
        sampler=_chosen(node, "sampler"),
        pruner=_chosen(node, "pruner"),
        seed=node["seed"],
        space=space,
        trial=node["trial"],
    )


def _check_texts(node: Mapping[str, Any]) -> None:
    for option in ("name", "folder", "storage"):
        if not isinstance(node[option], str) or not node[option].strip():
            raise ValueError(f"hparams_search.{option}={node[option]}: expected a text")
    if "/" in node["name"]:
        raise ValueError(f"hparams_search.name={node['name']}: expected a name without /, a folder is called by it")


def _chosen(node: Mapping[str, Any], what: str) -> dict[str, Any]:
    name, options = node[what], node[f"{what}s"]
    if name not in options:
        raise ValueError(f"hparams_search.{what}={name}: expected one of {', '.join(options)}")
    return {"name": name, **(options[name] or {})}
