"""Compose configs with Hydra, resolve them to plain values and check them before anything is built."""

import os
import re
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from xsent.atomic import write_text
from xsent.paths import conf_folder
from xsent.reporting.secrets import redact
from xsent.run.build import check_keys, check_targets
from xsent.run.override_errors import explain_override_error

RANDOM = ("static", "static_characters", "tiny")  # encoders with random vectors before training


def newest_run_folder(runs_dir: str, recipe: str | None, ckpt_path: str | None, now: str) -> str:
    """Folder of this run: a new one, or that of the run to resume.

    Raises:
        FileNotFoundError: ``ckpt_path=last`` without a checkpoint of this recipe.
    """
    recipe_dir = Path(runs_dir) / (recipe or "none")
    if ckpt_path is None:
        return str(recipe_dir / now)
    if ckpt_path == "last":
        checkpoints = sorted(recipe_dir.glob("*/checkpoints/last.ckpt"), key=lambda path: path.stat().st_mtime)
        if not checkpoints:
            raise FileNotFoundError(f"ckpt_path=last: no {recipe_dir}/*/checkpoints/last.ckpt to resume")
        return str(checkpoints[-1].parent.parent)
    return str(Path(ckpt_path).parent.parent)


def start_time() -> str:
    """Start of this run or sweep in microseconds, so that parallel runs have different folders.

    The processes of a distributed run inherit it and share one folder.
    """
    return os.environ.setdefault("XSENT_STARTED", datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f"))


def register_resolvers() -> None:
    """Register the ``${xsent.*:...}`` resolvers of the config files; call it before Hydra composes."""
    OmegaConf.register_new_resolver("xsent.run_dir", newest_run_folder, replace=True)
    OmegaConf.register_new_resolver("xsent.started", start_time, replace=True)
    OmegaConf.register_new_resolver("xsent.offline", _wandb_is_offline, replace=True)
    OmegaConf.register_new_resolver("xsent.choice", _choice, replace=True)


def _choice(group: str) -> str | None:
    """Choice of a config group; None without a command line."""
    return HydraConfig.get().runtime.choices.get(group) if HydraConfig.initialized() else None


def _wandb_is_offline() -> bool:
    """Whether the user is not logged in to Weights & Biases."""
    netrc = Path.home() / ".netrc"
    return "WANDB_API_KEY" not in os.environ and not (netrc.is_file() and "wandb" in netrc.read_text())


def load_config(name: str, overrides: Sequence[str]) -> dict[str, Any]:
    """Compose and resolve ``conf/<name>.yaml`` or ``conf/job/<name>.yaml`` with overrides such as ``encoder=labse``.

    The options of a job, such as ``aligner`` of ``diverge``, are groups below ``conf/job/<name>/``.

    Raises:
        FileNotFoundError: the package was installed without its ``conf`` folder.
        ValueError: an override does not fit the config.
    """
    register_resolvers()
    folder = conf_folder()
    overrides = list(overrides)
    if (folder / "job" / f"{name}.yaml").is_file():
        search_path = [f"file://{path}" for path in (folder / "job" / name, folder) if path.is_dir()]
        overrides.append(override("hydra.searchpath", search_path))
        folder /= "job"
    else:
        check_overrides(name, overrides)
    try:
        with initialize_config_dir(str(folder), version_base="1.3"):
            return plain(compose(name, overrides))
    except HydraException as error:
        with initialize_config_dir(str(folder), version_base="1.3"):
            message = explain_override_error(error, overrides, lambda others: compose(name, [*others]))
        raise ValueError(message) from None


def override(key: str, value: object) -> str:
    """An override of Hydra that sets a key to a plain value: None, a bool, a number, a string, or a list of these."""
    return f"{key}={_written(value)}"


def _written(value: object) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    if value is None:
        return "null"
    if not isinstance(value, str):
        return str(value)
    # Without the quotes, Hydra would read ``,``, ``=`` or a number in a string.
    value = value.replace("${", r"\${")
    escaped = re.sub(r"(\\*)('|$)", lambda match: 2 * match[1] + match[2].replace("'", "\\'"), value)
    return f"'{escaped}'"


def check_overrides(name: str, overrides: Sequence[str]) -> None:
    """Check that the groups on the command line of ``train`` or ``evaluate`` belong to the chosen recipe.

    Raises:
        ValueError: a group of another recipe, or a group without its recipe in front; names the right one.
    """
    overrides = [override for override in overrides if not override.startswith("-")]
    owners = {folder.name: folder.parent.name for folder in (conf_folder() / "recipe").glob("*/*") if folder.is_dir()}
    groups = {override: override.lstrip("+~").partition("=")[0].partition("@")[0] for override in overrides}
    for override, group in groups.items():
        if group in owners:
            raise ValueError(f"{override}: this group is below its recipe, write recipe/{owners[group]}/{group}=...")
    of_recipes = [override for override in overrides if groups[override].startswith("recipe/")]
    if not of_recipes:
        return
    remaining = [override for override in overrides if override not in of_recipes]
    try:
        with initialize_config_dir(str(conf_folder()), version_base="1.3"):
            choices = compose(name, remaining, return_hydra_config=True).hydra.runtime.choices
    except HydraException:  # a sweep over recipes, or an error that the real composition reports
        return
    for override in of_recipes:
        if groups[override] not in choices:
            available = sorted(group for group in choices if str(group).startswith("recipe/"))
            raise ValueError(
                f"{override}: this group belongs to recipe={groups[override].split('/')[1]}, but recipe="
                f"{choices.get('recipe')} was chosen, whose groups are: {', '.join(available) or 'none'}"
            )


def plain(cfg: DictConfig) -> dict[str, Any]:
    """Resolve a config to plain values.

    Raises:
        ValueError: a key or value would fail later in the run.
    """
    config: dict[str, Any] = OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)  # type: ignore[assignment]
    if config.get("pictures", "") is None:
        config["pictures"] = {"languages": None, "pairs_per_language": 0, "perplexity": 10}
    name_models(config)
    check_targets(config)
    check_keys(config)
    if config.get("final", "best") not in ("best", "last"):
        raise ValueError(f"final={config['final']}: expected best or last")
    trainer = config.get("trainer", {})
    if trainer.get("limit_train_batches") is not None:
        raise ValueError("trainer.limit_train_batches breaks exact resuming; use data.max_pairs or trainer.max_steps")
    return config


