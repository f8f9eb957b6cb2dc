"""From the values of a trial to the config of its run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from hydra import compose
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

import xsent
from xsent.run.building import build, check_fits
from xsent.run.config import plain
from xsent.run.search.options import Options
from xsent.run.search.space import Value, overrides_of, probes, where

Compose = Callable[[Sequence[str]], dict[str, Any]]  # overrides -> the resolved config of a run

# Where things lie and who looks on: two commands on one study may differ in it.
FREE = ("hparams_search", "run_dir", "runs_dir", "cache_dir", "ckpt_path", "logger")
PLACES = ("cache_dir", "folder", "num_workers")  # likewise, wherever they are in the config


def given_overrides() -> list[str]:
    """What the command line said, without what it said to Hydra."""
    return list(HydraConfig.get().overrides.task)


def composer(given: Sequence[str]) -> Compose:
    """Composes as the running command did, with more overrides; of ``hparams_search`` nothing is left.

    Groups may be among the overrides, and what refers to a value follows it.

    Raises:
        ValueError: by the function returned, where an override does not fit the config.
    """

    def composed(overrides: Sequence[str]) -> dict[str, Any]:
        try:
            config = plain(compose("train", [*given, *overrides]))
        except (HydraException, OmegaConfBaseException) as error:
            reason = str(error).strip() if error.__cause__ is None else f"{error} {error.__cause__}"
            raise ValueError(f"{' '.join(overrides)}: {reason}") from None
        return config | {"hparams_search": None}

    return composed


def trial_config(compose_run: Compose, values: Mapping[str, Value], folder: Path) -> dict[str, Any]:
    """The config of a trial's run, in its folder; its process looks for a checkpoint there to go on from."""
    own = [f"run_dir='{folder}'", "trainer.enable_progress_bar=false"]
    return compose_run([*overrides_of(values), *own]) | {"ckpt_path": None}


def check_config(config: dict[str, Any], options: Options, given: Sequence[str]) -> None:
    """Raise ``ValueError`` for a config that cannot be searched over, or not be trained at all."""
    if "checkpoints" not in config["callbacks"]:
        raise ValueError("hparams_search: expected callbacks.checkpoints, whose monitor is what is searched for")
    for option in ("ckpt_path", "save_encoder", "study"):
        if config[option] is not None:
            raise ValueError(f"{option}={config[option]} does not go with hparams_search: a trial has its own folder")
    said = {one.split("=")[0].lstrip("+~") for one in given}
    for one in options.space:
        if one.name in said:
            raise ValueError(f"{one.name} is given on the command line, and {where(one.name)} searches for it")
    check_fits(config, build(config["data"]))


def check_trials(compose_run: Compose, options: Options) -> None:
    """Compose trials in which every choice is there once, so that what does not fit is known before the first.

    Raises:
        ValueError: a key that the config does not have, a choice that is no file of its group, a recipe that does
            not go with its data, or trials that monitor different figures.
    """
    monitors = {}
    for values in probes(options.space):
        config = compose_run(overrides_of(values))
        try:
            check_fits(config, build(config["data"]))
        except ValueError as error:
            raise ValueError(f"{' '.join(overrides_of(values))}: {error}") from None
        checkpoints = config["callbacks"]["checkpoints"]
        monitors[checkpoints["monitor"], checkpoints["mode"]] = values
    if len(monitors) > 1:
        (first, _), (second, _), *_ = monitors
        raise ValueError(
            f"hparams_search.space: expected one figure for all trials, found callbacks.checkpoints.monitor={first} and"
            f" {second} ({' '.join(overrides_of(list(monitors.values())[1]))}), which do not compare"
        )


def identity_of(compose_run: Compose, options: Options, values: Mapping[str, Value] | None = None) -> dict[str, Any]:
    """What makes a search the one that it is: what it chooses from, how it chooses, all that it does not choose.

    Args:
        compose_run: makes the config of a run.
        options: of the search.
        values: of a trial; only the files that it chooses are read, not all that could be chosen.
    """
    space = {one.name: one._asdict() | {"choices": list(one.choices)} for one in options.space}
    how = {"sampler": options.sampler, "pruner": options.pruner, "seed": options.seed, "xsent": xsent.__version__}
    base = ["run_dir=null"]  # every command and every trial has its own
    return {
        "space": space,
        **how,
        "config": _what_is_trained(compose_run(base)),
        "files": {
            said: _digest(_what_is_trained(compose_run([*overrides, *base])))
            for said, overrides in _files(options, values).items()
        },
    }


def _files(options: Options, values: Mapping[str, Value] | None) -> dict[str, list[str]]:
    """By choice of a config file the overrides of a trial that has it, with the first choices of all others."""
    first = probes(options.space)[0]
    return {
        f"{one.name}={choice}": overrides_of(first | {one.name: choice})
        for one in options.space
        if "." not in one.name
        for choice in (one.choices if values is None else (values.get(one.name),))
        if isinstance(choice, str)
    }


def data_key(config: Mapping[str, Any]) -> str:
    """Hex digest of a config of data, wherever the data lie."""
    return _digest(_without_places(config["data"]))


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _what_is_trained(config: Mapping[str, Any]) -> Any:
    return _without_places({name: value for name, value in config.items() if name not in FREE})


def _without_places(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_places(item) for key, item in value.items() if key not in PLACES}
    return value


def as_plain(node: Any) -> dict[str, Any]:
    """``hparams_search`` of a config, resolved.

    Raises:
        ValueError: the search has left something open, which is named.
    """
    try:
        found: dict[str, Any] = OmegaConf.to_container(node, resolve=True, throw_on_missing=True)  # type: ignore[assignment]
    except OmegaConfBaseException as error:
        raise ValueError(f"hparams_search: {error}") from None
    return found
