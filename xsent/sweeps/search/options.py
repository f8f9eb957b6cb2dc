"""Options of a search (``search`` of the config), checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from xsent.sweeps.search.space import Space, grid_points, read_space

ENGINE_KEYS = {
    "local": set(),
    "submitit": {"cluster", "parameters"},
    "ray": {"address", "cpus_per_trial", "gpus_per_trial"},
}
MINIMUM = {"workers": 1, "retries": 0, "seed": 0, "heartbeat": 1, "grace_period": 1, "n_trials": 1, "trial": 0}
NULLABLE = {"n_trials", "trial"}


class Options(NamedTuple):
    """``conf/search/base.yaml`` explains each."""

    name: str
    folder: Path
    storage: str  # address of the database; it may hold a password, so redact it before showing it
    n_trials: int | None  # of the whole study; None: until ``timeout``
    timeout: float | None
    workers: int
    retries: int
    heartbeat: int
    grace_period: int
    engine: str
    engine_options: dict[str, Any]
    sampler: dict[str, Any]  # ``name``, and the arguments of Optuna's class
    pruner: dict[str, Any]  # likewise
    seed: int
    space: Space
    trial: int | None  # train this trial again instead of searching


def read_options(node: Mapping[str, Any]) -> Options:
    """Check ``search``; raises ``ValueError`` for an option that is unknown or has an invalid value."""
    options = {*Options._fields, "submitit", "ray", "samplers", "pruners"} - {"engine_options"}
    if unknown := sorted(set(node) - options):
        raise ValueError(f"search.{unknown[0]}: no such option; expected one of {', '.join(sorted(options))}")
    for key in ("name", "folder", "storage"):
        if not isinstance(node[key], str) or not node[key].strip():
            raise ValueError(f"search.{key}={node[key]}: expected a string")
    if "/" in node["name"]:
        raise ValueError(f"search.name={node['name']}: expected a name without /, it names a folder")
    for key, minimum in MINIMUM.items():
        value = node[key]
        if not (value is None and key in NULLABLE) and (type(value) is not int or value < minimum):
            raise ValueError(f"search.{key}={value}: expected an integer of at least {minimum}")
    if node["grace_period"] <= node["heartbeat"]:
        raise ValueError(
            f"search.grace_period={node['grace_period']}: expected more seconds than heartbeat={node['heartbeat']}"
        )
    timeout = node["timeout"]
    if timeout is not None and (type(timeout) not in (int, float) or timeout <= 0):
        raise ValueError(f"search.timeout={timeout}: expected a number of seconds above 0")
    engine = _choose(node, "engine", ENGINE_KEYS)
    for name, keys in ENGINE_KEYS.items():
        if name in node and (invalid := sorted(set(node[name] or {}) ^ keys)):
            raise ValueError(f"search.{name}: expected {', '.join(sorted(keys))}; check {invalid[0]}")
    sampler, pruner = (_choose(node, group, node[f"{group}s"]) for group in ("sampler", "pruner"))
    space = read_space(node["space"])
    n_trials = node["n_trials"]
    if sampler == "grid":
        n_trials = min(len(grid_points(space)), n_trials or len(grid_points(space)))
    if n_trials is None and timeout is None:
        raise ValueError("search.n_trials=null: expected an integer, unless there is a timeout or a grid")
    values = {key: node[key] for key in Options._fields if key in node} | {
        "folder": Path(node["folder"]),
        "n_trials": n_trials,
        "engine_options": dict(node.get(engine) or {}),
        "sampler": {"name": sampler, **(node["samplers"][sampler] or {})},
        "pruner": {"name": pruner, **(node["pruners"][pruner] or {})},
        "space": space,
    }
    return Options(**values)


def _choose(node: Mapping[str, Any], key: str, names: Mapping[str, Any]) -> str:
    if node[key] not in names:
        raise ValueError(f"search.{key}={node[key]}: expected one of {', '.join(names)}")
    name: str = node[key]
    return name
