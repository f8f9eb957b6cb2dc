"""``xsent noise``: make user-generated text of clean sentences."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any

from xsent.cli.options import add_set, defaults

log = logging.getLogger("xsent")


def add(commands: Any) -> None:
    """Add the command to those of ``xsent``."""
    about = "Make user-generated text of clean sentences: typos, abbreviations, slang."
    parser = commands.add_parser(
        "noise", help=about, description=about, epilog="Every other value of conf/noise.yaml goes by --set."
    )
    parser.set_defaults(run=_noise, interrupted="nothing was written")
    default = defaults("noise") | {"transform": defaults("noise/default")["transform"]}
    parser.add_argument("source", type=Path, metavar="IN", help="a sentence a line, UTF-8, plain or .gz")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", required=True, help="a noisy sentence for each, plain or .gz"
    )
    parser.add_argument(
        "--transform", metavar="NAME",
        help="mix_all, or one of abr1 abr2 abr3 fing homo cont dysl leet spel slng week spac"
        f" (default: {default['transform']})",
    )  # fmt: skip
    parser.add_argument("--seed", metavar="N", type=int, help=f"of every draw (default: {default['seed']})")
    parser.add_argument("--log", metavar="TSV", type=Path, help="what was applied to each line: fing,0.025;cont")
    parser.add_argument("--workers", metavar="N", type=int, help="processes (default: one on each core)")
    parser.add_argument("--resources", metavar="DIR", help="NL-Augmenter's lexicons (default: the bundled ones)")
    parser.add_argument(
        "--reference-rng", action="store_true", default=None,
        help="the random numbers of the released script; in one process",
    )  # fmt: skip
    add_set(parser, "noise.selection=0.2 or noise.parameters.fing.probability=0.1")


def _noise(given: argparse.Namespace) -> None:
    from xsent.jobs.noise import noise_file
    from xsent.run import build, load_config

    config = load_config("noise", given.set)
    for name, value in vars(given).items():
        if value is not None and name in config["noise"]:
            config["noise"][name] = value
    workers = config["workers"] if given.workers is None else given.workers
    log.info(
        "%s", noise_file(given.source, given.output, build(config["noise"]), applied_log=given.log, workers=workers)
    )
