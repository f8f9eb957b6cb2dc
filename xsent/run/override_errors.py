"""One-line messages for overrides that Hydra refuses: what exists, and the nearest name."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hydra.errors import HydraException

from xsent.config_checks import suggestion

Compose = Callable[[Sequence[str]], Mapping[str, Any]]  # overrides -> config


def explain_override_error(error: HydraException, overrides: Sequence[str], compose: Compose) -> str:
    """The message for a user; ``compose`` composes the same config with other overrides."""
    message = str(error)
    if match := re.search(r"Could not override '(.+)'", message):
        return _unknown_key(match[1], overrides, compose)
    if match := re.search(r"Could not find '(.+)/(.+?)'", message):
        names = sorted(re.findall(r"^\t([\w-]+)$", message, re.MULTILINE))
        return f"{match[1]}={match[2]}: expected one of {', '.join(names)}{suggestion(match[2], names)}"
    if match := re.search(r"Error parsing override '(.*)'\nmissing EQUAL", message):
        return f"{match[1]}: expected KEY=VALUE"
    return " ".join(message.partition("\nSee https")[0].split())


def _unknown_key(key: str, overrides: Sequence[str], compose: Compose) -> str:
    text = next((text for text in overrides if text.partition("=")[0] == key), key)
    remaining = [text for text in overrides if text.partition("=")[0] != key]
    try:
        config = compose(remaining)
    except HydraException as error:  # another wrong override
        return explain_override_error(error, remaining, compose)
    parent, level = "", config
    for name in key.split(".")[:-1]:
        if not isinstance(level.get(name), Mapping):
            break
        parent, level = f"{parent}{name}.", level[name]
    names = sorted(parent + str(name) for name in level if name not in ("_target_", "_partial_"))
    return f"{text}: no such key, expected one of {', '.join(names)}{suggestion(key, [*_paths(config)])}"


def _paths(config: Mapping[str, Any], prefix: str = "") -> list[str]:
    paths = []
    for name, value in config.items():
        paths.append(f"{prefix}{name}")
        if isinstance(value, Mapping):
            paths += _paths(value, f"{prefix}{name}.")
    return paths
