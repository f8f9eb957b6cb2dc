"""Options of a search (``search`` of the config), checked."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from optuna.pruners import MedianPruner, NopPruner, SuccessiveHalvingPruner
from optuna.samplers import RandomSampler, TPESampler

from xsent.config_checks import UsageError, check_integer, is_number, suggestion
from xsent.sweeps.search.space import Space, grid_points, read_space

ENGINES = {
    "local": set(),
    "submitit": {"cluster", "parameters"},
    "ray": {"address", "cpus_per_trial", "gpus_per_trial"},
}
CLASSES: dict[str, dict[str, Any]] = {
    "sampler": {"tpe": TPESampler, "random": RandomSampler, "grid": None},  # for a grid ``grid_points``
    "pruner": {"none": NopPruner, "median": MedianPruner, "asha": SuccessiveHalvingPruner},
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
    names = {*Options._fields, "submitit", "ray", "samplers", "pruners"} - {"engine_options"}
    if unknown := sorted(set(node) - names):
        hint = suggestion(unknown[0], names) or f", expected one of {', '.join(sorted(names))}"
        raise UsageError(f"search.{unknown[0]}: no such option{hint}")
    for key in ("name", "folder", "storage"):
        if not isinstance(node[key], str) or not node[key].strip():
            raise UsageError(f"search.{key}={node[key]}: expected a string")
    if "/" in node["name"]:
        raise UsageError(f"search.name={node['name']}: expected a name without /, it names a folder")
    for key, minimum in MINIMUM.items():
        if node[key] is not None or key not in NULLABLE:
            check_integer(f"search.{key}", node[key], minimum=minimum)
    if node["grace_period"] <= node["heartbeat"]:
        raise UsageError(
            f"search.grace_period={node['grace_period']}: expected more seconds than heartbeat={node['heartbeat']}"
        )
    timeout = node["timeout"]
    if timeout is not None and not (is_number(timeout) and timeout > 0):
        raise UsageError(f"search.timeout={timeout}: expected a number of seconds above 0")
    for key, choices in {"engine": ENGINES, **CLASSES}.items():
        if node[key] not in choices:
            raise UsageError(f"search.{key}={node[key]}: expected one of {', '.join(choices)}")
    for engine, keys in ENGINES.items():
        if engine in node and (invalid := sorted(set(node[engine] or {}) ^ keys)):
            raise UsageError(f"search.{engine}: expected {', '.join(sorted(keys))}; check {invalid[0]}")
    space, n_trials = read_space(node["space"]), node["n_trials"]
    if node["sampler"] == "grid":
        n_trials = min(len(grid_points(space)), n_trials or math.inf)
    if n_trials is None and timeout is None:
        raise UsageError("search.n_trials=null: expected an integer, unless there is a timeout or a grid")
    changes = {
        "folder": Path(node["folder"]),
        "n_trials": n_trials,
        "engine_options": dict(node.get(node["engine"]) or {}),
        **{kind: {"name": node[kind], **(node[f"{kind}s"].get(node[kind]) or {})} for kind in CLASSES},
        "space": space,
    }
    options = Options(**{key: node[key] for key in Options._fields if key in node} | changes)
    build_optuna("pruner", options.pruner)
    if options.sampler["name"] != "grid":
        build_optuna("sampler", options.sampler, seed=0)
    return options


def build_optuna(kind: str, options: Mapping[str, Any], **arguments: Any) -> Any:
    """Sampler or pruner of Optuna; raises ``ValueError`` for an argument that its class does not have.

    Args:
        kind: ``sampler`` or ``pruner``.
        options: ``name``, and the arguments of the config.
        arguments: others.
    """
    arguments |= {key: value for key, value in options.items() if key != "name"}
    try:
        return CLASSES[kind][options["name"]](**arguments)
    except (TypeError, ValueError) as error:
        raise UsageError(f"search.{kind}s.{options['name']}: {error}") from None
