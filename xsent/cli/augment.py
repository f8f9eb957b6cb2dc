"""``xsent augment``: make hard negatives of English sentences for xSIM++."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any

from xsent.cli.options import defaults

log = logging.getLogger("xsent")


def add(commands: Any) -> None:
    """Add the command to those of ``xsent``."""
    about = "Make hard negatives of English sentences for xSIM++: one small change of meaning each."
    parser = commands.add_parser("augment", help=about, description=about)
    parser.set_defaults(run=_augment, interrupted="nothing was written")
    default = defaults("augment")
    parser.add_argument("source", type=Path, metavar="ENGLISH", help="a sentence a line, UTF-8, plain or .gz")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="PREFIX", required=True,
        help="writes PREFIX_augmented.dev and PREFIX_errtype.dev.json for a source that ends in .dev",
    )  # fmt: skip
    arguments = [
        ("seed", "of every draw"),
        ("per-number", "how often each number is replaced, at most"),
        ("per-entity", "how often each name is replaced, at most"),
        ("max-per-sentence", "at most so many in all: first of causality, then numbers, then entities"),
    ]
    for name, said in arguments:
        value = default[name.replace("-", "_")]
        shown = "no cap" if value is None else value
        parser.add_argument(f"--{name}", metavar="N", type=int, help=f"{said} (default: {shown})")


def _augment(given: argparse.Namespace) -> None:
    from xsent.data.xsimpp import augment_file
    from xsent.run import load_config

    config = load_config("augment", [])
    config |= {name: value for name, value in vars(given).items() if name in config and value is not None}
    log.info("%s", augment_file(given.source, given.output, **config))
