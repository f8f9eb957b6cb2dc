"""What the options of all commands share: values that have none of their own, and the defaults of the others."""

from __future__ import annotations

import argparse
from typing import Any

import yaml

from xsent.paths import conf_folder


def add_set(parser: argparse.ArgumentParser, example: str) -> None:
    """The option for every value that has none of its own."""
    said = f"any value of the config, e.g. {example}"
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=said)


def defaults(name: str) -> dict[str, Any]:
    """The values of a config file, and what it chooses of each group; read without Hydra, which takes longer."""
    values: dict[str, Any] = yaml.safe_load((conf_folder() / f"{name}.yaml").read_text(encoding="utf-8"))
    for choice in values.pop("defaults", []):
        if isinstance(choice, dict):
            values |= choice
    return values


def check_encoder(name: str | None) -> None:
    """Raise ``ValueError`` when an encoder is named that ``conf/encoder`` does not have."""
    encoders = sorted(path.stem for path in (conf_folder() / "encoder").glob("*.yaml"))
    if name is not None and name not in encoders:
        raise ValueError(f"encoder {name!r}: expected one of {', '.join(encoders)}")
