"""Configs: composed by Hydra, resolved to plain values, looked at before anything is built."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from xsent.paths import conf_folder
from xsent.run.building import check_targets

RANDOM = ("static", "static_characters", "tiny")  # encoders that start from nothing


def newest_run_folder(runs_dir: str, recipe: str | None, ckpt_path: str | None, now: str) -> str:
    """Folder of this run: a new one, or that of the run that is resumed.

    Raises:
        FileNotFoundError: ``ckpt_path=last`` and there is no run of this recipe with a checkpoint.
    """
    recipe_dir = Path(runs_dir) / (recipe or "none")
    if ckpt_path is None:
        return str(recipe_dir / now)
    if ckpt_path == "last":
        found = sorted(recipe_dir.glob("*/checkpoints/last.ckpt"), key=lambda path: path.stat().st_mtime)
        if not found:
            raise FileNotFoundError(f"ckpt_path=last: no {recipe_dir}/*/checkpoints/last.ckpt to resume")
        return str(found[-1].parent.parent)
    return str(Path(ckpt_path).parent.parent)


def started() -> str:
    """When this run or sweep began, to the microsecond: runs that start side by side never share a folder.

    The other processes of a distributed run inherit it, so that they do share one.
    """
    return os.environ.setdefault("XSENT_STARTED", datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f"))


def register_resolvers() -> None:
    """Make ``${xsent.*:...}`` known to the config files; called before Hydra composes."""
    OmegaConf.register_new_resolver("xsent.run_dir", newest_run_folder, replace=True)
    OmegaConf.register_new_resolver("xsent.started", started, replace=True)
    OmegaConf.register_new_resolver("xsent.offline", _wandb_is_offline, replace=True)
    OmegaConf.register_new_resolver("xsent.choice", _choice, replace=True)


def _choice(group: str) -> str | None:
    """What was chosen of a config group; None where no command line was read."""
    return HydraConfig.get().runtime.choices.get(group) if HydraConfig.initialized() else None


def _wandb_is_offline() -> bool:
    """Weights & Biases gets nothing over the network unless the user has logged in."""
    netrc = Path.home() / ".netrc"
    return "WANDB_API_KEY" not in os.environ and not (netrc.is_file() and "wandb" in netrc.read_text())


def load_config(name: str, overrides: Sequence[str]) -> dict[str, Any]:
    """The resolved config ``conf/<name>.yaml`` with overrides such as ``encoder=labse``, outside of train and evaluate.

    Raises:
        FileNotFoundError: the package was installed without its ``conf`` folder.
        ValueError: an override that does not fit the config.
    """
    register_resolvers()
    try:
        with initialize_config_dir(str(conf_folder()), version_base="1.3"):
            return plain(compose(name, list(overrides)))
    except HydraException as error:
        raise ValueError(str(error)) from None


def plain(cfg: DictConfig) -> dict[str, Any]:
    """The resolved config; also refuses what would only be noticed late."""
    config: dict[str, Any] = OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)  # type: ignore[assignment]
    name_models(config)
    check_targets(config)
    if config.get("final", "best") not in ("best", "last"):
        raise ValueError(f"final={config['final']}: expected best or last")
    trainer = config.get("trainer", {})
    if trainer.get("limit_train_batches") is not None:
        raise ValueError("trainer.limit_train_batches breaks exact resuming; use data.max_pairs or trainer.max_steps")
    return config


def name_models(config: dict[str, Any]) -> None:
    """Put the config of a model, to be built later, where the config has its name.

    That is ``teacher``, an encoder, of a recipe or an evaluator, and ``translator`` of an evaluator's ``pivot``.
    ``teacher_path`` beside it becomes the model's ``path``, and so does ``translator_path``. Where the config has the
    model's own config, it stays.

    Raises:
        ValueError: there is no such model, or it has no path.
    """
    recipe, evaluator = config.get("recipe") or {}, config.get("evaluator") or {}
    evaluators = [evaluator, *(member for member in evaluator.get("members", {}).values() if member)]
    for part in (recipe, *evaluators):
        _name_model(config, part, "teacher", "encoder", is_needed=part is recipe)
    for part in evaluators:
        _name_model(config, part.get("pivot") or {}, "translator", "translator", is_needed=False)


def _name_model(config: dict[str, Any], part: dict[str, Any], option: str, group: str, *, is_needed: bool) -> None:
    if option not in part:
        return
    path = part.pop(f"{option}_path", None)
    if part[option] is None and (path is not None or is_needed):
        raise ValueError(f"{option}=null: expected the name of a file of conf/{group}")
    if isinstance(part[option], dict):  # of the group itself, with values of one's own
        part[option] |= {"_partial_": True} | ({} if path is None else {"path": path})
    if isinstance(part[option], str):
        part[option] = _model_config(part[option], path, option, group, seed=config["seed"]) | {"_partial_": True}


def _model_config(name: str, path: str | None, option: str, group: str, *, seed: int) -> dict[str, Any]:
    known = sorted(file.stem for file in (conf_folder() / group).glob("*.yaml"))
    if name not in known:
        raise ValueError(f"{option}={name}: expected one of {', '.join(known)}")
    if group == "encoder" and name in RANDOM and path is None:
        raise ValueError(f"{option}={name}: its vectors are random as long as nobody has trained them")
    # The command line has initialised Hydra; from Python nobody has.
    has_hydra = GlobalHydra.instance().is_initialized()
    with nullcontext() if has_hydra else initialize_config_dir(str(conf_folder()), version_base="1.3"):
        node = compose("evaluate", [f"{'' if group == 'encoder' else '+'}{group}={name}", f"seed={seed}"])
    config: dict[str, Any] = OmegaConf.to_container(node[group], resolve=True, throw_on_missing=True)  # type: ignore[assignment]
    if path is not None:
        if "path" not in config:
            raise ValueError(f"{option}_path={path}: {group} {name} is not read from files")
        config["path"] = path
    return config


def check_same_config(before: dict[str, Any], now: dict[str, Any]) -> None:
    """A resumed run must train the same thing: recipe, encoder, data and seed may not differ."""
    for part in ("recipe", "encoder", "data", "seed"):
        if before[part] != now[part]:
            raise ValueError(
                f"the run to resume had another {part}: {_first_difference(before[part], now[part], part)};"
                " start a new run, or give the same options"
            )


def _first_difference(before: object, now: object, where: str) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in before.keys() | now.keys():
            if before.get(key) != now.get(key):
                return _first_difference(before.get(key), now.get(key), f"{where}.{key}")
    return f"{where} was {before!r}, is {now!r}"
