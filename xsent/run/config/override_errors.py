"""One-line messages for overrides that Hydra refuses: what exists, and the nearest name."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from xsent.config_checks import suggestion
from xsent.paths import conf_folder

# What to write instead of a path.
FOLDERS = {
    "encoder": "evaluate.py takes it as ckpt={0}, train.py with the name of a kind: encoder=xlmr encoder.path={0}",
    "data": "expected data=bitext data.root={0}, or another kind of data",
    "evaluator": "expected evaluator=tatoeba evaluator.root={0}, or another evaluator",
}
Compose = Callable[[Sequence[str]], Mapping[str, Any]]  # overrides -> config


def explain_override_error(error: Exception, overrides: Sequence[str], compose: Compose, *, listed: str = "") -> str:
    """The message for a user; ``compose`` composes the same config with other overrides.

    ``listed`` says where all keys are listed, for the end of a message.
    """
    message = str(error)
    experiment = next((text.lstrip("+") for text in overrides if text.lstrip("+").startswith("experiment=")), None)
    if match := re.search(r"In '(experiment/.+)': Could not override '(.+)'", message):
        file, group = match.groups()
        trains = (conf_folder() / group).is_dir()  # evaluate.py lacks the group
        return f"{experiment}: {f'it trains ({file}.yaml sets {group}); run it with train.py' if trains else message}"
    if match := re.search(r"Could not override '(.+)'", message):
        return _unknown_key(match[1], overrides, compose, listed)
    if isinstance(error, MissingConfigException) and error.missing_cfg_file is not None:
        return _unknown_choice(str(error.missing_cfg_file), overrides)
    if match := re.search(r"You must specify '(\w+)'", message):
        if experiment is not None:
            return f"{experiment}: it has no {match[1]} and trains nothing; run it with evaluate.py"
        return f"{match[1]}: expected {match[1]}=NAME, found none; one of {', '.join(choices_of(match[1]))}"
    if match := re.search(r"Ambiguous value for argument '(.*)'", message):
        return f"{match[1]}: several values make a grid; add -m"
    if match := re.search(r"Error parsing override '(.*)'\nmissing EQUAL", message):
        return f"{match[1]}: expected NAME=VALUE"
    if isinstance(error, OverrideParseException):
        key, _, value = error.override.partition("=")
        return f"{error.override}: {value} cannot be read; quote it: '{key}=\"{value}\"'"
    return " ".join(message.partition("\nSee https")[0].split())


def explain_value_error(error: OmegaConfBaseException) -> str:
    """The message of a value that is missing or refers to a missing one."""
    if isinstance(error, MissingMandatoryValue):
        return f"{error.full_key}: expected a value, {error.full_key}=..."
    message = str(error).partition("\n")[0]
    if match := re.search(r"Missing mandatory value: ([\w.]+)$", message):
        return f"{match[1]}: expected a value, {match[1]}=..."
    return f"{error.full_key}: {message}" if error.full_key else message


def _unknown_choice(file: str, overrides: Sequence[str]) -> str:
    """The message of a choice without a file; ``file`` is that of Hydra, e.g. ``recipe/orcale``."""
    groups = [text.lstrip("+").partition("=")[0] for text in overrides]
    group = max((group for group in groups if file.startswith(f"{group}/")), key=len, default=file.rpartition("/")[0])
    choice = file.removeprefix(f"{group}/")
    if group in FOLDERS and ("/" in choice or Path(choice).exists()):
        return f"{group}={choice}: expected a name, found a path; {FOLDERS[group].format(choice)}"
    names = choices_of(group)
    return f"{group}={choice}: expected one of {', '.join(names)}{suggestion(choice, names)}"


def choices_of(group: str) -> list[str]:
    """Names of a config group that a user can choose."""
    folder = conf_folder() / group
    if not folder.is_dir():
        (folder,) = [path for path in (conf_folder() / "job").rglob(group) if path.is_dir()][:1] or [folder]
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml")]
    if group == "recipe":  # the folders hold the options of one recipe
        names = [name for name in names if "/" not in name]
    return sorted(name for name in names if not {"base", "parts"} & set(name.split("/")))


def _unknown_key(key: str, overrides: Sequence[str], compose: Compose, listed: str) -> str:
    text = next((text for text in overrides if text.partition("=")[0] == key), key)
    remaining = [text for text in overrides if text.partition("=")[0] != key]
    try:
        config = compose(remaining)
    except HydraException as error:  # another wrong override
        return explain_override_error(error, remaining, compose, listed=listed)
    parent, level = "", config
    for name in key.split(".")[:-1]:
        if not isinstance(level.get(name), Mapping):
            break
        parent, level = f"{parent}{name}.", level[name]
    if hint := suggestion(key, [path for path in _paths(config) if not key.startswith(f"{path}.")]):
        return f"{text}: no such key{hint} {listed}".rstrip()
    names = sorted(parent + str(name) for name in level if name not in ("_target_", "_partial_"))
    return f"{text}: no such key, expected one of {', '.join(names)}. {listed}".removesuffix(". ")


def _paths(config: Mapping[str, Any], prefix: str = "") -> list[str]:
    paths = []
    for name, value in config.items():
        paths.append(f"{prefix}{name}")
        if isinstance(value, Mapping):
            paths += _paths(value, f"{prefix}{name}.")
    return paths
