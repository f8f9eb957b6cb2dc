"""Compose configs with Hydra, resolve them to plain values and check them before anything is built."""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from xsent.config_checks import UsageError, check_boolean, check_choice, check_integer, check_number, suggestion
from xsent.paths import conf_folder
from xsent.reporting.secrets import redact
from xsent.run.config.build import check_keys, truncates
from xsent.run.config.checks import check_types
from xsent.run.config.override_errors import explain_override_error, explain_value_error
from xsent.run.config.overrides import check_overrides, hydra_context
from xsent.run.config.registry import KINDS, LANGUAGE_MARKED, LOAD_ENCODER, check_targets

# Keys that do not decide what a run learns: caches, processes that prepare the data, and whether a command trusts code.
NO_EFFECT = {"cache_dir", "num_workers", "noise_workers", "trust_remote_code"}
RANDOM = ("static", "static_characters", "tiny")  # encoders with random vectors before training


def register_resolvers() -> None:
    """Register the ``${xsent.*:...}`` resolvers of the config files; call it before Hydra composes."""
    OmegaConf.register_new_resolver("xsent.started", _name_or_time, replace=True)
    OmegaConf.register_new_resolver("xsent.offline", _wandb_is_offline, replace=True)
    OmegaConf.register_new_resolver("xsent.choice", _choice, replace=True)


def _name_or_time(name: str | None) -> str:
    """``name``, or the time in microseconds, so that sweeps have different folders."""
    return name or datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")


def _choice(group: str) -> str | None:
    """Choice of a config group; None without a command line."""
    return HydraConfig.get().runtime.choices.get(group) if HydraConfig.initialized() else None


def _wandb_is_offline() -> bool:
    """Whether the user is not logged in to Weights & Biases."""
    netrc = Path.home() / ".netrc"
    return "WANDB_API_KEY" not in os.environ and not (netrc.is_file() and "wandb" in netrc.read_text())


def load_config(name: str, overrides: Sequence[str], *, encoder: str | None = None) -> dict[str, Any]:
    """Compose and resolve ``conf/<name>.yaml`` or ``conf/job/<name>.yaml`` with overrides such as ``encoder=labse``.

    The options of a job, such as ``aligner`` of ``diverge``, are groups below ``conf/job/<name>/``. An ``encoder`` is a
    source of ``load_encoder`` in the place of a file of ``conf/encoder``; for jobs.

    Raises:
        FileNotFoundError: the package was installed without its ``conf`` folder.
        ValueError: an override does not fit the config.
    """
    register_resolvers()
    folder = conf_folder()
    overrides = list(overrides)
    if not (folder / "job" / f"{name}.yaml").is_file():
        return plain(without_hydra(compose_config(name, overrides)))
    search_path = [f"file://{path}" for path in (folder / "job" / name, folder) if path.is_dir()]
    overrides.append(override("hydra.searchpath", search_path))
    with initialize_config_dir(str(folder / "job"), version_base="1.3"):
        cfg = _compose(name, overrides, listed=f"xsent {name.replace('_', '-')} --help lists the keys")
    if encoder is not None:
        with open_dict(cfg):
            trust = {"trust_remote_code": cfg.trust_remote_code}
            cfg.encoder = {"_target_": LOAD_ENCODER, "source": encoder, **trust}
    return plain(cfg)


def compose_config(name: str, overrides: Sequence[str]) -> DictConfig:
    """Compose ``conf/<name>.yaml``, with the node ``hydra``.

    Raises:
        UsageError: an override does not fit.
    """
    register_resolvers()
    check_overrides(name, overrides)
    with hydra_context():
        cfg = _compose(name, overrides, return_hydra_config=True)
    check_hydra(cfg)
    if name == "train" and cfg.study is not None and "objective" not in cfg.study:
        raise UsageError(f"study={cfg.study.name}: its cells are evaluations; run the experiment with evaluate.py")
    return cfg