def name_models(config: dict[str, Any]) -> None:
    """Replace the name of a model by its config as a partial.

    Models are ``teacher`` of a recipe or an evaluator (an encoder) and ``translator`` of an evaluator's ``pivot``.
    ``teacher_path`` and ``translator_path`` become the model's ``path``. A complete config of a model is kept.

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
    if isinstance(part[option], dict):  # a complete config
        part[option] |= {"_partial_": True} | ({} if path is None else {"path": path})
    if isinstance(part[option], str):
        part[option] = _model_config(part[option], path, option, group, seed=config["seed"]) | {"_partial_": True}


def _model_config(name: str, path: str | None, option: str, group: str, *, seed: int) -> dict[str, Any]:
    names = sorted(file.stem for file in (conf_folder() / group).glob("*.yaml"))
    if name not in names:
        raise ValueError(f"{option}={name}: expected one of {', '.join(names)}")
    if group == "encoder" and name in RANDOM and path is None:
        raise ValueError(f"{option}={name}: its vectors are random before training")
    config = _compose_file(group, name, seed)
    if path is not None:
        if "path" not in config:
            raise ValueError(f"{option}_path={path}: {group} {name} is not read from files")
        config["path"] = path
    return config


def encoder_config(name: str) -> dict[str, Any]:
    """Resolved config of a file of ``conf/encoder``; random vectors have the seed of ``conf/common.yaml``."""
    common = yaml.safe_load((conf_folder() / "common.yaml").read_text(encoding="utf-8"))
    return _compose_file("encoder", name, common["seed"])


def _compose_file(group: str, name: str, seed: int) -> dict[str, Any]:
    # Hydra is initialised by the command line, but not from Python.
    has_hydra = GlobalHydra.instance().is_initialized()
    with nullcontext() if has_hydra else initialize_config_dir(str(conf_folder()), version_base="1.3"):
        node = compose(f"{group}/{name}", [f"+seed={seed}"])
    config: dict[str, Any] = OmegaConf.to_container(node[group], resolve=True, throw_on_missing=True)  # type: ignore[assignment]
    return config


def check_same_config(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise ``ValueError`` if recipe, encoder, data or seed differ from those of the run to resume."""
    for part in ("recipe", "encoder", "data", "seed"):
        if before[part] != now[part]:
            raise ValueError(
                f"the run to resume had another {part}: {_first_difference(before[part], now[part], part)};"
                " start a new run, or give the same options"
            )


def _first_difference(before: object, now: object, key_path: str) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in before.keys() | now.keys():
            if before.get(key) != now.get(key):
                return _first_difference(before.get(key), now.get(key), f"{key_path}.{key}")
    return f"{key_path} was {before!r}, is {now!r}"


def mask_hydra_files() -> None:
    """Mask secrets in ``.hydra`` of the run folder, and in ``multirun.yaml`` of a grid.

    Files without secrets stay unchanged. The other processes of a distributed run read the masked files and take
    secrets from the environment.
    """
    if not HydraConfig.initialized():
        return
    hydra = HydraConfig.get()
    if hydra.mode == RunMode.MULTIRUN:
        _mask(Path(hydra.sweep.dir) / "multirun.yaml")
    if hydra.output_subdir is not None:
        for path in sorted((Path(hydra.runtime.output_dir) / hydra.output_subdir).glob("*.yaml")):
            _mask(path)


def _mask(path: Path) -> None:
    if not path.is_file():
        return
    content = OmegaConf.to_container(OmegaConf.load(path))
    masked = redact(content)
    if masked != content:
        write_text(path, OmegaConf.to_yaml(OmegaConf.create(masked)))
