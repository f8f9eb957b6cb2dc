"""Configs of trials: composed from the command's overrides and the values of a trial, and checked before the first."""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from optuna.distributions import CategoricalDistribution, distribution_to_json

import xsent
from xsent.config_checks import UsageError
from xsent.run.config.build import build, check_fits
from xsent.run.config.compose import NO_EFFECT, compose_config, plain, without_hydra, without_keys
from xsent.sweeps.search.options import Options
from xsent.sweeps.search.space import Distribution, Value, key_of, overrides_of, probe_points

Compose = Callable[[Sequence[str]], dict[str, Any]]  # overrides -> resolved config of a run

# Two commands of one study may differ in these, and in the keys of PATHS at any depth.
FREE = {"search", "run_dir", "runs_dir", "ckpt_path", "logger"}
PATHS = NO_EFFECT | {"folder"}


def composer(command: Sequence[str]) -> Compose:
    """Function that composes the config of a ``command`` (its overrides) with more overrides, without ``search``.

    It raises ``ValueError`` for an override that does not fit.
    """

    def composed(overrides: Sequence[str]) -> dict[str, Any]:
        try:
            config = plain(without_hydra(compose_config("train", [*command, *overrides])))
        except ValueError as error:
            raise UsageError(f"{' '.join(overrides)}: {error}" if overrides else str(error)) from None
        return config | {"search": None}

    return composed


def trial_config(compose_run: Compose, values: Mapping[str, Value], folder: Path) -> dict[str, Any]:
    """Config of a trial's run in its folder."""
    return compose_run([*overrides_of(values), f"run_dir='{folder}'", "trainer.enable_progress_bar=false"])


def check_trials(compose_run: Compose, options: Options, command: Sequence[str]) -> None:
    """Compose every choice and both ends of every range, so that errors appear before the first trial.

    Raises:
        ValueError: an option of the command does not go with a search, a key or choice does not exist, a recipe does
            not fit its data, or trials monitor different metrics.
    """
    config = compose_run([])
    if "checkpoints" not in config["callbacks"]:
        raise UsageError("search: expected callbacks.checkpoints, whose monitor is the objective")
    for option in ("name", "ckpt_path", "save_encoder", "study"):
        if config[option] is not None:
            raise UsageError(f"{option}={config[option]} does not go with search: a trial has its own folder")
    command_keys = {override.split("=")[0].lstrip("+~") for override in command}
    if twice := sorted(command_keys & set(options.space)):
        raise UsageError(f"{twice[0]} is given on the command line, and {key_of(twice[0])} searches for it")
    monitors = {}
    for values in probe_points(options.space):
        overrides = overrides_of(values)
        config = compose_run(overrides)
        try:
            check_fits(config, build(config["data"], "data"))
        except ValueError as error:
            raise UsageError(f"{' '.join(overrides)}: {error}") from None
        checkpoints = config["callbacks"]["checkpoints"]
        monitors[checkpoints["monitor"], checkpoints["mode"]] = " ".join(overrides)
    if len(monitors) > 1:
        (first, _), (second, _), *_ = monitors
        raise UsageError(
            f"search.space: expected one metric for all trials, found callbacks.checkpoints.monitor={first}"
            f" and {second} ({list(monitors.values())[1]})"
        )


def identity_of(compose_run: Compose, options: Options) -> dict[str, Any]:
    """What all commands of a study share: the space, sampler and pruner, and the config of what is trained.

    Config files that the search chooses from are part of it, each composed with the first choices of all others.
    """
    first = probe_points(options.space)[0]
    base = ["run_dir=."]  # each command and each trial has its own
    files = {
        f"{group}={choice}": _digest(compose_run([*overrides_of(first | {group: choice}), *base]))
        for group, axis in options.space.items()
        if "." not in group and isinstance(axis, CategoricalDistribution)
        for choice in axis.choices
        if isinstance(choice, str)
    }
    return {
        "space": {name: _describe(axis) for name, axis in options.space.items()},
        "sampler": options.sampler,
        "pruner": options.pruner,
        "seed": options.seed,
        "xsent": xsent.__version__,
        "config": _shared(compose_run(base)),
        "files": files,
    }


def data_key(config: Mapping[str, Any]) -> str:
    """Hex digest of a data config, without its paths: trials with the same key have to read the same data."""
    return _digest({"data": config["data"]})


def _describe(distribution: Distribution) -> dict[str, Any]:
    description = json.loads(distribution_to_json(distribution))
    return {"kind": description["name"], **description["attributes"]}


def _digest(config: Mapping[str, Any]) -> str:
    return sha256(json.dumps(_shared(config), sort_keys=True).encode()).hexdigest()[:16]


def _shared(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: without_keys(value, PATHS) for key, value in config.items() if key not in FREE | PATHS}