def check_hydra(cfg: DictConfig) -> None:
    """Raise ``UsageError`` if the node ``hydra`` has Hydra build what is not registered."""
    hydra = cfg.hydra
    for part in KINDS["hydra"].parts:
        if hydra.get(part) is not None:
            check_targets({part: OmegaConf.to_container(hydra[part], resolve=True)}, "hydra", "hydra")
    for part in ("job_logging", "hydra_logging"):  # Python's logging builds the classes in them
        if surplus := sorted(set(hydra.get(part) or {}) - {"version", "root", "disable_existing_loggers"}):
            raise UsageError(f"hydra.{part}.{surplus[0]}: expected hydra/{part}=none, because xsent writes the log")


def _compose(name: str, overrides: Sequence[str], *, listed: str = "", **options: bool) -> DictConfig:
    try:
        return compose(name, list(overrides), **options)
    except (HydraException, OmegaConfBaseException, ValueError, yaml.YAMLError) as error:
        message = explain_override_error(error, overrides, lambda others: compose(name, [*others]), listed=listed)
        raise UsageError(message) from error


def without_hydra(cfg: DictConfig) -> DictConfig:
    """The config without the node ``hydra``."""
    with open_dict(cfg):
        cfg.pop("hydra", None)
    return cfg


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


def plain(cfg: DictConfig) -> dict[str, Any]:
    """Resolve a config to plain values.

    Raises:
        ValueError: a key or value would fail later in the run.
    """
    try:
        config: dict[str, Any] = OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)  # type: ignore[assignment]
    except OmegaConfBaseException as error:
        raise UsageError(explain_value_error(error)) from error
    if config.get("pictures", "") is None:
        config["pictures"] = {"min_seconds": 0, "languages": None, "pairs_per_language": 0, "perplexity": 10}
    name_models(config)
    check_targets(config)
    check_keys(config)
    _check_seed(config)
    check_boolean("trust_remote_code", config.get("trust_remote_code", False))
    check_types(config)
    _check_ranges(config)
    check_choice("final", config.get("final", "best"), ("best", "last"))
    trainer = config.get("trainer", {})
    if trainer.get("limit_train_batches") is not None:
        raise UsageError("trainer.limit_train_batches breaks exact resuming; use data.max_pairs or trainer.max_steps")
    return config


def _mark_languages(config: dict[str, Any]) -> None:
    """Replace an encoder with ``language_marking`` by that encoder with marks."""
    encoder = config.get("encoder")
    if not isinstance(encoder, dict) or "language_marking" not in encoder:
        return
    options = {"alpha": encoder.pop("language_marking"), "seed": encoder.pop("language_marking_seed")}
    check_integer("encoder.language_marking_seed", options["seed"], minimum=0)
    if options["alpha"] is not None:
        check_number("encoder.language_marking", options["alpha"])
    if options["alpha"]:
        name = marked_name(encoder["name"], options["alpha"])
        config["encoder"] = {"_target_": LANGUAGE_MARKED, "name": name, "base": encoder, **options}


def _check_dim(config: dict[str, Any]) -> None:
    """Remove ``encoder.dim: null``, the default: no truncation."""
    encoder = config.get("encoder")
    if not isinstance(encoder, dict) or not truncates(encoder):
        return
    if encoder["dim"] is None:
        del encoder["dim"]
    else:
        check_integer("encoder.dim", encoder["dim"], minimum=1)


def marked_name(encoder: str, alpha: float | None) -> str:
    """Name of an encoder with synthetic marks of languages, or without (0 or None)."""
    return f"{encoder}+synthetic-marking-{alpha:g}" if alpha else encoder


def _check_seed(config: Mapping[str, Any]) -> None:
    if "seed" in config:
        check_integer("seed", config["seed"], minimum=0)


def _check_ranges(config: Mapping[str, Any]) -> None:
    if "max_epochs" in (config.get("trainer") or {}):
        check_integer("trainer.max_epochs", config["trainer"]["max_epochs"], minimum=-1)  # -1: until stopped early
    optimizer = (config.get("recipe") or {}).get("optimizer")
    if isinstance(optimizer, dict) and "lr" in optimizer:
        check_number("recipe.optimizer.lr", optimizer["lr"])


def name_models(config: dict[str, Any]) -> None:
    """Complete the configs of models: of an encoder with marks of languages or a size, and of models given by name.

    Models are ``teacher`` of a recipe or an evaluator (an encoder) and ``translator`` of an evaluator's ``pivot``.
    ``teacher_path`` and ``translator_path`` become the model's ``path``. A complete config of a model is kept.

    Raises:
        ValueError: there is no such model, or it has no path.
    """
    _check_dim(config)
    _mark_languages(config)
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
        raise UsageError(f"{option}=null: expected the name of a file of conf/{group}")
    if isinstance(part[option], dict):  # a complete config
        part[option] |= {"_partial_": True} | ({} if path is None else {"path": path})
    if isinstance(part[option], str):
        part[option] = _model_config(part[option], path, option, group, seed=config["seed"]) | {"_partial_": True}


def _model_config(name: str, path: str | None, option: str, group: str, *, seed: int) -> dict[str, Any]:
    names = sorted(file.stem for file in (conf_folder() / group).glob("*.yaml"))
    if name not in names:
        raise UsageError(f"{option}={name}: expected one of {', '.join(names)}{suggestion(name, names)}")
    if group == "encoder" and name in RANDOM and path is None:
        raise UsageError(f"{option}={name}: its vectors are random before training")
    config = _compose_file(group, name, seed)
    if path is not None:
        if "path" not in config:
            raise UsageError(f"{option}_path={path}: {group} {name} is not read from files")
        config["path"] = path
    return config


def encoder_config(name: str) -> dict[str, Any]:
    """Resolved config of a file of ``conf/encoder``; random vectors have the seed of ``conf/common.yaml``."""
    common = yaml.safe_load((conf_folder() / "common.yaml").read_text(encoding="utf-8"))
    return _compose_file("encoder", name, common["seed"])


def _compose_file(group: str, name: str, seed: int) -> dict[str, Any]:
    with hydra_context():
        node = compose(f"{group}/{name}", [f"+seed={seed}"])
    config: dict[str, Any] = OmegaConf.to_container(node[group], resolve=True, throw_on_missing=True)  # type: ignore[assignment]
    return config


def check_same_config(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise ``ValueError`` if what decides the weights differs from the run to resume; devices may differ.

    Secrets are compared masked, as checkpoints store them.
    """
    old, new = _decisive(before), _decisive(now)
    for part in old:
        if old[part] != new[part]:
            raise UsageError(
                f"the run to resume had another {part}: {_first_difference(old[part], new[part], part)};"
                " start a new run, or give the same options"
            )


def _decisive(config: Mapping[str, Any]) -> dict[str, Any]:
    parts = {part: config[part] for part in ("recipe", "encoder", "data", "seed")}
    parts["trainer"] = {key: config["trainer"][key] for key in ("accumulate_grad_batches", "gradient_clip_val")}
    decisive: dict[str, Any] = without_keys(redact(parts), NO_EFFECT)
    return decisive


def without_keys(value: Any, keys: Collection[str]) -> Any:
    """Copy of nested mappings without some keys."""
    if isinstance(value, Mapping):
        return {key: without_keys(item, keys) for key, item in value.items() if key not in keys}
    return value


def _first_difference(before: object, now: object, key_path: str) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in [*before, *(now.keys() - before.keys())]:
            if before.get(key) != now.get(key):
                return _first_difference(before.get(key), now.get(key), f"{key_path}.{key}")
    return f"{key_path} was {before!r}, is {now!r}"
